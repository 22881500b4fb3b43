"""Whether a process hangs, or merely has to wait for its turn on a busy machine."""

from __future__ import annotations

import time

import psutil

LONG = 6.0
"""So many times its limit, and a process hangs whatever it waits for."""

SPUN = 0.5
"""Share of the limit in CPU time: who has had so much, and taken no step, runs in circles."""

ASLEEP = 0.5
"""Seconds that nobody of a process and its children wants to run: they wait for nothing."""

_WAITING = (psutil.STATUS_SLEEPING, psutil.STATUS_IDLE, psutil.STATUS_ZOMBIE)


class Standstill:
    """Of one process, between two of its steps."""

    def __init__(self, process: psutil.Process) -> None:
        self._process = process
        self.moved(time.monotonic())

    def moved(self, now: float) -> None:
        """It has taken a step."""
        self.since = now
        self._used: float | None = None
        self._asleep: float | None = None

    def lasts(self, now: float, limit: float) -> bool:
        """It hangs. To be asked a few times within the limit.

        Args:
            limit: seconds that a step may take on an idle machine.

        Raises:
            psutil.Error: it has ended.
        """
        stood = now - self.since
        if stood < limit / 4:
            return False
        used = sum(self._process.cpu_times()[:2])
        if self._used is None:
            self._used = used
        if stood <= limit:
            return False
        if stood > LONG * limit or used - self._used >= SPUN * limit:
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
