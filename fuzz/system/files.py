"""Files that are written completely or not at all, however the writing process ends."""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
from pathlib import Path

PART = ".part"
"""Suffix of a hidden file that is not yet complete."""


def write_whole(path: Path, text: str) -> None:
    """Write a text file; on return, it is on the disk.

    A lone surrogate, which UTF-8 cannot express, is written as in a Python literal.
    """
    path.parent.mkdir(exist_ok=True)
    descriptor, temporary = _part(path.parent)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def sweep(folder: Path) -> int:
    """Remove incomplete files of processes that were killed; return the number of files."""
    removed = 0
    for path in folder.rglob(f".*{PART}"):
        with contextlib.suppress(OSError), path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # fails while its writer lives
            path.unlink()
            removed += 1
    return removed


def _part(folder: Path) -> tuple[int, str]:
    """Create a file that stays locked while it is open."""
    while True:
        descriptor, name = tempfile.mkstemp(dir=folder, prefix=".", suffix=PART)
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(descriptor).st_nlink:
                return descriptor, name
        os.close(descriptor)  # another process has already swept it
