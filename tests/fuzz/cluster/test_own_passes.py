"""Passes of the user's own on a cluster: workers have their files under the same paths."""

from __future__ import annotations

import dataclasses
import queue
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bench.dask_processes import Processes
from relaxfuzz.fuzz.campaign.block import Block
from relaxfuzz.fuzz.cluster import fitness, own_passes
from relaxfuzz.fuzz.cluster.connection import connect
from relaxfuzz.fuzz.cluster.executor import ClusterExecutor
from relaxfuzz.fuzz.findings.finding import UnconfirmedFinding
from relaxfuzz.fuzz.jobs import asking
from relaxfuzz.fuzz.jobs.jobs import Check
from relaxfuzz.fuzz.process.executor import Executor
from relaxfuzz.fuzz.process.local_pool import LocalPool
from relaxfuzz.fuzz.process.protocol import Ended, Reply, Result
from relaxfuzz.fuzz.process.targets import Target
from relaxfuzz.fuzz.system.environment import HERE
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.violation import Violation

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
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[PassCall]:
    """A pass in a file, one in a package on the path, and one that kills its process."""
    files = {
        "libs/acme/__init__.py": "",
        "libs/acme/sub/__init__.py": "from ..base import Packed",
        "libs/acme/base.py": PACKAGE,
        "libs/acme/table.json": '{"word": "mark"}',
        "other place/my.py": FILE,
        "other place/helper.py": HELPER,
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", "libs")
    file = f"{tmp_path}/other place/my.py"
    return [
        PassCall("make()", factory=f"{file}:make"),
        PassCall("Packed()", factory="acme.sub:Packed"),
        PassCall("dies()", factory=f"{file}:dies"),
    ]


def test_what_workers_must_have(calls: list[PassCall], tmp_path: Path) -> None:
    assert own_passes.places(calls) == (f"{tmp_path}/other place/my.py", str(tmp_path))
    environment = own_passes.environment(calls)
    assert (environment.folder, environment.path) == (tmp_path, (tmp_path / "libs",))
    tvms = [PassCall("FuseOps()")]
    assert (own_passes.places(tvms), own_passes.environment(tvms)) == ((), HERE)


def test_a_worker_with_other_files_is_not_fit(calls: list[PassCall]) -> None:
    places = own_passes.places(calls)
    here = fitness.about(places)
    assert fitness.differences(here, fitness.about(places)) == []
    file = Path(places[0])
    file.write_text("")
    [other] = fitness.differences(here, fitness.about(places))
    assert re.fullmatch(rf"{re.escape(str(file))} \w{{12}} instead of {here[str(file)]}", other)
    file.unlink()
    [gone] = fitness.differences(here, fitness.about(places))
    assert gone == f"{file} missing instead of {here[str(file)]}"


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
        if isinstance(reply, Result) and isinstance(reply.value, UnconfirmedFinding)
    ]
    checked: list[Violation] = []
    for call in calls:
        job = Check(module=module, calls=(call,), oracles=("crash", "idempotent"))
        checked += asking.check(executor, job)
    for at, violation in enumerate(checked):
        detail = re.sub(r"0x[0-9a-f]+", "0x", violation.detail)
        checked[at] = dataclasses.replace(violation, detail=detail)
    return reported, checked


@pytest.mark.session
def test_a_pass_of_ones_own_is_checked_as_a_local_one(
    calls: list[PassCall], sums: str, cluster: Processes, tmp_path: Path
) -> None:
    cluster.add()
    environment = own_passes.environment(calls)
    with LocalPool(1, environment=environment) as pool:
        local = found(pool, calls, sums)
    with (
        connect(cluster.address) as connection,
        ClusterExecutor(connection, calls=calls) as executor,
    ):
        far = found(executor, calls, sums)
    reported, checked = local
    assert {violation.oracle for violation in checked} == {"crash", "idempotent", "segfault"}
    assert {each.violation.pass_name for each in reported} >= {"make", "Packed"}
    assert far == local
    assert str(tmp_path) in checked[0].detail
