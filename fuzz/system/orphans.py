"""Processes that a process of ours has left behind, also those in sessions of their own.

The calling process has adopted them, see `limits.adopt_orphans`.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Collection

import psutil


def kill_children(except_for: Collection[int]) -> None:
    """Kill the other children of this process, without waiting for them.

    Their own children then become children of this process: call it again after each reap.
    """
    with contextlib.suppress(OSError), open(f"/proc/self/task/{os.getpid()}/children") as file:
        for pid in map(int, file.read().split()):
            if pid not in except_for:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)


def kill_descendants() -> None:
    """Kill and reap every descendant of this process, which waits for no child elsewhere."""
    with contextlib.suppress(ChildProcessError):
        while True:
            if os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG) is None:
                for each in psutil.Process().children(recursive=True):
                    with contextlib.suppress(psutil.Error):
                        each.send_signal(signal.SIGKILL)
                time.sleep(0.005)
