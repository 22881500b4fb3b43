"""Runs a command, and ends with everything that the command has started.

Run as `python -I -S supervisor.py LIFELINE PROCESSES COMMAND...`. LIFELINE is the descriptor of a
pipe. When its other end is closed, by its holder or by the holder's death, the command and all its
descendants are killed, even those in other sessions. So are those left when the command ends, and
all if there are more than PROCESSES (0: any number). The exit code is that of the command; if a
signal ended it, the same signal ends the supervisor.

This file only needs the standard library, and starts in 15 ms; see `supervised`.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import select
import signal
import sys
import time
from typing import NoReturn

TOO_MANY = 123
"""Exit code if there were more processes than allowed."""

LOOK_SECONDS = 0.05
"""Seconds between two counts of processes."""

_SET_PDEATHSIG = 1
_SET_CHILD_SUBREAPER = 36
_RESET_BEFORE_EXEC = (signal.SIGPIPE, signal.SIGXFSZ)
"""Signals that Python ignores but other programs should not ignore."""


def children(pid: int) -> list[int]:
    """The children of all threads of a process; none if it has ended or /proc does not exist."""
    found: list[int] = []
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children") as file:
                found += map(int, file.read().split())
    return found


def family(pid: int) -> list[int]:
    """A process and its descendants."""
    found = [pid]
    for each in found:
        found += children(each)
    return found


def _main() -> NoReturn:
    lifeline, most, *command = sys.argv[1:]
    os.set_inheritable(int(lifeline), False)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    wakeup, waker = os.pipe()
    os.set_blocking(wakeup, False)
    os.set_blocking(waker, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
    supervisor = os.getpid()
    pid = os.fork()
    if pid == 0:
        _execute(command, supervisor)
    for number in (signal.SIGINT, signal.SIGHUP):  # the command receives them as well
        signal.signal(number, lambda *_: None)
    signal.signal(signal.SIGTERM, lambda number, _: os.kill(pid, number))
    crowded = _watch(pid, int(lifeline), wakeup, int(most))
    code = _kill_all(pid)
    if crowded:
        os._exit(TOO_MANY)
    if code < 0:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if -code != signal.SIGKILL:
            signal.signal(-code, signal.SIG_DFL)
        os.kill(supervisor, -code)
    os._exit(code & 0xFF)


def _execute(command: list[str], supervisor: int) -> NoReturn:
    try:
        if sys.platform == "linux":
            ctypes.CDLL(None).prctl(_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() == supervisor:
            signal.set_wakeup_fd(-1)
            for number in _RESET_BEFORE_EXEC:
                signal.signal(number, signal.SIG_DFL)
            os.execvp(command[0], command)
    except OSError as error:
        print(f"{command[0]}: {error.strerror}", file=sys.stderr, flush=True)
    finally:
        os._exit(127)


def _watch(pid: int, lifeline: int, wakeup: int, most: int) -> bool:
    """Wait until the process ends or must end; return whether there are too many processes."""
    while True:
        ready, _, _ = select.select([lifeline, wakeup], [], [], LOOK_SECONDS if most else None)
        if lifeline in ready:
            return False
        if wakeup in ready:
            with contextlib.suppress(BlockingIOError):
                os.read(wakeup, 4096)
        while (ended := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)) is not None:
            if ended.si_pid == pid:
                return False
            os.waitpid(ended.si_pid, 0)
        if most and len(family(os.getpid())) > most:
            return True


def _kill_all(pid: int) -> int:
    """Kill and reap all descendants; return the exit code of this one."""
    status: int | None = None
    while True:
        # Without /proc, the command is the only known process.
        left = {pid} if status is None else set()
        for each in left.union(family(os.getpid())[1:]):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(each, signal.SIGKILL)
        try:
            ended, how = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return os.waitstatus_to_exitcode(status or 0)
        if ended == pid:
            status = how
        elif ended == 0:
            time.sleep(0.002)


if __name__ == "__main__":
    _main()
