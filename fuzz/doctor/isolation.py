"""What isolation in forked children is built on, tried out.

An exam (see `ward`): a process with one thread and without TVM, which forks.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import resource
import select
import signal
import sys
import time
from collections.abc import Callable, Iterator

import psutil

from ..system.limits import adopt_orphans, die_with_parent, lower
from .line import Line, Step, ok, problem, warning

AT_ONCE = 4
"""Processes for each worker at a time: a block and a check, with a fork each that executes."""
OTHERS = 8
"""Driver, zygote, runner of reproducers, compiler, linker."""

ALLOWED, WANTED = 64 << 20, 256 << 20
"""Bytes that a child may have, and that it tries to get."""

PATIENCE = 5.0
"""Seconds for what should take none."""


def lines(workers: str) -> Iterator[Line | Step]:
    """Each part."""
    yield Step("fork", "allow more processes (ulimit -u), or a sandbox that lets them fork")
    yield _forks(AT_ONCE * int(workers) + OTHERS)
    yield Step("death of children", "report it")
    yield _deaths()
    yield Step("orphans", "report it")
    if sys.platform != "linux":
        yield ok("orphans", "are not looked after here: that is of Linux")
        return
    yield _orphans()
    yield _dies_with_parent()
    yield Step("memory limit", "report it")
    yield _memory()


def _forks(number: int) -> Line:
    """So many children at the same time."""
    children: list[int] = []
    error: OSError | None = None
    began = time.monotonic()
    try:
        for _ in range(number):
            children.append(_fork(lambda: time.sleep(60)))  # noqa: PERF401  # those before the error
    except OSError as refused:
        error = refused
    seconds = time.monotonic() - began
    for pid in children:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    if error is not None:
        soft, _ = resource.getrlimit(resource.RLIMIT_NPROC)
        return problem(
            "fork",
            f"{len(children)} of {number} processes: {error.strerror}",
            f"fewer --workers, ulimit -u (now {soft}), or the container's limit of processes",
        )
    return ok("fork", f"{number} processes at once, {1000 * seconds / number:.1f} ms each")


def _deaths() -> Line:
    """A segmentation fault in a child is seen as one."""
    _, status = os.waitpid(_fork(lambda: os.kill(os.getpid(), signal.SIGSEGV)), 0)
    code = os.waitstatus_to_exitcode(status)
    if code != -signal.SIGSEGV:
        return problem(
            "death of children",
            f"a segmentation fault looks like {code}",
            "leave the sandbox or the debugger: crashes of passes would be told wrongly",
        )
    return ok("death of children", "a segmentation fault is seen as one")


def _orphans() -> Line:
    """What a child leaves behind becomes ours (a subreaper's), to be killed."""
    adopt_orphans()
    read, write = os.pipe()

    def parent() -> None:
        own = os.getpid()

        def child() -> None:
            until = time.monotonic() + PATIENCE
            while os.getppid() == own and time.monotonic() < until:
                time.sleep(0.005)
            os.write(write, str(os.getppid()).encode())

        _fork(child)

    os.waitpid(_fork(parent), 0)
    os.close(write)
    with os.fdopen(read) as pipe:
        adopter = pipe.read()
    _reap()
    if adopter != str(os.getpid()):
        return warning(
            "orphans",
            f"go to process {adopter}",
            "look for processes that a pass has left behind (ps) after a run",
        )
    return ok("orphans", "are adopted")


def _dies_with_parent() -> Line:
    read, write = os.pipe()

    def parent() -> None:
        def child() -> None:
            die_with_parent()
            time.sleep(60)

        os.write(write, f"{_fork(child)}\n".encode())
        time.sleep(0.05)  # it asks to die with us

    os.waitpid(_fork(parent), 0)
    os.close(write)
    with os.fdopen(read, "rb", buffering=0) as pipe:
        pid = int(pipe.readline())
        # Its end of the pipe is closed when it is dead.
        dead = bool(select.select([pipe], [], [], PATIENCE)[0])
    if not dead:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    _reap()
    if not dead:
        return warning(
            "death of parents",
            "leaves their children alive",
            "look for processes of relaxfuzz (ps) when it was killed",
        )
    return ok("death of parents", "ends their children")


def _memory() -> Line:
    """A child that wants more than it may have is refused."""

    def greedy() -> None:
        lower(resource.RLIMIT_DATA, psutil.Process().memory_info().data + ALLOWED)
        try:
            mmap.mmap(-1, WANTED, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        except OSError:
            os._exit(2)

    _, status = os.waitpid(_fork(greedy), 0)
    if os.waitstatus_to_exitcode(status) != 2:
        return warning(
            "memory limit",
            "is not kept here",
            "watch the memory: a pass that eats it is seen after 50 ms, not at once",
        )
    return ok("memory limit", "is kept")


def _fork(work: Callable[[], None]) -> int:
    pid = os.fork()
    if pid == 0:
        try:
            work()
        finally:
            os._exit(0)
    return pid


def _reap() -> None:
    with contextlib.suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)
