"""The prompt end of a command on request, whatever it is doing at that moment.

SIGINT, SIGTERM or SIGHUP first asks the command to end by itself, see `system.interrupt`. If the
process still exists `SECONDS` later, a thread ends it with everything that it has started. Python's
own signal handler wakes that thread, even while the main thread is busy outside Python. Findings
are in the store by then, as it is written immediately and tolerates killed processes.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from types import FrameType
from typing import NoReturn

from .orphans import kill_descendants
from .scratch import remove

SECONDS = 1.4
"""Seconds from the first signal to the end, which itself takes half a second on a busy machine."""

INTERRUPTED = 130
"""The exit code of a command that did not end by itself; shells use the same for Ctrl-C."""

armed = False
"""True if a signal ends this process."""

asked = threading.Event()
"""Set once a signal that ends this process has come."""


def arm() -> None:
    """Begin to watch for signals, in the main thread of a command's process."""
    global armed
    armed = True
    numbers = handled()
    read, write = os.pipe()
    os.set_blocking(write, False)
    signal.set_wakeup_fd(write, warn_on_full_buffer=False)
    for number in numbers:
        signal.signal(number, _interrupt)
    watch = threading.Thread(target=_watch, args=(read, bytes(numbers)), name="end", daemon=True)
    watch.start()


def handled() -> list[signal.Signals]:
    """The signals by which users end a command."""
    hangup = signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN  # as nohup(1) sets it
    return [signal.SIGINT, signal.SIGTERM, *([signal.SIGHUP] if hangup else [])]


def _interrupt(signum: int, frame: FrameType | None) -> None:
    """Do the same as Python on Ctrl-C; commands with more to do install their own handlers."""
    raise KeyboardInterrupt


def _watch(read: int, numbers: bytes) -> None:
    while os.read(read, 1) not in [bytes([number]) for number in numbers]:
        pass
    asked.set()
    time.sleep(SECONDS)
    with contextlib.suppress(OSError, ValueError):
        print("interrupted", file=sys.stderr, flush=True)
    leave(INTERRUPTED)


NOT_WAITED_FOR = "triage"
"""The name of threads that a command leaves behind when its time is over."""


def leaves_threads() -> bool:
    """Return whether such a thread is still working."""
    return any(thread.name == NOT_WAITED_FOR for thread in threading.enumerate())


def leave(code: int) -> NoReturn:
    """End this process with everything it has started; an ordinary exit of Python may take long."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    kill_descendants()
    remove()
    os._exit(code)
