"""The identity of the installed build of TVM: it changes when TVM is rebuilt or edited."""

from __future__ import annotations

import contextlib
import fcntl
import functools
import hashlib
import importlib.util
import os
import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import platformdirs

_ELF, _LITTLE, _NOTE_SEGMENT, _BUILD_ID = b"\x7fELF\x02", 1, 4, 3
"""Constants of 64-bit ELF files; the linker writes the build id, a digest of its output."""

KEPT = 40
"""The most files to keep, for former builds and this one."""

_OURS = ("compat", "generators", "oracles", "corpus/models", "corpus/found", "fuzz/probe")
"""The folders with relaxfuzz's uses of TVM."""


def folder() -> Path:
    """The folder with files for each build, under its `stamp`."""
    return _cache() / "builds"


def kernels() -> Path:
    """The folder with compiled PrimFuncs of all builds."""
    return _cache() / "kernels"


def _cache() -> Path:
    return platformdirs.user_cache_path("relaxfuzz", appauthor=False)


@contextlib.contextmanager
def alone(waiting: str) -> Iterator[None]:
    """Hold the lock of `folder`, if a lock is possible.

    Args:
        waiting: a line for stderr if another process holds the lock.
    """
    with contextlib.ExitStack() as held:
        with contextlib.suppress(OSError):
            folder().parent.mkdir(parents=True, exist_ok=True)
            file = held.enter_context(folder().with_suffix(".lock").open("a"))
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                print(waiting, file=sys.stderr)
                fcntl.flock(file, fcntl.LOCK_EX)
        yield


@functools.cache
def identity() -> str:
    """A digest of the contents of the build: the same on every machine that has a copy of it."""
    file = folder() / stamp()
    with contextlib.suppress(OSError):
        return file.read_text(encoding="ascii")
    found = content()
    with contextlib.suppress(OSError):
        write(file, found)
    return found


def write(file: Path, text: str) -> None:
    """Write a file of `folder`, and remove the oldest; see `KEPT`."""
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_name(f"{file.name}-{os.getpid()}")
    part.write_text(text, encoding="utf-8")
    part.replace(file)
    files = sorted(file.parent.iterdir(), key=lambda each: each.stat().st_mtime)
    for old in files[:-KEPT]:
        old.unlink()


def content() -> str:
    """The digest of `identity`; it reads all files if the libraries have no build id."""
    whole = hashlib.sha256()
    for library in libraries():
        whole.update(library.name.encode())
        whole.update(build_id(library) or _digest(library))
    for package in _packages():
        for path in sorted(package.rglob("*.py")):
            whole.update(f"{path.relative_to(package)}\0".encode())
            whole.update(path.read_bytes())
    return whole.hexdigest()[:16]


@functools.cache
def stamp() -> str:
    """A digest of the sizes and times of all files: of TVM, its ffi and relaxfuzz.

    It takes milliseconds. It changes with each change of TVM's or relaxfuzz's code.
    """
    whole = hashlib.sha256(sys.version.encode())
    for library in libraries():
        whole.update(_about(os.stat(library), str(library)))
        whole.update(build_id(library) or b"")
    here = Path(__file__).resolve().parents[1]
    for folder in (*_packages(), *(here / name for name in _OURS)):
        for entry in _sources(str(folder)):
            whole.update(_about(entry.stat(), entry.path))
    return whole.hexdigest()[:16]


def source_stamp() -> str:
    """A digest of the sizes and times of the Python sources of TVM and relaxfuzz.

    It needs no TVM, and takes milliseconds.
    """
    whole = hashlib.sha256(sys.version.encode())
    spec = importlib.util.find_spec("tvm")
    origin = None if spec is None else spec.origin
    here = Path(__file__).resolve().parents[1]
    folders = [here / name for name in _OURS]
    for folder in folders if origin is None else [Path(origin).parent, *folders]:
        for entry in _sources(str(folder)):
            whole.update(_about(entry.stat(), entry.path))
    return whole.hexdigest()[:16]


def libraries() -> list[Path]:
    """The shared libraries of TVM and its ffi that this process has loaded."""
    _, ffi = _packages()
    maps = Path("/proc/self/maps")
    if maps.exists():
        mapped = {Path(line.split(maxsplit=5)[5]) for line in _lines(maps) if "/" in line}
        ours = (path for path in mapped if path.name.startswith("libtvm") or path.parent == ffi)
        return sorted(path for path in ours if path.is_file())
    return sorted(file for folder in _packages() for file in folder.rglob("libtvm*.dylib"))


def build_id(library: Path) -> bytes | None:
    """The build id in an ELF file (section .note.gnu.build-id); None if it has none."""
    with library.open("rb") as file:
        header = file.read(64)
        if header[:5] != _ELF or header[5] != _LITTLE:
            return None
        (start,) = struct.unpack_from("<Q", header, 32)
        size, count = struct.unpack_from("<HH", header, 54)
        file.seek(start)
        segments = file.read(size * count)
        for at in range(0, len(segments), size):
            kind, _, offset, _, _, length = struct.unpack_from("<IIQQQQ", segments, at)
            if kind == _NOTE_SEGMENT:
                file.seek(offset)
                if (found := _in_notes(file.read(length))) is not None:
                    return found
    return None


def _in_notes(notes: bytes) -> bytes | None:
    at = 0
    while at + 12 <= len(notes):
        name, length, kind = struct.unpack_from("<III", notes, at)
        value = at + 12 + (name + 3) // 4 * 4
        if kind == _BUILD_ID and notes[at + 12 : at + 12 + name] == b"GNU\0":
            return notes[value : value + length]
        at = value + (length + 3) // 4 * 4
    return None


def _packages() -> tuple[Path, Path]:
    import tvm
    import tvm_ffi

    return _folder(tvm), _folder(tvm_ffi)


def _folder(package: ModuleType) -> Path:
    assert package.__file__ is not None
    return Path(package.__file__).parent


def _sources(folder: str) -> Iterator[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            if entry.name.endswith(".py"):
                yield entry
            elif entry.is_dir() and entry.name != "__pycache__":
                yield from _sources(entry.path)


def _about(status: os.stat_result, path: str) -> bytes:
    return f"{path}\0{status.st_size}\0{status.st_mtime_ns}\0".encode()


def _digest(file: Path) -> bytes:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").digest()


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8", errors="replace").splitlines()
