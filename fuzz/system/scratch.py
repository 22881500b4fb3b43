"""One folder for all that a process, and what it starts, keeps for a while.

It goes when the process ends. If that was killed, its zygote removes the folder; if that was
killed, too, the next process on this machine that needs such a folder does.
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
"""Held by the process that the folder belongs to, however that ends."""


def scratch() -> Path:
    """The folder of this process, made when it is first asked for."""
    return _made(os.getpid())


def sweep(folder: Path) -> None:
    """Remove what dead processes left in a folder for temporary files."""
    for path in folder.glob(f"{_PREFIX}*"):
        if (descriptor := _taken(path)) is not None:
            shutil.rmtree(path, ignore_errors=True)
            os.close(descriptor)


@functools.cache
def _made(owner: int) -> Path:
    folder = Path(tempfile.gettempdir())
    sweep(folder)
    while True:
        path = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=folder))
        (path / _LOCK).touch()
        if _taken(path) is not None:  # else somebody who swept was quicker than we
            break

    def remove() -> None:
        if os.getpid() == owner:
            shutil.rmtree(path, ignore_errors=True)

    atexit.register(remove)
    return path


def _taken(path: Path) -> int | None:
    """The lock of a folder, now ours; None where it is somebody else's, or there is none."""
    try:
        descriptor = os.open(path / _LOCK, os.O_RDWR)
    except OSError:  # gone, of another user, or about to be made
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.stat(path / _LOCK)  # it was not removed meanwhile
    except OSError:
        os.close(descriptor)
        return None
    return descriptor
