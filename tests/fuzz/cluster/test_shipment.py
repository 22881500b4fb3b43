"""What workers need of the driver's files: found, sent by content, and named as on the driver."""

from __future__ import annotations

import dataclasses
import json
import os
import queue
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.dask_processes import Processes
from relaxfuzz.fuzz.cluster import cargo, shipment
from relaxfuzz.fuzz.cluster.cargo import Cargo, Holding, differences, hold, versions
from relaxfuzz.fuzz.cluster.connection import connect
from relaxfuzz.fuzz.cluster.executor import ClusterExecutor
from relaxfuzz.fuzz.cluster.shipment import Shipment
from relaxfuzz.fuzz.cluster.where import LOCAL, Where
from relaxfuzz.fuzz.process import executor as executors
from relaxfuzz.fuzz.process.block import Block, Violated
from relaxfuzz.fuzz.process.executor import Executor, ExecutorError
from relaxfuzz.fuzz.process.jobs import Check
from relaxfuzz.fuzz.process.local_pool import LocalPool
from relaxfuzz.fuzz.process.protocol import Ended, Reply, Result
from relaxfuzz.fuzz.process.targets import Target
from relaxfuzz.fuzz.user_input.mistake import Mistake
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.violation import Violation

Write = Callable[[Mapping[str, str]], Path]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Write files into a folder, which becomes the current one."""

    def made(files: Mapping[str, str]) -> Path:
        folder = tmp_path.resolve() / "own"
        for name, text in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text.replace("HERE", str(folder)))
        monkeypatch.chdir(folder)
        return folder

    return made


@pytest.fixture
def worker(tmp_path: Path) -> Any:
    """What a Dask worker is to what it holds: a folder."""
    return SimpleNamespace(local_directory=str(tmp_path.resolve() / "worker"))


def shipped(*factories: str, scripts: Sequence[Path] = ()) -> Shipment:
    return Shipment.of([PassCall("x()", factory=each) for each in factories], scripts)


def names(made: Shipment, folder: Path) -> set[str]:
    return {os.path.relpath(path, folder) for path in made.manifest.files}


def brought(made: Shipment, worker: Any) -> list[tuple[str, ...]]:
    """Give a worker what it asks for; what that was, time after time."""
    asked: list[tuple[str, ...]] = []
    holding = hold(made.digest, {}, worker)
    while holding.lacks:
        asked.append(holding.lacks)
        holding = hold(made.digest, {name: made.blobs[name] for name in holding.lacks}, worker)
    return asked


# What is shipped


def test_a_file_comes_with_what_it_imports(write: Write) -> None:
    folder = write(
        {
            "passes/my.py": "import json, numpy, tvm\nimport sibling\nopen('table.csv')",
            "passes/sibling.py": "def late():\n    from pack.sub import inner",
            "passes/table.csv": "1",
            "passes/unused.py": "",
            "passes/pack/__init__.py": "",
            "passes/pack/sub.py": "from . import inner\nfrom .. import nothing",
            "passes/pack/inner.py": "import importlib\nimportlib.import_module('top')",
            "passes/pack/data/weights.bin": "0",
            "passes/pack/__pycache__/inner.pyc": "",
            "passes/pack/.hidden": "",
            "top.py": "from space.deep import x",
            "space/deep.py": "x = 1",
            "space/other.py": "",
        }
    )
    assert names(shipped(f"{folder}/passes/my.py:make"), folder) == {
        "passes/my.py",
        "passes/sibling.py",
        "passes/table.csv",
        "passes/pack/__init__.py",
        "passes/pack/sub.py",
        "passes/pack/inner.py",
        "passes/pack/data/weights.bin",
        "top.py",
        "space/deep.py",
    }


def test_a_module_is_found_in_the_current_folder_and_on_the_path(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write({"acme/__init__.py": "import libs_of_acme", "acme/passes.py": ""})
    libs = tmp_path.resolve() / "libs"
    libs.mkdir()
    (libs / "libs_of_acme.py").write_text("")
    monkeypatch.setenv("PYTHONPATH", str(libs))
    made = shipped("acme.passes:Make")
    assert names(made, folder) == {
        "acme/__init__.py",
        "acme/passes.py",
        "../libs/libs_of_acme.py",
    }
    assert made.manifest.folder == str(folder)
    assert made.manifest.path == (str(libs),)


def test_what_is_installed_is_only_named(write: Write) -> None:
    folder = write(
        {
            "my.py": "import rich, tvm\nif x:\n    import jinja2\n"
            "try:\n    import psutil\nexcept ImportError:\n    pass\n"
            "def late():\n    import pytest"
        }
    )
    made = shipped(f"{folder}/my.py:make")
    assert names(made, folder) == {"my.py"}
    assert set(made.manifest.needs) == {"rich", "jinja2"}
    assert shipped("relaxfuzz.corpus.zoo:X", "rich.x:X").manifest.files == {}
    assert differences(made.manifest.needs, versions(made.manifest.needs)) == ""
    there = {"rich": "0.1", "jinja2": None}
    told = differences({"rich": "15.0", "jinja2": "3"}, there)
    assert told == "rich 0.1 instead of 15.0, jinja2 is not installed there"
    assert versions(["no_such_package"]) == {"no_such_package": None}


def test_a_text_that_names_a_folder_is_put_right_where_it_stands(write: Write, worker: Any) -> None:
    """Reproducers of users' passes name their folders so."""
    text = "import sys\nsys.path.insert(0, r'HERE/libs')\nimport mine\n'é', 'HERE/libs', '/tmp'\n"
    folder = write({"a/my.py": text, "libs/mine.py": ""})
    made = shipped(f"{folder}/a/my.py:make")
    assert names(made, folder) == {"a/my.py", "libs/mine.py"}
    brought(made, worker)
    unpacked = Cargo.use(worker, made.digest)
    there = unpacked.here(str(folder))
    assert Path(there, "a/my.py").read_text() == text.replace("HERE", there)
    assert Path(there, "libs/mine.py").is_file()
    unpacked.leave()


def test_what_nobody_can_read_is_sent_as_it_is(write: Write) -> None:
    folder = write({"my.py": "def (", "a.py": "import a\nfrom ....... import b\nimport my"})
    assert names(shipped(f"{folder}/a.py:make"), folder) == {"my.py", "a.py"}


def test_chains_of_imports_may_be_long(write: Write) -> None:
    count = 1000
    folder = write({f"m{i}.py": f"import m{i + 1}" for i in range(count)})
    assert len(names(shipped(f"{folder}/m0.py:make"), folder)) == count


def test_too_much_is_refused(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    write({"acme/__init__.py": "", "acme/big.bin": "x" * 4000, "acme/small.bin": "x" * 10})
    monkeypatch.setattr(shipment, "LIMIT", 2000)
    with pytest.raises(Mistake, match=r"the largest: '.*big\.bin' \(0\.0 MB\), '.*small\.bin'"):
        shipped("acme:Make")


def test_a_file_that_is_gone_is_a_mistake(write: Write) -> None:
    folder = write({"a.py": ""})
    with pytest.raises(Mistake, match=r"cannot send '.*/gone\.py' to workers: No such file"):
        shipped(f"{folder}/gone.py:make")


def test_scripts_of_the_package_are_there_already(write: Write) -> None:
    reproducer = 'x = 1\n\nif __name__ == "__main__":\n    pass\n'
    folder = write({"corpus/a.py": reproducer, "corpus/tool.py": "", "corpus/b/c.py": reproducer})
    packaged = Path(cargo.folder_of(cargo.CORPUS))
    made = shipped(scripts=[folder / "corpus", packaged])
    assert names(made, folder) == {"corpus/a.py", "corpus/b/c.py"}
    assert made.has(folder / "corpus/a.py")
    assert made.has(packaged / "known/any.py")
    assert not made.has(folder / "corpus/tool.py")


# What a worker holds


def test_only_what_is_lacking_is_asked_for(write: Write, worker: Any) -> None:
    folder = write({"a.py": "import b", "b.py": "", "c.py": ""})
    made = shipped(f"{folder}/a.py:make")
    contents = tuple(sorted(file.content for file in made.manifest.files.values()))
    assert brought(made, worker) == [(made.digest,), contents]
    assert brought(made, worker) == []
    assert shipped(f"{folder}/a.py:make").digest == made.digest
    Path("a.py").write_text("import b  # as of tomorrow")
    changed = shipped(f"{folder}/a.py:make")
    new = changed.manifest.files[f"{folder}/a.py"].content
    assert brought(changed, worker) == [(changed.digest,), (new,)]


def test_what_no_campaign_needs_goes_when_it_is_too_much(
    write: Write, worker: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cargo, "KEPT", 100)
    folder = write({"a.py": "#" * 1000})
    for text in ("#" * 1000, "#" * 1001):
        Path("a.py").write_text(text)
        brought(made := shipped(f"{folder}/a.py:make"), worker)
    kept = {path.name for path in Path(worker.local_directory, "relaxfuzz/kept").iterdir()}
    assert kept == set(made.blobs)


def test_the_last_one_to_leave_removes_the_tree(write: Write, worker: Any) -> None:
    folder = write({"a.py": ""})
    brought(made := shipped(f"{folder}/a.py:make"), worker)
    one, two = Cargo.use(worker, made.digest), Cargo.use(worker, made.digest)
    one.leave()
    place = Path(two.here(f"{folder}/a.py"))
    assert place.is_file()
    assert two.surroundings.folder == place.parent
    two.leave()
    assert os.listdir(f"{worker.local_directory}/relaxfuzz") == ["kept"]
    Cargo.use(worker, made.digest).leave()  # from what is kept


def test_what_is_not_there_cannot_be_used(worker: Any) -> None:
    assert hold("0" * 64, {}, worker) == Holding(("0" * 64,))
    with pytest.raises(ExecutorError, match="cannot unpack"):
        Cargo.use(worker, "0" * 64)


# Names of files

PATHS = st.text("ab é'\"\\/.-\n", min_size=1, max_size=8).map(lambda text: f"/{text}")


@settings(max_examples=50, deadline=None)
@given(root=PATHS, path=PATHS)
def test_a_path_comes_back_as_it_went(root: str, path: str) -> None:
    """At the beginning of a text, inside of one, and in JSON inside of one."""
    root = f"/R{root}".rstrip("/")
    there = {"factory": root + path, "text": f"in {root}{path}, x", "module": [root + path]}
    here = {"factory": path, "text": f"in {path}, x", "module": [path]}
    wire, back = (
        json.dumps({**each, "module": json.dumps(each)}).encode() for each in (there, here)
    )
    for pattern, name in cargo._patterns(root, ""):
        wire = pattern.sub(lambda _, name=name: name, wire)  # type: ignore[misc]
    assert wire == back


def test_what_merely_begins_alike_is_another_folder() -> None:
    (pattern, _), (whole, _) = cargo._patterns("/w/r", "")
    lines = b"/w/r-2/x /w/r.bak /w/r2 /x/w/rr"
    assert pattern.sub(b"!", lines) == lines
    assert whole.sub(b"/", lines) == lines
    assert whole.sub(b"/", b'"/w/r"') == b'"/"'


def test_jobs_name_the_workers_files(write: Write, worker: Any) -> None:
    folder = write({"a.py": ""})
    brought(made := shipped(f"{folder}/a.py:make"), worker)
    unpacked = Cargo.use(worker, made.digest)
    text = json.dumps(f'"factory":"{folder}/a.py:make"')
    line = (
        f'{{"factory":"{folder}/a.py:make","script":"{folder}/a.py","factory":"a.b:c","x":{text}}}'
    )
    there = unpacked.here(str(folder))
    assert unpacked.inward(line.encode()).decode() == (
        f'{{"factory":"{there}/a.py:make","script":"{there}/a.py","factory":"a.b:c","x":{text}}}'
    )
    assert unpacked.outward(unpacked.inward(line.encode())).decode() == line
    packaged = f"{cargo.folder_of(cargo.CORPUS)}/known/x.py"
    assert unpacked.here(packaged) == packaged, "it is there as well"
    unpacked.leave()


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


class Recorder:
    """A client of which is noted what it sends."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self.sent: list[tuple[str, ...]] = []

    def run(self, function: Any, digest: str, blobs: Mapping[str, bytes], **options: Any) -> Any:
        self.sent.append(tuple(blobs))
        return self._client.run(function, digest, blobs, **options)


def replies(executor: Executor, block: Block) -> Iterator[Reply]:
    heard: queue.SimpleQueue[Reply | None] = queue.SimpleQueue()
    executor.submit(block, heard.put)
    while not isinstance(reply := heard.get(), Ended):
        assert reply is not None
        yield reply


def found(executor: Executor, calls: list[PassCall], module: str) -> tuple[list[Any], list[Any]]:
    """What a block says of two passes, and what checks say of all; without what differs anyway."""
    targets = tuple(Target(call.name, call) for call in calls[:2])
    block = Block(seed=1, start=0, count=3, targets=targets)
    told = [
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
    return told, checked


@pytest.mark.session
def test_a_shipped_pass_is_found_as_a_local_one(
    users: tuple[Path, list[PassCall]], sums: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder, calls = users
    with LocalPool(1) as pool:
        local = found(pool, calls, sums)
    made = Shipment.of(calls)
    # The workers have it neither in their current folder nor anywhere else.
    folder.rename(tmp_path / "away")
    (elsewhere := tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(elsewhere)
    with connect(Where(kind=LOCAL), 1) as connection:
        with ClusterExecutor(connection, shipment=made) as executor:
            far = found(executor, calls, sums)
            recorder = Recorder(connection.client)
            workers = list(connection.client.scheduler_info()["workers"])
            assert made.bring(recorder, workers) == dict.fromkeys(workers, "")  # type: ignore[arg-type]
            assert recorder.sent == [()], "all of it is there"

        def left(dask_worker: Any) -> list[str]:
            return os.listdir(f"{dask_worker.local_directory}/relaxfuzz")

        assert list(connection.client.run(left).values()) == [["kept"]]
    told, checked = local
    assert {violation.oracle for violation in checked} == {"crash", "idempotent", "segfault"}
    assert {each.violation.pass_name for each in told} >= {"make", "Packed"}
    assert far[0] == told
    assert far[1] == checked
    assert str(folder) in checked[0].detail


@pytest.mark.session
def test_who_joins_later_is_brought_it_too(
    users: tuple[Path, list[PassCall]],
    sums: str,
    cluster: Processes,
    eventually: Callable[[Callable[[], bool]], None],
    tmp_path: Path,
) -> None:
    folder, calls = users
    job = Check(module=sums, calls=(calls[0],), oracles=("crash",))
    made = Shipment.of(calls)
    folder.rename(tmp_path / "away")
    first = cluster.add()
    with (
        connect(Where(scheduler=cluster.address), 1) as connection,
        ClusterExecutor(connection, shipment=made) as executor,
    ):
        [one] = executors.check(executor, job)
        second = cluster.add()
        eventually(lambda: len(executor.members()) == 2)
        first.kill()
        [other] = executors.check(executor, job)
        assert other == one
        assert one.key[-1] == "helper.py:6"
        connection.client.shutdown()
        second.wait(30)
    assert not list((cluster.folder / "worker-1").rglob("kept")), "it goes with the worker"
