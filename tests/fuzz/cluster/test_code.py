"""What workers need of the driver's files: found, sent, unpacked, and named as on the driver."""

from __future__ import annotations

import dataclasses
import io
import os
import queue
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from bench.dask_processes import Processes
from relaxfuzz.fuzz.cluster import code, fitness
from relaxfuzz.fuzz.cluster.code import Code
from relaxfuzz.fuzz.cluster.connection import connect
from relaxfuzz.fuzz.cluster.executor import ClusterExecutor
from relaxfuzz.fuzz.cluster.where import LOCAL, Where
from relaxfuzz.fuzz.process import executor as executors
from relaxfuzz.fuzz.process.block import Block, Violated
from relaxfuzz.fuzz.process.executor import Executor
from relaxfuzz.fuzz.process.jobs import Check
from relaxfuzz.fuzz.process.local_pool import LocalPool
from relaxfuzz.fuzz.process.protocol import Ended, Reply, Result
from relaxfuzz.fuzz.process.targets import Target
from relaxfuzz.fuzz.user_input.errors import UserError
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.text.paths import VARIABLE
from relaxfuzz.oracles.violation import Violation

Write = Callable[[Mapping[str, str]], Path]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Write files into a folder, which becomes the current one."""

    def made(files: Mapping[str, str]) -> Path:
        folder = tmp_path.resolve() / "own"
        for name, text in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
        monkeypatch.chdir(folder)
        return folder

    return made


def code_of(*factories: str) -> Code:
    return Code.of([PassCall("x()", factory=each) for each in factories])


def names(made: Code, folder: Path) -> set[str]:
    with zipfile.ZipFile(io.BytesIO(made.archive)) as archive:
        return {os.path.relpath(f"/{name}", folder) for name in archive.namelist()}


# What is sent


def test_a_file_comes_with_what_it_mentions(write: Write) -> None:
    folder = write(
        {
            "passes/my.py": "import json, numpy, tvm\nimport sibling\nopen('table.csv')",
            "passes/sibling.py": "def late():\n    from pack.sub import inner",
            "passes/table.csv": "1",
            "passes/large.onnx": "1",
            "passes/unused.py": "",
            "passes/pack/__init__.py": "",
            "passes/pack/sub.py": "from . import inner\nfrom .. import nothing",
            "passes/pack/inner.py": "import importlib\nimportlib.import_module('top')",
            "passes/pack/data/weights.bin": "0",
            "passes/pack/__pycache__/inner.pyc": "",
            "passes/pack/.hidden": "",
            "passes/tvm/__init__.py": "",
            "top.py": "",
            "other.py": "",
        }
    )
    assert names(code_of(f"{folder}/passes/my.py:make"), folder) == {
        "passes/my.py",
        "passes/sibling.py",
        "passes/table.csv",
        "passes/pack/__init__.py",
        "passes/pack/sub.py",
        "passes/pack/inner.py",
        "passes/pack/data/weights.bin",
        "top.py",
    }


def test_a_module_is_found_in_the_current_folder_and_on_the_path(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write({"acme/__init__.py": "import libs_of_acme", "acme/passes.py": ""})
    libs = tmp_path.resolve() / "libs"
    libs.mkdir()
    (libs / "libs_of_acme.py").write_text("")
    monkeypatch.setenv("PYTHONPATH", str(libs))
    made = code_of("acme.passes:Make")
    assert names(made, folder) == {
        "acme/__init__.py",
        "acme/passes.py",
        "../libs/libs_of_acme.py",
    }
    assert made.folder == str(folder)
    assert made.path == (str(libs),)


def test_what_is_installed_is_only_named(write: Write) -> None:
    folder = write(
        {
            "my.py": "import rich, tvm\nfrom jinja2 import x\n"
            "try:\n    import psutil\nexcept ImportError:\n    pass\n"
            "def late():\n    import pytest"
        }
    )
    made = code_of(f"{folder}/my.py:make")
    assert names(made, folder) == {"my.py"}
    assert set(made.packages) == {"rich", "jinja2"}
    assert names(code_of("relaxfuzz.corpus.zoo:X", "rich.x:X"), folder) == set()
    here = fitness.about(made.packages)
    assert fitness.differences(here, here) == []
    there = {**here, "rich": "0.1"}
    del there["jinja2"]
    assert sorted(fitness.differences(here, there)) == [
        f"jinja2 not installed instead of {here['jinja2']}",
        f"rich 0.1 instead of {here['rich']}",
    ]
    assert "no_such_package" not in fitness.about(["no_such_package"])


def test_a_file_that_cannot_be_parsed_is_sent_as_it_is(write: Write) -> None:
    folder = write({"my.py": "def (", "a.py": "import a\nfrom ....... import b\nimport my"})
    assert names(code_of(f"{folder}/a.py:make"), folder) == {"my.py", "a.py"}


def test_chains_of_imports_may_be_long(write: Write) -> None:
    count = 200
    folder = write({f"m{i}.py": f"import m{i + 1}" for i in range(count)})
    assert len(names(code_of(f"{folder}/m0.py:make"), folder)) == count


def test_too_much_is_refused(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    write({"acme/__init__.py": "", "acme/big.bin": "x" * 4000, "acme/small.bin": "x" * 10})
    monkeypatch.setattr(code, "LIMIT", 2000)
    with pytest.raises(UserError, match=r"the largest: '.*big\.bin' \(0\.0 MB\), '.*small\.bin'"):
        code_of("acme:Make")


def test_a_file_that_is_gone_is_a_mistake(write: Write) -> None:
    folder = write({"a.py": ""})
    with pytest.raises(UserError, match=r"cannot send '.*/gone\.py' to workers: No such file"):
        code_of(f"{folder}/gone.py:make")


def test_the_files_lie_below_a_folder_as_on_the_driver(write: Write, tmp_path: Path) -> None:
    folder = write({"a.py": "open('data.txt')", "data.txt": "1"})
    root = str(tmp_path / "worker")
    environment = code_of(f"{folder}/a.py:make").unpack(root)
    assert Path(f"{root}{folder}/data.txt").read_text() == "1"
    assert environment.folder == Path(f"{root}{folder}")
    assert environment.variables == {VARIABLE: root}


# End to end

FILE = """
import helper
import tvm

def make():
    return tvm.transform.module_pass(helper.deed, opt_level=0, name="make")

def dies():
    return tvm.transform.module_pass(helper.die, opt_level=0, name="dies")
"""
HELPER = """
import ctypes

def deed(mod, context):
    if "R.add(" in mod.script():
        raise ValueError(f"in {__file__} of 3: no")
    return mod.with_attr("made_by", __file__)

def die(mod, context):
    return ctypes.string_at(0) if "R.add(" in mod.script() else mod
"""
PACKAGE = """
import json
import pathlib
import tvm

TABLE = json.loads(pathlib.Path(__file__).with_name("table.json").read_text())

@tvm.transform.module_pass(opt_level=0)
class Packed:
    def transform_module(self, mod, context):
        return mod.with_attr(TABLE["word"], int(mod.attrs.get(TABLE["word"], 0)) + 1)
"""


@pytest.fixture
def users(write: Write) -> tuple[Path, list[PassCall]]:
    """A pass in a file, one in a package, and one that kills its process."""
    folder = write(
        {
            "acme/__init__.py": "",
            "acme/sub/__init__.py": "from ..base import Packed",
            "acme/base.py": PACKAGE,
            "acme/table.json": '{"word": "mark"}',
            "other place/my.py": FILE,
            "other place/helper.py": HELPER,
        }
    )
    file = f"{folder}/other place/my.py"
    return folder, [
        PassCall("make()", factory=f"{file}:make"),
        PassCall("Packed()", factory="acme.sub:Packed"),
        PassCall("dies()", factory=f"{file}:dies"),
    ]


def replies(executor: Executor, block: Block) -> Iterator[Reply]:
    heard: queue.SimpleQueue[Reply | None] = queue.SimpleQueue()
    executor.submit(block, heard.put)
    while not isinstance(reply := heard.get(), Ended):
        assert reply is not None
        yield reply


def found(executor: Executor, calls: list[PassCall], module: str) -> tuple[list[Any], list[Any]]:
    """The violations of a block with two passes, and of checks of all, without varying parts."""
    targets = tuple(Target(call.name, call) for call in calls[:2])
    block = Block(seed=1, start=0, count=3, targets=targets)
    reported = [
        reply.value
        for reply in replies(executor, block)
        if isinstance(reply, Result) and isinstance(reply.value, Violated)
    ]
    checked: list[Violation] = []
    for call in calls:
        job = Check(module=module, calls=(call,), oracles=("crash", "idempotent"))
        checked += executors.check(executor, job)
    for at, violation in enumerate(checked):
        detail = re.sub(r"0x[0-9a-f]+", "0x", violation.detail)
        checked[at] = dataclasses.replace(violation, detail=detail)
    return reported, checked


@pytest.mark.session
def test_a_pass_that_was_sent_is_checked_as_a_local_one(
    users: tuple[Path, list[PassCall]], sums: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder, calls = users
    with LocalPool(1) as pool:
        local = found(pool, calls, sums)
    made = Code.of(calls)
    # The workers have it neither in their current folder nor anywhere else.
    folder.rename(tmp_path / "away")
    (elsewhere := tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(elsewhere)
    with connect(Where(kind=LOCAL), 1) as connection:
        with ClusterExecutor(connection, code=made) as executor:
            far = found(executor, calls, sums)

        def left(dask_worker: Any) -> list[str]:
            return [n for n in os.listdir(dask_worker.local_directory) if "relaxfuzz" in n]

        assert list(connection.client.run(left).values()) == [[]]
    reported, checked = local
    assert {violation.oracle for violation in checked} == {"crash", "idempotent", "segfault"}
    assert {each.violation.pass_name for each in reported} >= {"make", "Packed"}
    assert far[0] == reported
    assert far[1] == checked
    assert str(folder) in checked[0].detail


@pytest.mark.session
def test_a_worker_that_joins_later_gets_the_code_too(
    users: tuple[Path, list[PassCall]],
    sums: str,
    cluster: Processes,
    eventually: Callable[[Callable[[], bool]], None],
    tmp_path: Path,
) -> None:
    folder, calls = users
    job = Check(module=sums, calls=(calls[0],), oracles=("crash",))
    made = Code.of(calls)
    folder.rename(tmp_path / "away")
    first = cluster.add()
    with (
        connect(Where(scheduler=cluster.address), 1) as connection,
        ClusterExecutor(connection, code=made) as executor,
    ):
        [one] = executors.check(executor, job)
        second = cluster.add()
        eventually(lambda: len(executor.members()) == 2)
        first.kill()
        [other] = executors.check(executor, job)
        assert other == one
        assert one.place == "helper.py:6"
        connection.client.shutdown()
        second.wait(30)
    assert not list((cluster.folder / "worker-1").rglob("helper.py")), "it goes with the worker"
