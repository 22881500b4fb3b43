"""Limits and ties that a process sets for itself; those specific to Linux are skipped elsewhere."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys

PROCESSES = 256
"""The most processes that a pass, or another program of the user, may have at a time."""

_SET_PDEATHSIG = 1
_SET_CHILD_SUBREAPER = 36


def lower(what: int, soft: int) -> None:
    """Lower a soft limit (`resource.RLIMIT_...`, in its unit), unless it is already lower."""
    now, hard = resource.getrlimit(what)
    if now == resource.RLIM_INFINITY or soft < now:
        resource.setrlimit(what, (soft, hard))


def die_with_parent() -> None:
    """Have the calling process killed when the process that forked it ends."""
    _prctl(_SET_PDEATHSIG, signal.SIGKILL)


def adopt_orphans() -> None:
    """Make orphans among the descendants of the calling process its children."""
    _prctl(_SET_CHILD_SUBREAPER, 1)


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


def cores() -> int:
    """The number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
