"""Which TVM is refused, and how."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import tvm

from relaxfuzz.compat import release
from tests.compat.ffi import CRASHES, LACKS, copied_ffi

REFUSE = """\
from relaxfuzz.compat.release import TVMUnsupported, refuse_bad_ffi
try:
    refuse_bad_ffi()
except TVMUnsupported as error:
    print(error)
"""


def test_versions() -> None:
    versions = release.require_tvm()
    assert versions == release.versions()
    assert set(versions) == {
        *("tvm", "tvm_git", "tvm_build", "tvm_ffi", "numpy", "hypothesis", "python")
    }


def test_old_and_new_tvm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tvm, "__version__", "0.25.0.post1")
    with pytest.raises(release.TVMUnsupported, match=r"0\.25\.0\.post1 is too old: 0\.26 is"):
        release.require_tvm()
    monkeypatch.setattr(tvm, "__version__", "0.99.dev3+g1234567")
    with pytest.warns(UserWarning, match=r"newer than 0\.27"):
        release.require_tvm()


def test_missing_tvm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tvm", None)
    with pytest.raises(release.TVMUnsupported, match=r"pip install 'relaxfuzz\[tvm\]'"):
        release.require_tvm()


@pytest.mark.parametrize(
    ("file", "fault", "printed"),
    [
        ("serialization.py", CRASHES, "crashes TVM when a module is saved as JSON (SIGSEGV)"),
        ("__init__.py", LACKS, "lacks what relaxfuzz needs (ImportError: cannot import name 'st"),
        ("__init__.py", "", ""),
    ],
)
def test_an_ffi_is_refused_for_what_it_does(
    file: str, fault: str, printed: str, tmp_path: Path
) -> None:
    copied_ffi(tmp_path, file, fault)
    path = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    refused = subprocess.run(
        [sys.executable, "-c", REFUSE],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert refused.startswith(f"the tvm_ffi in {tmp_path}/tvm_ffi {printed}" if fault else "")
    assert ("pip install 'apache-tvm-ffi==0.1.14.post1'" in refused) == bool(fault)


def test_the_tested_ffi_costs_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere")
    release.refuse_bad_ffi()


def test_an_ffi_is_tried_once_for_all_child_processes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(release, "TESTED_FFI", "0.1.0")
    monkeypatch.setenv(release._TRIED, "")
    release.refuse_bad_ffi()
    monkeypatch.setattr(sys, "executable", "/nowhere")
    release.refuse_bad_ffi()
