"""Compiled PrimFuncs on disk: shared by processes, by no other build, whole, and not too many."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tvm.script import ir as I
from tvm.script import relax as R

from relaxfuzz.compat import build
from relaxfuzz.oracles.execute import execute, kept, kernels

X = np.arange(6, dtype="float32").reshape(2, 3)


@I.ir_module
class Sum:
    @R.function
    def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        return R.add(x, x)


def assert_right() -> None:
    (got,) = execute(Sum, [lambda run: run("main", [X])]) or ()
    np.testing.assert_array_equal(got, X + X)


def compiles_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def compile_it(*args: Any) -> str:
        raise AssertionError("it is compiled again")

    monkeypatch.setattr(kernels, "_compile", compile_it)


def afresh() -> None:
    """As a process that begins: it looks for the folder itself."""
    kept.folder.cache_clear()


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    build.identity()  # that of this TVM takes a while
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    afresh()
    yield tmp_path / "relaxfuzz" / "kernels"
    afresh()


EXECUTING = f"from {__name__} import assert_right; assert_right()"


def test_another_process_uses_what_one_has_compiled(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    subprocess.run([sys.executable, "-c", EXECUTING], check=True, cwd=Path(__file__).parents[3])
    assert kept.folder().parent == home
    assert list(kept.folder().glob("*.so"))
    compiles_nothing(monkeypatch)
    assert_right()


def test_what_another_build_has_compiled_is_not_used(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build, "identity", lambda: "one")
    assert_right()
    keys = [path.name for path in kept.folder().iterdir() if path.is_symlink()]
    assert keys
    assert kept.find(keys).keys() == set(keys)
    monkeypatch.setattr(build, "identity", lambda: "another")
    afresh()
    assert kept.find(keys) == {}
    assert_right()
    assert {path.name.split("-")[0] for path in home.iterdir() if path.is_dir()} == {
        "one",
        "another",
    }


def cut(content: bytes) -> bytes:
    return content[: len(content) // 2]


def flipped(content: bytes) -> bytes:
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


@pytest.mark.parametrize("damage", [cut, flipped, lambda content: b""])
def test_a_damaged_library_is_not_used(
    home: Path, damage: Callable[[bytes], bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert_right()
    (library,) = kept.folder().glob("*.so")
    (key,) = (path.name for path in kept.folder().iterdir() if path.is_symlink())
    library.write_bytes(damage(library.read_bytes()))
    assert kept.find([key]) == {}
    assert_right()  # compiled again, and kept again
    compiles_nothing(monkeypatch)
    assert_right()


def test_a_damaged_link_is_not_used(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert_right()
    (link,) = (path for path in kept.folder().iterdir() if path.is_symlink())
    for target in ("", "elsewhere.so"):
        link.unlink()
        link.write_text("") if not target else link.symlink_to(target)
        assert_right()
    compiles_nothing(monkeypatch)
    assert_right()


def library(path: Path, kilobytes: int, number: int) -> str:
    path.write_bytes(bytes([number]) * (kilobytes << 10))
    return str(path)


def kilobytes_in(home: Path) -> int:
    return sum(path.stat().st_size for path in home.glob("*/*") if not path.is_symlink()) >> 10


def test_the_least_used_go_first_of_all_builds(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept, "KEPT_KILOBYTES", 100)
    former = home / "former" / "old.so"
    former.parent.mkdir(parents=True)
    library(former, 10, 99)
    os.utime(former, (0, 0))
    for number in range(40):
        kept.keep(library(tmp_path / "made.so", 10, number), [f"k{number}"])
        newest = (kept.folder() / f"k{number}").resolve()
        os.utime(newest, (number, number))
        first = kept.folder() / "k0"
        os.utime(first, (1000, 1000))  # the first one is used all the time
        assert kilobytes_in(home) <= 110
    assert not former.parent.exists()
    links = {path.name for path in kept.folder().iterdir() if path.is_symlink()}
    assert {"k0", "k39"} <= links
    assert "k1" not in links
    assert all(path.exists() for path in kept.folder().iterdir())


def test_several_processes_keep_and_remove_at_once(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept, "KEPT_KILOBYTES", 64)
    kept.folder()
    children = []
    for child in range(4):
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                for number in range(50):
                    made = library(tmp_path / f"{child}.so", 4, number)
                    kept.keep(made, [f"k{number}"])
                    kept.find([f"k{number}"])
                code = 0
            finally:
                os._exit(code)
        children.append(pid)
    assert [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children] == [0] * 4
    assert kilobytes_in(home) <= 64 + 4 * 4
    for path in kept.folder().glob("*.so"):
        assert kept._digest(path.read_bytes()) == path.stem


def test_without_a_cache_folder_it_is_a_temporary_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    monkeypatch.setattr(build, "identity", lambda: "one")
    afresh()
    try:
        assert_right()
        assert list(kept.folder().glob("*.so"))
        assert tmp_path not in kept.folder().parents
    finally:
        afresh()


def test_a_full_disk_is_no_failure_of_a_module(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*args: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(kept, "_put", full)
    assert_right()
    assert list(kept.folder().iterdir()) == []
