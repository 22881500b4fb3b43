"""Whether a process hangs, or waits for a CPU on a busy machine."""

from __future__ import annotations

import time

import psutil

LONG = 6.0
"""A process hangs after so many times its limit, whatever it waits for."""

SPUN = 0.5
"""Share of the limit in CPU time: a process that used as much in one step is in an endless loop."""

ASLEEP = 0.5
"""Seconds that a process and all its children sleep: they wait for an event that never comes."""

_WAITING = (psutil.STATUS_SLEEPING, psutil.STATUS_IDLE, psutil.STATUS_ZOMBIE)


class HangDetector:
    """Watches the time that one process takes for each step."""

    def __init__(self, process: psutil.Process) -> None:
        self._process = process
        self.progress(time.monotonic())

    def progress(self, now: float) -> None:
        """The process has begun another step."""
        self.since = now
        self._used: float | None = None
        self._asleep: float | None = None

    def hangs(self, now: float, limit: float) -> bool:
        """Whether the process hangs. Call it several times within the limit.

        Args:
            limit: seconds that a step may take on an idle machine.

        Raises:
            psutil.Error: the process has ended.
        """
        elapsed = now - self.since
        if elapsed < limit / 4:
            return False
        used = sum(self._process.cpu_times()[:2])
        if self._used is None:
            self._used = used
        if elapsed <= limit:
            return False
        if elapsed > LONG * limit or used - self._used >= SPUN * limit:
            return True
        if not self._sleeps():
            self._asleep = None
        elif self._asleep is None:
            self._asleep = now
        return self._asleep is not None and now - self._asleep >= ASLEEP

    def _sleeps(self) -> bool:
        family = [self._process, *self._process.children(recursive=True)]
        return all(_status(each) in _WAITING for each in family)


def _status(process: psutil.Process) -> str:
    try:
        return str(process.status())
    except psutil.NoSuchProcess:
        return str(psutil.STATUS_ZOMBIE)
