"""One folder for the temporary files of a process and of the processes that it starts.

The folder is removed when the process ends. If the process is killed, its zygote removes it. If
that is killed as well, the next process on this machine that needs such a folder removes it.
"""

from __future__ import annotations

import atexit
import fcntl
import functools
import os
import shutil
import tempfile
from pathlib import Path

_PREFIX = "relaxfuzz-scratch-"
_LOCK = ".lock"
"""A file that the owner of the folder keeps locked."""


def scratch() -> Path:
    """The folder of this process, created at the first call."""
    return _create(os.getpid())


def sweep(folder: Path) -> None:
    """Remove the scratch folders of dead processes from a folder for temporary files."""
    for path in folder.glob(f"{_PREFIX}*"):
        if (descriptor := _lock(path)) is not None:
            shutil.rmtree(path, ignore_errors=True)
            os.close(descriptor)


def remove() -> None:
    """Remove the folder of this process, if it has one."""
    if (path := _own.get(os.getpid())) is not None:
        shutil.rmtree(path, ignore_errors=True)


_own: dict[int, Path] = {}
"""Folders by process, as a forked process inherits this table but does not own the folder."""


@functools.cache
def _create(owner: int) -> Path:
    folder = Path(tempfile.gettempdir())
    sweep(folder)
    while True:
        path = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=folder))
        (path / _LOCK).touch()
        if _lock(path) is not None:  # otherwise another process has already swept it
            break

    _own[owner] = path
    atexit.register(remove)
    return path


def _lock(path: Path) -> int | None:
    """Take the lock of a folder; None if another process holds it, or the folder does not exist."""
    try:
        descriptor = os.open(path / _LOCK, os.O_RDWR)
    except OSError:  # removed, of another user, or not created yet
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.stat(path / _LOCK)  # raises if it was removed meanwhile
    except OSError:
        os.close(descriptor)
        return None
    return descriptor
