"""Processes that one of our processes has left behind, including those in other sessions.

The calling process has adopted them, see `limits.adopt_orphans`.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Collection

import psutil

from .limits import PROCESSES
from .supervisor import children, family


def kill_children(except_for: Collection[int]) -> None:
    """Kill the other children of this process, without waiting for them.

    Their own children then become children of this process: call it again after each reap.
    """
    for pid in children(os.getpid()):
        if pid not in except_for:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)


def is_crowded(*processes: int) -> bool:
    """Return whether these processes have more than `PROCESSES` descendants, without zombies."""
    found = [each for pid in processes for each in family(pid)]
    return len(found) > PROCESSES and sum(map(_lives, found)) > PROCESSES


def _lives(pid: int) -> bool:
    with contextlib.suppress(psutil.Error):
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    return False


def kill_descendants() -> None:
    """Kill and reap all descendants of this process, which must not wait for a child elsewhere."""
    with contextlib.suppress(ChildProcessError):
        while True:
            if os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG) is None:
                for each in psutil.Process().children(recursive=True):
                    with contextlib.suppress(psutil.Error):
                        each.send_signal(signal.SIGKILL)
                time.sleep(0.005)
