"""A lock on a folder that is released however its holder ends."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from ..output.readable import sentence
from .disk_failure import watched
from .errors import UserError
from .serialize import parse

LONGEST = 10_000
"""Bytes to read from the lock file."""

LOCK = "lock.json"
"""The lock file. It is never removed: the system's lock on it counts, not its existence."""


@contextmanager
def alone(folder: Path, command: str) -> Iterator[None]:
    """Hold the lock of a folder.

    Args:
        command: the command that holds it, for the message to others.

    Raises:
        UserError: another process holds it, and the text has its name and start; or the folder is
            not writable.
        DiskFailure: see `watched`.
    """
    path = folder / LOCK
    try:
        # Not truncated, since its content belongs to the holder.
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o644)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise OSError(errno.EINVAL, "is not a regular file")
    except OSError as error:
        raise UserError(f"cannot write '{path}': {error.strerror or error}") from None
    with open(descriptor, "rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UserError(
                f"{_holder(file)} works in '{folder}': wait for it, or choose another folder"
            ) from None
        about = {"command": command, "pid": os.getpid(), "since": time.time()}
        with watched(path):
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, json.dumps(about).encode(), 0)
        yield


def _holder(file: IO[bytes]) -> str:
    try:
        about = parse(file.read(LONGEST).decode())
        since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(about["since"]))
        return sentence(f"{about['command']} (process {about['pid']}, since {since})")
    except (ValueError, KeyError, TypeError, OverflowError, OSError):
        return "another relaxfuzz"  # it has the lock, but has not yet written its name
