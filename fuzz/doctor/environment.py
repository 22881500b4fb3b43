"""Checks that do not need TVM: the installation, the machine, folders."""

from __future__ import annotations

import contextlib
import os
import platform
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import psutil

MEGABYTE, GIGABYTE = 1 << 20, 1 << 30

BASE, CHILD = GIGABYTE // 2, GIGABYTE // 4
"""Memory of driver and zygote, and that of a child as it mostly is; it may grow to 2 GB."""

OK, WARNING, PROBLEM = "ok", "warning", "problem"
"""The fitness of a part. With a warning, relaxfuzz works, but slower, with less, or under untested
conditions. With a problem, some of it does not work, or its reports cannot be trusted."""


@dataclass(frozen=True, slots=True)
class DoctorLine:
    """One part of the environment."""

    part: str
    verdict: str
    value: str
    """The value that was found."""
    advice: str = ""
    """Advice to the user; empty if the verdict is `OK`."""


def lines(out: Path, workers: int) -> Iterator[DoctorLine]:
    """Yield a line for each part.

    Args:
        out: the output folder; it is not created.
    """
    value = f"{metadata.version('relaxfuzz')}, {Path(__file__).parents[2]}"
    yield DoctorLine("relaxfuzz", OK, value)
    python = f"{platform.python_implementation()} {platform.python_version()}, {sys.executable}"
    yield DoctorLine("Python", OK, f"{python}, {platform.platform()}")
    yield memory(workers, available_memory())
    yield folder(out)


def memory(workers: int, available: int) -> DoctorLine:
    """Check the memory for the workers.

    Args:
        available: bytes.
    """
    value = f"{available / GIGABYTE:.1f} GB available for {workers} workers"
    if available >= BASE + workers * CHILD:
        return DoctorLine("memory", OK, value)
    fits = max(1, (available - BASE) // CHILD)
    advice = f"--workers {fits}, or end other programs: the kernel would kill workers"
    return DoctorLine("memory", PROBLEM, value, advice)


def available_memory(group: Path = Path("/sys/fs/cgroup")) -> int:
    """Bytes that the machine, or the control group of a container (version 2), still allows."""
    free = int(psutil.virtual_memory().available)
    with contextlib.suppress(OSError, ValueError, IndexError):
        statistics = (group / "memory.stat").read_text(encoding="utf-8")
        # The page cache is freed when memory is needed.
        cache = int(re.findall(r"^inactive_file (\d+)$", statistics, re.M)[0])
        used = int((group / "memory.current").read_text(encoding="utf-8"))
        limit = int((group / "memory.max").read_text(encoding="utf-8"))
        return min(free, max(0, limit - used + cache))
    return free


def folder(out: Path) -> DoctorLine:
    """Check that the output folder, or the one it would be created in, is writable."""
    place = out.absolute()
    while not place.is_dir() and place != place.parent:
        place = place.parent
    try:
        with tempfile.TemporaryFile(dir=place, prefix=".relaxfuzz-") as file:
            file.write(bytes(MEGABYTE))
            file.flush()
            os.fsync(file.fileno())
        free = shutil.disk_usage(place).free
    except OSError as error:
        value = f"{out}: cannot write to '{place}': {error.strerror}"
        return DoctorLine("output folder", PROBLEM, value, "choose another --out")
    return DoctorLine("output folder", OK, f"{out}, {free / 1e9:.1f} GB free")
