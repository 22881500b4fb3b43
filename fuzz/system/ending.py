"""The end of a command that is asked to end: soon, whatever it is doing then.

SIGINT, SIGTERM or SIGHUP first asks the command to end by itself, see `session.interrupt`. A thread
that Python's own handler of signals wakes up, even while the main thread is busy outside of Python,
ends the process if it is still there `SECONDS` later, with all that it has started. Findings are in
the store by then: it is written to at once, and made for processes that are killed.
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
"""From the first signal to the end, which takes half a second itself on a busy machine."""

INTERRUPTED = 130
"""The exit code of a command that did not end by itself; that of shells for Ctrl-C."""

armed = False
"""Whether a signal ends this process."""

asked = threading.Event()
"""Such a signal has come."""


def arm() -> None:
    """Begin to watch for signals, in the main thread of a process that is a command."""
    global armed
    armed = True
    numbers = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # as nohup(1) has it
        numbers.append(signal.SIGHUP)
    read, write = os.pipe()
    os.set_blocking(write, False)
    signal.set_wakeup_fd(write, warn_on_full_buffer=False)
    for number in numbers:
        signal.signal(number, _interrupt)
    watch = threading.Thread(target=_watch, args=(read, bytes(numbers)), name="end", daemon=True)
    watch.start()


def _interrupt(signum: int, frame: FrameType | None) -> None:
    """As Python does it for Ctrl-C; a command that has more to do has a handler of its own."""
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
"""The name of threads that a command whose time is over leaves behind."""


def leaves_threads() -> bool:
    """A thread that was not waited for still works."""
    return any(thread.name == NOT_WAITED_FOR for thread in threading.enumerate())


def leave(code: int) -> NoReturn:
    """End this process, with all that it has started; the interpreter's own end may take long."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    kill_descendants()
    remove()
    os._exit(code)
