"""Work in a fork: generated code may die, and it must not take the process of the oracles with it.

A process that has executed a parallel kernel cannot fork any more, and libraries once loaded are
never unloaded: two more reasons to run nothing in the process itself.
"""

from __future__ import annotations

import contextlib
import gc
import io
import os
import pickle
import resource
import select
import signal
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

WALL_SECONDS = 8.0
"""For a whole fork. A check must report progress every 10 seconds; on a busy machine it may be cut
short, so that this is no sign of a hang."""

CPU_SECONDS = 3
"""For each run, rounded up to whole seconds. Kernels for tensors of a few dozen elements take
microseconds."""

BEAT = 2.0
"""Seconds between two signs of life while a fork works that may take longer than a check may."""

HANG = "hang"
LATE = "late"


def in_fork(
    work: Callable[[], Iterator[Any]],
    seconds: float | None = None,
    beat: Callable[[], None] | None = None,
) -> tuple[list[Any], str | None]:
    """What the work yields until its process ends, and how that ended.

    Args:
        seconds: of the clock, for all of it; None: `WALL_SECONDS`.
        beat: called every `BEAT` seconds meanwhile.

    Returns:
        The items, and None after the last one; `HANG` where more CPU time is used than
        `allow` gave; `LATE` where the time of the clock is up or another process killed the
        process; otherwise the name of the signal or "exit 1".

    Raises:
        RuntimeError: with the traceback of an exception that the work raised.
    """
    read, write = os.pipe()
    with warnings.catch_warnings():
        # Since Python 3.12 a fork warns of other threads, e.g. those of pytest-xdist. A child that
        # hangs on their locks ends at its limit.
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid == 0:
        try:
            os.close(read)
            _isolate()
            with os.fdopen(write, "wb") as pipe:
                _send(work, pipe)
        finally:
            os._exit(0)
    os.close(write)
    data, in_time = _drain(read, WALL_SECONDS if seconds is None else seconds, beat)
    if not in_time:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    items, whole = _items(data)
    return items, None if whole else _end(os.waitstatus_to_exitcode(status))


def _send(work: Callable[[], Iterator[Any]], pipe: BinaryIO) -> None:
    """Each item in a tuple, then an empty one; or the traceback, which is no end of the process."""
    try:
        for item in work():
            pipe.write(pickle.dumps((item,)))  # all of it or nothing
            pipe.flush()
        pickle.dump((), pipe)
    except Exception:
        pickle.dump(traceback.format_exc(), pipe)


def _isolate() -> None:
    """No output, no life much longer than the parent's, no copying of pages."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    for number in (signal.SIGSEGV, signal.SIGABRT, signal.SIGFPE, signal.SIGBUS, signal.SIGILL):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGXCPU, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    gc.disable()  # a collection touches every object of the parent's: 70 ms


def allow(seconds: int | None = None) -> None:
    """What comes next in this fork gets so much CPU time, or what the user's own limit leaves.

    Args:
        seconds: None: `CPU_SECONDS`.
    """
    usage = resource.getrusage(resource.RUSAGE_SELF)
    soft = int(usage.ru_utime + usage.ru_stime) + 1 + (CPU_SECONDS if seconds is None else seconds)
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    if hard == resource.RLIM_INFINITY or soft < hard:
        resource.setrlimit(resource.RLIMIT_CPU, (soft, hard))


def _drain(read: int, seconds: float, beat: Callable[[], None] | None) -> tuple[bytes, bool]:
    """All that is written before the other side closes, and whether it did in time."""
    data = bytearray()
    deadline = time.monotonic() + seconds
    try:
        while True:
            left = max(0.0, deadline - time.monotonic())
            ready, _, _ = select.select([read], [], [], left if beat is None else min(left, BEAT))
            if not ready and left > BEAT and beat is not None:
                beat()
                continue
            if not ready:
                return bytes(data), False
            piece = os.read(read, 1 << 16)
            if not piece:
                return bytes(data), True
            data += piece
    finally:
        os.close(read)


def _items(data: bytes) -> tuple[list[Any], bool]:
    """The items that arrived whole, and whether the end did."""
    stream = io.BytesIO(data)
    items: list[Any] = []
    while True:
        try:
            item = pickle.load(stream)
        except (EOFError, pickle.UnpicklingError):
            return items, False
        if isinstance(item, str):
            raise RuntimeError(f"in a fork:\n{item}")
        if not item:
            return items, True
        items.append(item[0])


def _end(code: int) -> str:
    if code >= 0:
        return f"exit {code}"
    if -code == signal.SIGXCPU:
        return HANG
    return LATE if -code == signal.SIGKILL else signal.Signals(-code).name
