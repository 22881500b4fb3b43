"""Work in a fork, so that a crash in generated code does not kill the process of the oracles.

There are two more reasons to run nothing in the process itself: a process that has executed a
parallel kernel cannot fork any more, and loaded libraries are never unloaded.

A fork cannot fork again through this module, and dies with its parent. Its session ends with it.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import io
import os
import pickle
import resource
import select
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

WALL_SECONDS = 8.0
"""Limit for a whole fork. A check must report progress every 10 seconds. A busy machine may cut a
fork short, so reaching the limit does not indicate a hang."""

CPU_SECONDS = 3
"""Limit for each run, rounded up to whole seconds. Kernels for tensors of a few dozen elements take
microseconds."""

BEAT = 2.0
"""Seconds between two calls of `beat`, which shows that a long fork still makes progress."""

HANG = "hang"
LATE = "late"

_SET_PDEATHSIG = 1
"""The option of prctl(2) for the signal that a process receives when its parent ends."""

_in_fork = False
"""True in a process that `in_fork` has made."""


def in_fork(
    work: Callable[[], Iterator[Any]],
    seconds: float | None = None,
    beat: Callable[[], None] | None = None,
) -> tuple[list[Any], str | None]:
    """Run work in a fork; return the items that it yields, and how the process ended.

    Args:
        seconds: wall-clock limit for everything; None: `WALL_SECONDS`.
        beat: called every `BEAT` seconds meanwhile.

    Returns:
        The items, and None if all arrived; `HANG` if more CPU time was used than `allow` gave;
        `LATE` if the wall-clock time was up or another process killed the process; otherwise the
        name of the signal or "exit 1".

    Raises:
        RuntimeError: with the traceback of an exception that the work raised; or this process is a
            fork itself.
    """
    if _in_fork:
        raise RuntimeError("Expected a process that is not a fork: forks do not fork again")
    read, write = os.pipe()
    parent, handled = os.getpid(), sys.exception()
    with warnings.catch_warnings():
        # Since Python 3.12 a fork warns of other threads, e.g. those of pytest-xdist. A child that
        # hangs on their locks ends at its limit.
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid == 0:
        try:
            os.close(read)
            _isolate(parent)
            with os.fdopen(write, "wb") as pipe:
                _send(work, pipe, handled)
        finally:
            os._exit(0)
    os.close(write)
    in_time = False
    try:
        data, in_time = _drain(read, WALL_SECONDS if seconds is None else seconds, beat)
    finally:
        status = _end_session(pid, kill=not in_time)
    items, whole = _items(data)
    return items, None if whole else _end(status)


def _end_session(pid: int, *, kill: bool) -> int:
    """Wait for a fork, and kill all other processes in its session; return its exit code.

    Args:
        kill: kill the fork itself.
    """
    if kill:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    # The process id stays taken until it is reaped.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _send(work: Callable[[], Iterator[Any]], pipe: BinaryIO, handled: BaseException | None) -> None:
    """Send each item in a tuple, then an empty one; an exception as its traceback.

    Args:
        handled: the exception that the parent was handling. The traceback omits it, since its text
            may be arbitrarily expensive to make.
    """
    try:
        for item in work():
            pipe.write(pickle.dumps((item,)))  # all of it or nothing
            pipe.flush()
        pickle.dump((), pipe)
    except Exception as error:
        _part_from(error, handled)
        pickle.dump("".join(traceback.format_exception(error)), pipe)


def _part_from(error: BaseException, handled: BaseException | None) -> None:
    """Remove `handled` from the contexts of an exception."""
    while (context := error.__context__) is not None and context is not handled:
        error = context
    error.__context__ = None


def _isolate(parent: int) -> None:
    """Give the fork a session, no output, no life beyond the parent's, and no copying of pages."""
    global _in_fork
    _in_fork = True
    os.setsid()
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    for number in (signal.SIGSEGV, signal.SIGABRT, signal.SIGFPE, signal.SIGBUS, signal.SIGILL):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGXCPU, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    gc.disable()  # a collection would touch every object of the parent: 70 ms


def allow(seconds: int | None = None) -> None:
    """Give the next step in this fork this much CPU time, or the rest of the user's own limit.

    Args:
        seconds: None: `CPU_SECONDS`.
    """
    usage = resource.getrusage(resource.RUSAGE_SELF)
    soft = int(usage.ru_utime + usage.ru_stime) + 1 + (CPU_SECONDS if seconds is None else seconds)
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    if hard == resource.RLIM_INFINITY or soft < hard:
        resource.setrlimit(resource.RLIMIT_CPU, (soft, hard))


def _drain(read: int, seconds: float, beat: Callable[[], None] | None) -> tuple[bytes, bool]:
    """All data written before the other side closes, and whether it closed in time."""
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
    """The items that arrived whole, and whether the end marker arrived."""
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
