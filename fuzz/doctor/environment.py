"""Checks that do not need TVM: the installation, the machine, folders."""

from __future__ import annotations

import contextlib
import os
import platform
import re
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import psutil

MEGABYTE, GIGABYTE = 1 << 20, 1 << 30

CHILD = 2 * GIGABYTE
"""Largest growth of a child, as in `protocol.LIMITS`, which cannot be imported without TVM."""

BASE, USUAL = GIGABYTE // 2, GIGABYTE // 4
"""Memory of driver and zygote, and the usual growth of a child."""

LEAST_DISK, ENOUGH_DISK = 50 * MEGABYTE, GIGABYTE
"""Bytes: a night takes some 100 MB in the output folder and 256 MB of compiled kernels."""

_DEPENDENCIES = ("numpy", "hypothesis", "ml_dtypes", "distributed", "pytest")

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


def lines(out: Path, workers: int, cores: int) -> Iterator[DoctorLine]:
    """Yield a line for each part.

    Args:
        out: the output folder; it is not created.
        cores: number of cores that this process may use.
    """
    value = f"{metadata.version('relaxfuzz')}, {Path(__file__).parents[2]}"
    yield DoctorLine("relaxfuzz", OK, value)
    python = f"{platform.python_implementation()} {platform.python_version()}, {sys.executable}"
    if sys.flags.optimize:
        advice = "do not use -O or PYTHONOPTIMIZE: faults of relaxfuzz would go unnoticed"
        value = f"{python}, with assertions switched off"
        yield DoctorLine("Python", WARNING, value, advice)
    else:
        yield DoctorLine("Python", OK, f"{python}, {platform.platform()}")
    versions = []
    for name in _DEPENDENCIES:
        with contextlib.suppress(metadata.PackageNotFoundError):
            versions.append(f"{name} {metadata.version(name)}")
    yield DoctorLine("dependencies", OK, ", ".join(versions))
    value = f"{cores} of {os.cpu_count()}, for {workers} workers"
    if workers > cores:
        advice = f"--workers {cores}: more of them are slow, which looks like a hang"
        yield DoctorLine("cores", WARNING, value, advice)
    else:
        yield DoctorLine("cores", OK, value)
    yield memory(workers, psutil.virtual_memory().available, container_memory())
    yield folder("output folder", out, "choose another --out")


def memory(workers: int, available: int, limit: int | None) -> DoctorLine:
    """Check the memory for the workers.

    Args:
        available: bytes available on the machine.
        limit: bytes that the container still allows; None: as many as the machine.
    """
    place = "" if limit is None or limit >= available else " in the container"
    available = min(available, available if limit is None else limit)
    value = f"{available / GIGABYTE:.1f} GB available{place} for {workers} workers"
    if available < BASE + workers * USUAL:
        fits = max(1, (available - BASE) // USUAL)
        advice = f"--workers {fits}, or end other programs: the kernel would kill workers"
        return DoctorLine("memory", PROBLEM, value, advice)
    if available < BASE + workers * CHILD:
        value += f", which may grow to {CHILD / GIGABYTE:.1f} GB each"
        advice = "fewer --workers, if the kernel kills any of them"
        return DoctorLine("memory", WARNING, value, advice)
    return DoctorLine("memory", OK, value)


def container_memory(group: Path = Path("/sys/fs/cgroup")) -> int | None:
    """Bytes that the control group of a container (version 2) still allows; None: no limit."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        statistics = (group / "memory.stat").read_text(encoding="utf-8")
        # The page cache is freed when memory is needed.
        cache = int(re.findall(r"^inactive_file (\d+)$", statistics, re.M)[0])
        used = int((group / "memory.current").read_text(encoding="utf-8"))
        return max(0, int((group / "memory.max").read_text(encoding="utf-8")) - used + cache)
    return None


def folder(part: str, shown: Path, advice: str) -> DoctorLine:
    """Check that a folder, or the one it would be created in, is writable and has room."""
    place = shown.absolute()
    while not place.is_dir() and place != place.parent:
        place = place.parent
    try:
        with tempfile.TemporaryFile(dir=place, prefix=".relaxfuzz-") as file:
            file.write(bytes(MEGABYTE))
            file.flush()
            os.fsync(file.fileno())
        about = os.statvfs(place)
    except OSError as error:
        value = f"{shown}: cannot write to '{place}': {error.strerror}"
        return DoctorLine(part, PROBLEM, value, advice)
    free = about.f_bavail * about.f_frsize
    verdict = PROBLEM if free < LEAST_DISK else WARNING if free < ENOUGH_DISK else OK
    remedy = "" if verdict == OK else f"make room there, or {advice}"
    return DoctorLine(part, verdict, f"{shown}, {free / 1e9:.1f} GB free", remedy)
