"""What the machine has: cores, memory, and a clock."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Iterator
from pathlib import Path

import psutil

from . import cgroup
from .line import Line, ok, problem, warning

GIGABYTE = 1 << 30
CHILD = 2 * GIGABYTE
"""What a child may grow by: `protocol.LIMITS`, which cannot be asked without TVM."""
BASE = GIGABYTE // 2
"""The driver and the zygote with TVM in them: 200 MB each."""
USUAL = GIGABYTE // 4
"""What a child usually grows by, at the most."""

BUSY = 1.5
"""Processes that want to run, for each core: more, and steps that take long look like hangs."""


def lines(workers: int, cores: int) -> Iterator[Line]:
    """Each part."""
    limits = cgroup.limits()
    yield ok("machine", f"{platform.platform()}, {platform.machine()}")
    load = os.getloadavg()[0]
    yield cores_and_load(cores, limits.cores, load, workers)
    yield memory(workers, psutil.virtual_memory().available, limits.memory)
    yield clock(time.time(), Path(__file__).stat().st_mtime)


def cores_and_load(cores: int, limit: float | None, load: float, workers: int) -> Line:
    """
    Args:
        cores: that this process may use.
        limit: how many its control group may use.
        load: processes that run or want to, on the whole machine.
    """
    value = f"{cores} of {os.cpu_count()}"
    if limit is not None:
        value += f", {limit:g} by the limit of the container"
    value += f", load {load:.1f}"
    usable = cores if limit is None else min(cores, limit)
    if workers > usable:
        return warning(
            "cores",
            f"{value}, for {workers} workers",
            f"--workers {max(1, int(usable))}: more of them take longer, and may look as if they "
            "hung",
        )
    if load > BUSY * (os.cpu_count() or 1):
        return warning(
            "cores", value, "wait until the machine is less busy: checks are slow, and few"
        )
    return ok("cores", value)


def memory(workers: int, available: int, limit: int | None) -> Line:
    """
    Args:
        available: on the machine.
        limit: what the control group can still have.
    """
    value = f"{gigabytes(available)} available"
    if limit is not None and limit < available:
        value = f"{gigabytes(limit)} available in the container"
        available = limit
    if available < BASE + workers * USUAL:
        fewer = max(1, int((available - BASE) / USUAL))
        return problem(
            "memory",
            f"{value}, {gigabytes(BASE + workers * USUAL)} are needed for {workers} workers",
            f"--workers {fewer}, or end other programs: the kernel would kill workers"
            if fewer < workers
            else "end other programs, or give the container more",
        )
    if available < BASE + workers * CHILD:
        return warning(
            "memory",
            f"{value}; {workers} workers may grow to {gigabytes(CHILD)} each",
            "fewer --workers, if the kernel kills any of them: a pass that eats memory is stopped "
            f"at {gigabytes(CHILD)} only",
        )
    return ok("memory", f"{value} for {workers} workers")


def clock(now: float, installed: float) -> Line:
    """
    Args:
        installed: when relaxfuzz was, by the time of its file.
    """
    value = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(now))
    if now < installed - 60:
        return warning(
            "clock",
            f"{value}, before relaxfuzz was installed",
            "set the clock: runs and findings are ordered by time",
        )
    return ok("clock", value)


def gigabytes(size: int) -> str:
    """`3221225472` is "3.0 GB"."""
    return f"{size / GIGABYTE:.1f} GB"
