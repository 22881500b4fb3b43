"""Runs a function in a forked process with limits, and leaves nothing of it behind.

The sandbox protects relaxfuzz from accidents: a crash, an endless loop, a flood of output, too much
memory. It does not protect from malice: code in it may do anything that the user may do.
"""

from __future__ import annotations

import os
import resource
import select
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import psutil

from .limits import adopt_orphans, die_with_parent, lower
from .orphans import is_crowded, kill_descendants
from .supervisor import TOO_MANY

HUNG = 124
"""Exit code of a process that ran out of time, as in timeout(1)."""

OUT_OF_MEMORY = 125
"""Exit code of a process that was refused memory."""

LOOK_SECONDS = 0.05
"""Seconds between two counts of processes."""

_LONGEST_SLEEP = 0.02


@dataclass(frozen=True, slots=True)
class ForkLimits:
    """Resources that the forked process may use."""

    seconds: float
    memory: int
    """Bytes of address space beyond those of this process."""
    file: int
    """Bytes of the largest file that it may write."""


def run_in_fork(
    work: Callable[[], int | None], limits: ForkLimits, temporary: Path, stop: int | None = None
) -> int:
    """Run a function in a forked process; return its exit code, negative for a signal.

    It is `HUNG` if the time runs out, and `TOO_MANY` for more than `PROCESSES` descendants.

    The calling process must have one thread and no other children.

    Args:
        work: returns the exit code, None being 0; an exception gives 1.
        temporary: folder for the process's temporary files.
        stop: the process is killed as soon as this descriptor can be read.
    """
    adopt_orphans()
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        _child(work, limits, temporary, parent)
    try:
        return _wait(pid, time.monotonic() + limits.seconds, [] if stop is None else [stop])
    finally:
        kill_descendants()


def _child(
    work: Callable[[], int | None], limits: ForkLimits, temporary: Path, parent: int
) -> None:
    code = 1
    try:
        die_with_parent()
        if os.getppid() != parent:
            os._exit(1)
        # Leave only /dev/null, so that neither our pipes nor a terminal can be written to.
        null = os.open(os.devnull, os.O_RDWR)
        for standard in (0, 1, 2):
            os.dup2(null, standard)
        os.closerange(3, os.sysconf("SC_OPEN_MAX"))
        lower(resource.RLIMIT_CORE, 0)
        lower(resource.RLIMIT_FSIZE, limits.file)
        if sys.platform == "linux":
            lower(resource.RLIMIT_AS, psutil.Process().memory_info().vms + limits.memory)
        os.environ["TMPDIR"] = tempfile.tempdir = str(temporary)
        code = work() or 0
    except MemoryError:
        code = OUT_OF_MEMORY
    finally:
        os._exit(code)  # skips threads and exit handlers that the work has left behind


def _wait(pid: int, deadline: float, stop: list[int]) -> int:
    sleep = 0.0005
    look = time.monotonic() + LOOK_SECONDS
    while True:
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > look:
            look = time.monotonic() + LOOK_SECONDS
            if is_crowded(os.getpid()):
                return TOO_MANY
        if time.monotonic() > deadline or select.select(stop, [], [], sleep)[0]:
            return HUNG
        sleep = min(2 * sleep, _LONGEST_SLEEP)
