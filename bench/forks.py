"""Work in forks that report their progress, since passes kill processes."""

from __future__ import annotations

import json
import os
import resource
import signal
from collections.abc import Callable
from typing import Any

Report = Callable[[Any], None]


def in_fork(work: Callable[..., None], *args: Any) -> tuple[list[Any], float]:
    """Run the work in a fork; return its reports until the process ended, and its CPU seconds."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(read)
            nowhere = os.open(os.devnull, os.O_WRONLY)
            for stream in (1, 2):
                os.dup2(nowhere, stream)
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            signal.alarm(120)
            with os.fdopen(write, "w") as pipe:

                def report(what: Any) -> None:
                    pipe.write(json.dumps(what) + "\n")
                    pipe.flush()

                work(report, *args)
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        lines = pipe.read().split("\n")[:-1]  # the last one is empty, or incomplete after a death
    _, _, usage = os.wait4(pid, 0)
    return [json.loads(line) for line in lines], usage.ru_utime + usage.ru_stime


def until(work: Callable[[Report, int], None], seconds: float) -> tuple[list[Any], float]:
    """Work until the time is used up, continuing after a module that killed the process.

    Args:
        work: starts with the module of this number. It reports ("module", number) before each
            module and ("check", figures) after each check.

    Returns:
        The figures of all checks, and the CPU seconds of everything.
    """
    figures: list[Any] = []
    spent, start = 0.0, 0
    while spent < seconds:
        reported, cpu = in_fork(work, start)
        figures += [value for kind, value in reported if kind == "check"]
        spent += cpu
        start = 1 + max((value for kind, value in reported if kind == "module"), default=start)
    return figures, spent


def cpu_of_all() -> float:
    """CPU seconds of this process and of the children that it has waited for."""
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in both)
