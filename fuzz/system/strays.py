"""Processes that our children left behind, maybe in sessions of their own, and that we adopted."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Collection


def kill(known: Collection[int] = ()) -> None:
    """Kill all children but the known ones; they are to be reaped, and theirs are children then."""
    for pid in _children():
        if pid not in known:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)


def _children() -> list[int]:
    # Elsewhere nobody adopts them.
    with contextlib.suppress(OSError), open(f"/proc/self/task/{os.getpid()}/children") as file:
        return [int(pid) for pid in file.read().split()]
    return []
