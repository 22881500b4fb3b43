"""Ctrl-C, SIGTERM and SIGHUP: the first one asks a command to stop, the second to stop at once.

If `system.ending` is armed, the command must end soon after the first one.
"""

from __future__ import annotations

import os
import signal
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from . import ending

PATIENCE = 0.7
"""Seconds for running work after the first signal."""


class Interrupt:
    """A signal handler that counts the signals."""

    def __init__(self) -> None:
        self.stop = threading.Event()
        """Set when nothing new may start."""
        self.now = threading.Event()
        """Set when running work is no longer waited for."""

    def __call__(self, signum: int, frame: FrameType | None) -> None:
        if signum == signal.SIGHUP:
            # Writing to a terminal that is gone would fail; output to a file continues.
            for end in (1, 2):
                if stat.S_ISCHR(os.fstat(end).st_mode) and not os.isatty(end):
                    null = os.open(os.devnull, os.O_WRONLY)
                    os.dup2(null, end)
                    os.close(null)
        if self.stop.is_set():
            self.now.set()
            return
        self.stop.set()
        if not ending.armed:
            return
        timer = threading.Timer(PATIENCE, self.now.set)
        timer.daemon = True
        timer.start()

    @contextmanager
    def caught(self) -> Iterator[None]:
        """Handle the signals inside the block; the former handlers come back afterwards."""
        handlers = {n: signal.signal(n, self) for n in ending.handled()}
        try:
            yield
        finally:
            for number, handler in handlers.items():
                signal.signal(number, handler)
