"""A function in a process of its own, which may do what it likes: nothing of it is left.

This guards relaxfuzz against accidents: a crash, a loop, a flood, too much memory. It is no
sandbox: what runs there may do what the user may do.
"""

from __future__ import annotations

import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import psutil

from .limits import adopt_orphans, die_with_parent, lower
from .orphans import kill_descendants
from .script_runner import HUNG

OUT_OF_MEMORY = 125
"""Exit code of a process that was refused memory."""

_LONGEST_SLEEP = 0.02


@dataclass(frozen=True, slots=True)
class Fence:
    """How far the process may go."""

    seconds: float
    memory: int
    """Bytes of address space, over what this process has."""
    file: int
    """Bytes of one file that it writes."""


def apart(work: Callable[[], None], fence: Fence, scratch: Path) -> int:
    """Do the work in a forked process; its exit code: negative for a signal, `HUNG`.

    The calling process has one thread and no other children.

    Args:
        work: its exceptions are its own business, except `MemoryError`.
        scratch: where the process's temporary files go.
    """
    adopt_orphans()
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        _work(work, fence, scratch, parent)
    try:
        return _wait(pid, time.monotonic() + fence.seconds)
    finally:
        kill_descendants()


def _work(work: Callable[[], None], fence: Fence, scratch: Path, parent: int) -> None:
    """The forked process, to its end."""
    code = 1
    try:
        die_with_parent()
        if os.getppid() != parent:
            os._exit(1)
        _close_files()
        lower(resource.RLIMIT_CORE, 0)
        lower(resource.RLIMIT_FSIZE, fence.file)
        if sys.platform == "linux":
            lower(resource.RLIMIT_AS, psutil.Process().memory_info().vms + fence.memory)
        os.environ["TMPDIR"] = tempfile.tempdir = str(scratch)
        work()
        code = 0
    except MemoryError:
        code = OUT_OF_MEMORY
    finally:
        os._exit(code)  # whatever threads and handlers the work has left behind


def _close_files() -> None:
    """Only /dev/null: neither our pipes can be written to, nor a terminal."""
    null = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(null, standard)
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))


def _wait(pid: int, deadline: float) -> int:
    sleep = 0.0005
    while True:
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > deadline:
            return HUNG
        time.sleep(sleep)
        sleep = min(2 * sleep, _LONGEST_SLEEP)
