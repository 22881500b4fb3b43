"""What Linux can be asked for a process; elsewhere nothing is done."""

from __future__ import annotations

import ctypes
import signal
import sys

_SET_PDEATHSIG = 1
_SET_CHILD_SUBREAPER = 36


def die_with_parent() -> None:
    """The calling process is killed when the one that forked it ends."""
    _prctl(_SET_PDEATHSIG, signal.SIGKILL)


def adopt_orphans() -> None:
    """What a child leaves behind becomes a child of the calling process."""
    _prctl(_SET_CHILD_SUBREAPER, 1)


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)
