"""Files that are there whole or not at all, whatever ends the process that writes them."""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
from pathlib import Path

PART = ".part"
"""How the name of a hidden file ends that is not whole yet."""


def write_whole(path: Path, text: str) -> None:
    """Write a text file; when this returns, it is on the disk.

    What no UTF-8 can be (a lone surrogate) is written as Python spells it in a literal.
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
    """Remove what was left half written by processes that were killed; how many files."""
    removed = 0
    for path in folder.rglob(f".*{PART}"):
        with contextlib.suppress(OSError), path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # nobody writes it any more
            path.unlink()
            removed += 1
    return removed


def _part(folder: Path) -> tuple[int, str]:
    """A new file, locked for as long as it is open."""
    while True:
        descriptor, name = tempfile.mkstemp(dir=folder, prefix=".", suffix=PART)
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(descriptor).st_nlink:
                return descriptor, name
        os.close(descriptor)  # somebody who sweeps was quicker than we
