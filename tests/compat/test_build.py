"""The identity of a build: it follows every change of its files, and nothing else."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import tvm

from relaxfuzz.compat import build


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Python file of the build, in a tree of two packages."""
    source = tmp_path / "tvm" / "relax" / "op.py"
    source.parent.mkdir(parents=True)
    source.write_text("x = 1\n")
    (tmp_path / "tvm_ffi").mkdir()
    monkeypatch.setattr(build, "_packages", lambda: (tmp_path / "tvm", tmp_path / "tvm_ffi"))
    return source


def edited(path: Path) -> None:
    path.write_text("x = 2\n")


def touched(path: Path) -> None:
    os.utime(path, ns=(0, 0))


def removed(path: Path) -> None:
    path.unlink()


def added(path: Path) -> None:
    path.with_name("more.py").write_text("")


@pytest.mark.parametrize("change", [edited, touched, removed, added])
def test_the_stamp_follows_each_change(change: Callable[[Path], None], package: Path) -> None:
    before = build.stamp.__wrapped__()
    assert build.stamp.__wrapped__() == before
    change(package)
    assert build.stamp.__wrapped__() != before


@pytest.mark.parametrize("change", [edited, removed, added])
def test_the_identity_follows_the_content(change: Callable[[Path], None], package: Path) -> None:
    before = build.content()
    touched(package)
    assert build.content() == before
    change(package)
    assert build.content() != before


def test_what_python_caches_is_no_part_of_it(package: Path) -> None:
    before = build.stamp.__wrapped__()
    (package.parent / "__pycache__").mkdir()
    (package.parent / "__pycache__" / "op.cpython-311.pyc").write_bytes(b"")
    assert build.stamp.__wrapped__() == before


def test_the_libraries_are_those_that_are_loaded() -> None:
    found = build.libraries()
    assert any(path.name.startswith("libtvm_compiler") for path in found) or any(
        path.name.startswith("libtvm.") for path in found
    )
    assert all(path.is_absolute() for path in found)
    assert len(found) == len(set(found))
    assert tvm.__file__ is not None


@pytest.mark.skipif(shutil.which("readelf") is None, reason="readelf is not installed")
@pytest.mark.skipif(sys.platform != "linux", reason="ELF is the format of Linux")
def test_the_build_id_is_that_of_the_linker() -> None:
    for library in build.libraries():
        printed = subprocess.run(["readelf", "-n", library], capture_output=True, text=True).stdout
        found = build.build_id(library)
        assert found is None or f"Build ID: {found.hex()}" in printed
        assert found is not None or "Build ID" not in printed


def test_a_file_that_is_no_library_has_no_build_id(tmp_path: Path) -> None:
    for content in (b"", b"\x7fELF", b"MZ" * 100):
        file = tmp_path / "libtvm.so"
        file.write_bytes(content)
        assert build.build_id(file) is None
