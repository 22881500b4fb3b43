"""The lines of a pass's files that run: each once, and of no other file."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from tvm import relax

from relaxfuzz.oracles import lines
from relaxfuzz.oracles.catalogue import contract_of
from relaxfuzz.oracles.lines import LineRecorder
from relaxfuzz.oracles.pass_runs import PassRuns
from relaxfuzz.oracles.passcall import PassCall, folder_of

PASS = """\
import json

import tvm


def negative(number):
    if number < 0:
        return json.loads("true")
    return False


def keep():
    @tvm.transform.module_pass(opt_level=0, name="keep")
    def run(mod, ctx):
        if negative(len(mod.functions)):
            return None
        return mod

    return run
"""


@pytest.fixture
def file(tmp_path: Path) -> Iterator[Path]:
    yield (path := tmp_path / "keep.py")
    lines.record(None)
    path.unlink()


def imported(path: Path) -> ModuleType:
    path.write_text(PASS)
    spec = importlib.util.spec_from_file_location("keep", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_each_line_comes_once(file: Path) -> None:
    module = imported(file)
    recorder = LineRecorder([str(file.parent)])
    with recorder.watching():
        module.negative(1)
    assert recorder.take() == {str(file): {7, 9}}
    with recorder.watching():
        module.negative(1)
        module.negative(-1)
    assert recorder.take() == {str(file): {8}}
    module.negative(1)
    assert recorder.take() == {}


def test_other_folders_are_left_out(file: Path, tmp_path: Path) -> None:
    module = imported(file)
    recorder = LineRecorder([str(tmp_path / "other")])
    with recorder.watching():
        module.negative(1)
    assert recorder.take() == {}


def test_installed_packages_are_not_the_users(tmp_path: Path) -> None:
    folder = tmp_path / "site-packages" / "vendor"
    folder.mkdir(parents=True)
    module = imported(folder / "keep.py")
    for outer, expected in ((tmp_path, {}), (folder, {str(folder / "keep.py"): {7, 9}})):
        recorder = LineRecorder([str(outer)])
        with recorder.watching():
            module.negative(1)
        assert recorder.take() == expected


def test_the_runs_of_a_pass_are_watched(file: Path) -> None:
    file.write_text(PASS)
    call = PassCall("keep()", factory=f"{file}:keep")
    assert folder_of(call) == str(file.parent)
    recorder = LineRecorder([str(file.parent)])
    lines.record(recorder)
    runs = PassRuns(relax.BlockBuilder().get(), [call], contract_of(call))
    assert runs.direct.mod is not None
    assert recorder.take()[str(file)] >= {7, 9, 13, 14, 15, 17, 19}
