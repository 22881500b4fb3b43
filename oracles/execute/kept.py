"""Libraries of compiled PrimFuncs, kept on disk for all processes that use the same build of TVM.

A folder for each build has libraries, named after a digest of their content, and for each PrimFunc
a link from its key to its library. Nothing is ever changed in place: a file is written under
another name and renamed, so that no process sees a part of it, even if its writer is killed. A
library that has changed since it was written is not loaded. Above the size limit, the libraries
unused for longest are removed, whatever their build.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import functools
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import tvm

from ...compat import build

FORMAT = 2
"""Version number, raised when PrimFuncs of the same key are compiled in a new way."""

KEPT_KILOBYTES = 256 * 1024
"""Limit for the kept libraries, about 70,000 PrimFuncs."""

_ROOM = 0.75
"""Share of the limit that remains after the oldest libraries are removed. Removal is slow, since it
reads all folders, so it makes room for many."""

_FILLED = "filled"
"""A file of one byte for each kilobyte kept: appending is atomic, and its size is cheap to read."""


@functools.cache
def folder() -> Path:
    """The folder in which the libraries of this build are kept.

    If the user's cache folder is not writable, or forbids loading, this is a temporary folder,
    which lives as long as the process that asks first.
    """
    path = build.kernels() / f"{build.identity()}-{FORMAT}"
    with contextlib.suppress(OSError):
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        if os.access(path, os.W_OK | os.X_OK) and not os.statvfs(path).f_flag & os.ST_NOEXEC:
            return path
    owner, temporary = os.getpid(), Path(tempfile.mkdtemp(prefix="relaxfuzz-kernels-"))

    def remove() -> None:
        if os.getpid() == owner:
            shutil.rmtree(temporary, ignore_errors=True)

    atexit.register(remove)
    return temporary / path.name


def find(keys: Iterable[str]) -> dict[str, tvm.runtime.Module]:
    """The kept libraries that have the PrimFuncs of these keys, loaded."""
    load = functools.cache(_load)
    links = {key: _target(folder() / key) for key in keys}
    loaded = {key: load(library) for key, library in links.items() if library is not None}
    return {key: library for key, library in loaded.items() if library is not None}


def keep(path: str, keys: Iterable[str]) -> None:
    """Keep a copy of a library, which has the PrimFuncs of these keys, if that is possible."""
    content = Path(path).read_bytes()
    with contextlib.suppress(OSError):
        folder().mkdir(mode=0o700, parents=True, exist_ok=True)
        library = folder() / f"{_digest(content)}.so"
        _put(library, lambda part: part.write_bytes(content))
        for key in keys:
            _put(folder() / key, lambda part: part.symlink_to(library.name))
        with (folder().parent / _FILLED).open("ab") as filled:
            filled.write(b"." * (len(content) >> 10))
            much = filled.tell() > KEPT_KILOBYTES
        if much:
            _remove_the_oldest()


def _put(place: Path, make: Callable[[Path], object]) -> None:
    part = place.with_name(f"{place.name}-{os.getpid()}")
    part.unlink(missing_ok=True)  # left by a process that had this id
    make(part)
    part.replace(place)


def _target(link: Path) -> Path | None:
    try:
        return link.with_name(os.readlink(link))
    except OSError:
        return None


def _load(library: Path) -> tvm.runtime.Module | None:
    """Load a library; None if it is gone or damaged, or does not load."""
    try:
        if _digest(library.read_bytes()) != library.stem:
            library.unlink()
            return None
        os.utime(library)
        return tvm.runtime.load_module(str(library))
    except Exception:  # TVM raises many classes: another process may have just removed it
        return None


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def _remove_the_oldest() -> None:
    """Remove the oldest libraries until there is room, then dangling links."""
    parent = folder().parent
    with (parent / "lock").open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return  # another process is removing
        files = sorted(_files(parent))
        size = sum(each for _, each, _ in files)
        for _, each, path in files:
            if size <= _ROOM * (KEPT_KILOBYTES << 10):
                break
            path.unlink(missing_ok=True)
            size -= each
        for place in _folders(parent):
            for path in place.iterdir():
                if path.is_symlink() and not path.exists():
                    path.unlink(missing_ok=True)
            with contextlib.suppress(OSError):  # the folder is not empty
                place.rmdir()
        _put(parent / _FILLED, lambda part: part.write_bytes(b"." * (size >> 10)))


def _folders(parent: Path) -> list[Path]:
    return [path for path in parent.iterdir() if path.is_dir()]


def _files(parent: Path) -> Iterator[tuple[float, int, Path]]:
    """The time of last use, size and path of each file, unfinished ones included."""
    for place in _folders(parent):
        for path in place.iterdir():
            with contextlib.suppress(FileNotFoundError):
                status = path.lstat()
                if not path.is_symlink():
                    yield status.st_mtime, status.st_size, path
