"""Limits and ties that a process sets for itself; what only Linux knows is skipped elsewhere."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys

_SET_PDEATHSIG = 1
_SET_CHILD_SUBREAPER = 36


def lower(what: int, soft: int) -> None:
    """Lower a soft limit (`resource.RLIMIT_...`, in its unit); one that is lower already stays."""
    now, hard = resource.getrlimit(what)
    if now == resource.RLIM_INFINITY or soft < now:
        resource.setrlimit(what, (soft, hard))


def die_with_parent() -> None:
    """The calling process is killed when the process that forked it ends."""
    _prctl(_SET_PDEATHSIG, signal.SIGKILL)


def adopt_orphans() -> None:
    """Orphans among the descendants of the calling process become its children."""
    _prctl(_SET_CHILD_SUBREAPER, 1)


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


def cores() -> int:
    """The number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
