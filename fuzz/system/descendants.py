"""What a process has left behind: ended, wherever it hides."""

from __future__ import annotations

import contextlib
import os
import signal
import time

import psutil


def end_descendants() -> None:
    """Kill every descendant of this process, also those that have left their session.

    This process has adopted orphans (see `prctl`), and waits for no child anywhere else.
    """
    with contextlib.suppress(ChildProcessError):
        while True:
            if os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG) is None:
                for each in psutil.Process().children(recursive=True):
                    with contextlib.suppress(psutil.Error):
                        each.send_signal(signal.SIGKILL)
                time.sleep(0.005)
