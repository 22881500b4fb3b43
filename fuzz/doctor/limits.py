"""Limits of this process, which its children inherit: `ulimit -a`."""

from __future__ import annotations

import resource
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from .line import Line, Verdict, ok
from .machine import CHILD, GIGABYTE

INFINITE = resource.RLIM_INFINITY
MEGABYTE = 1 << 20

TVM = GIGABYTE
"""Address space of a process with TVM in it and work to do; 0.5 to 0.7 GB were seen."""


@dataclass(frozen=True, slots=True)
class _Limit:
    """One of them, and how much is needed."""

    part: str
    number: int
    flag: str
    """Of `ulimit`."""
    unit: int
    """Of `ulimit`, in bytes or seconds."""
    least: int
    """With less, nothing works."""
    enough: int
    """With this, all works."""
    why: str
    hard: bool = False
    """The soft limit is raised by relaxfuzz itself."""


def _needed(workers: int) -> Iterator[_Limit]:
    if sys.platform == "linux":
        why = f"a child may grow by {CHILD // GIGABYTE} GB before it is stopped as a finding"
        yield _Limit("data size", resource.RLIMIT_DATA, "d", 1024, TVM // 2, TVM + CHILD, why, True)
    why = "TVM needs its address space, and a child may grow"
    yield _Limit("address space", resource.RLIMIT_AS, "v", 1024, TVM, TVM + CHILD, why)
    # The zygote has three pipes and a few more for each child, the driver its files.
    files = 64 + 16 * workers
    yield _Limit(
        "open files",
        resource.RLIMIT_NOFILE,
        "n",
        1,
        files,
        files,
        "pipes to each worker, and files",
    )
    why = "passes call themselves: with less stack they die where they need not"
    yield _Limit("stack", resource.RLIMIT_STACK, "s", 1024, MEGABYTE, 8 * MEGABYTE, why)
    why = "findings are kept in one file, and libraries are built"
    yield _Limit("file size", resource.RLIMIT_FSIZE, "f", 1024, 16 * MEGABYTE, GIGABYTE, why)
    why = "relaxfuzz would be killed in the middle of its work"
    yield _Limit("CPU time", resource.RLIMIT_CPU, "t", 1, 60, 24 * 3600, why)


def lines(
    workers: int, ask: Callable[[int], tuple[int, int]] = resource.getrlimit
) -> Iterator[Line]:
    """A line for each limit that matters, and one for all that leave enough."""
    enough = []
    for limit in _needed(workers):
        soft, hard = ask(limit.number)
        value = hard if limit.hard else soft
        told = f"{limit.part} {_shown(limit, value)}"
        if value == INFINITE or value >= limit.enough:
            enough.append(told)
            continue
        verdict = Verdict.PROBLEM if value < limit.least else Verdict.WARNING
        raised = limit.enough // limit.unit
        yield Line(
            f"limit: {limit.part}",
            verdict,
            f"{_shown(limit, value)} (ulimit -{limit.flag})",
            f"ulimit -{limit.flag} {raised}, or unlimited: {limit.why}",
        )
    if enough:
        yield ok("limits", ", ".join(enough))


def _shown(limit: _Limit, value: int) -> str:
    if value == INFINITE:
        return "unlimited"
    if limit.unit != 1024:
        return f"{value}" if limit.number != resource.RLIMIT_CPU else f"{value} s"
    return f"{value / MEGABYTE:g} MB" if value < GIGABYTE else f"{value / GIGABYTE:.3g} GB"
