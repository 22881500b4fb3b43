"""Checks that need no TVM: the installation, the machine, limits, fork, folders."""

from __future__ import annotations

import contextlib
import enum
import faulthandler
import os
import platform
import re
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import psutil

from ...compat import build

MEGABYTE, GIGABYTE = 1 << 20, 1 << 30

CHILD = 2 * GIGABYTE
"""What a child may grow by: `protocol.LIMITS`, which cannot be imported without TVM."""

BASE, USUAL = GIGABYTE // 2, GIGABYTE // 4
"""What driver and zygote need, and what a child usually grows by."""

LEAST_DISK, ENOUGH_DISK = 50 * MEGABYTE, GIGABYTE
"""A night takes some 100 MB in the output folder and 256 MB of compiled kernels."""

_VARIABLES = re.compile(r"TVM_\w+|PYTHON\w+|(LD|DYLD)_\w+|OMP_NUM_THREADS|TMPDIR|XDG_CACHE_HOME")
"""Environment variables that change what is run, and where."""

_DEPENDENCIES = ("numpy", "hypothesis", "ml_dtypes", "distributed", "pytest")


class Verdict(enum.StrEnum):
    """How fit a part is."""

    OK = "ok"
    WARNING = "warning"
    """relaxfuzz works, but slower, or with less, or under untested conditions."""
    PROBLEM = "problem"
    """Some of it does not work, or its reports cannot be trusted."""


@dataclass(frozen=True, slots=True)
class Line:
    """One part of the environment."""

    part: str
    verdict: Verdict
    value: str
    """What was found."""
    advice: str = ""
    """What to do; empty if the verdict is `OK`."""


def ok(part: str, value: str) -> Line:
    """Nothing has to be done."""
    return Line(part, Verdict.OK, value)


def warning(part: str, value: str, advice: str) -> Line:
    """It works, but slower or with less."""
    return Line(part, Verdict.WARNING, value, advice)


def problem(part: str, value: str, advice: str) -> Line:
    """It does not work."""
    return Line(part, Verdict.PROBLEM, value, advice)


def lines(out: Path, workers: int, cores: int) -> Iterator[Line]:
    """A line for each part.

    Args:
        out: the output folder; it is not made.
        cores: that this process may use.
    """
    yield from installation()
    value = f"{cores} of {os.cpu_count()}, for {workers} workers"
    if workers > cores:
        advice = f"--workers {cores}: more of them are slow, which looks like a hang"
        yield warning("cores", value, advice)
    else:
        yield ok("cores", value)
    yield memory(workers, psutil.virtual_memory().available, container_memory())
    yield from limits(workers)
    # For each worker a block and a check, each with a child that executes; and the other processes.
    yield fork(4 * workers + 8)
    yield folder("output folder", out, "choose another --out")
    yield temporary_files()
    yield compiled_kernels()


def installation() -> Iterator[Line]:
    """relaxfuzz, Python, and what findings depend on besides TVM."""
    yield ok("relaxfuzz", f"{metadata.version('relaxfuzz')}, {Path(__file__).parents[2]}")
    python = f"{platform.python_implementation()} {platform.python_version()}, {sys.executable}"
    if sys.flags.optimize:
        advice = "do not use -O or PYTHONOPTIMIZE: faults of relaxfuzz would go unnoticed"
        yield warning("Python", f"{python}, with assertions switched off", advice)
    else:
        yield ok("Python", f"{python}, {platform.platform()}")
    versions = []
    for name in _DEPENDENCIES:
        with contextlib.suppress(metadata.PackageNotFoundError):
            versions.append(f"{name} {metadata.version(name)}")
    yield ok("dependencies", ", ".join(versions))
    variables = [f"{name}={os.environ[name]}" for name in os.environ if _VARIABLES.fullmatch(name)]
    if variables:
        yield ok("variables", ", ".join(sorted(variables)))


def memory(workers: int, available: int, limit: int | None) -> Line:
    """Memory for the workers.

    Args:
        available: on the machine.
        limit: what the container can still have; None: as much as the machine.
    """
    value = f"{available / GIGABYTE:.1f} GB available"
    if limit is not None and limit < available:
        available = limit
        value = f"{available / GIGABYTE:.1f} GB available in the container"
    fits = max(1, (available - BASE) // USUAL)
    if available < BASE + workers * USUAL:
        advice = f"--workers {fits}, or end other programs: the kernel would kill workers"
        return problem("memory", f"{value}, too little for {workers} workers", advice)
    if available < BASE + workers * CHILD:
        value += f"; {workers} workers may grow to {CHILD / GIGABYTE:.1f} GB each"
        return warning("memory", value, "fewer --workers, if the kernel kills any of them")
    return ok("memory", f"{value} for {workers} workers")


def container_memory(group: Path = Path("/sys/fs/cgroup")) -> int | None:
    """Bytes that the control group of a container (version 2) can still have; None: no limit."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        statistics = (group / "memory.stat").read_text(encoding="utf-8")
        # The page cache is given back when memory is needed.
        cache = int(re.findall(r"^inactive_file (\d+)$", statistics, re.M)[0])
        used = int((group / "memory.current").read_text(encoding="utf-8"))
        return max(0, int((group / "memory.max").read_text(encoding="utf-8")) - used + cache)
    return None


def limits(
    workers: int, ask: Callable[[int], tuple[int, int]] = resource.getrlimit
) -> Iterator[Line]:
    """A line for each limit (`ulimit`) that is too low, and one for all others."""
    files = 64 + 16 * workers  # the zygote has three pipes and a few more for each child
    # With less than the first number nothing works, with the second everything.
    needed = [
        ("address space", resource.RLIMIT_AS, "-v", 1024, GIGABYTE, GIGABYTE + CHILD),
        ("open files", resource.RLIMIT_NOFILE, "-n", 1, files, files),
        ("stack", resource.RLIMIT_STACK, "-s", 1024, MEGABYTE, 8 * MEGABYTE),
        ("file size", resource.RLIMIT_FSIZE, "-f", 1024, 16 * MEGABYTE, GIGABYTE),
        ("CPU time", resource.RLIMIT_CPU, "-t", 1, 60, 24 * 3600),
    ]
    enough = []
    for part, number, flag, unit, least, most in needed:
        value, _ = ask(number)
        if value == resource.RLIM_INFINITY or value >= most:
            shown = "unlimited" if value == resource.RLIM_INFINITY else str(value // unit)
            enough.append(f"{part} {shown}")
            continue
        verdict = Verdict.PROBLEM if value < least else Verdict.WARNING
        advice = f"ulimit {flag} {most // unit}, or unlimited"
        yield Line(f"limit: {part}", verdict, f"ulimit {flag} is {value // unit}", advice)
    if enough:
        yield ok("limits", ", ".join(enough))


def fork(number: int) -> Line:
    """So many children can run at once, and a segmentation fault of one is seen as one.

    The calling process has one thread.
    """
    children: list[int] = []
    try:
        children += (_fork(lambda: time.sleep(60)) for _ in range(number - 1))
        segfault = _fork(lambda: os.kill(os.getpid(), signal.SIGSEGV))
        code = os.waitstatus_to_exitcode(os.waitpid(segfault, 0)[1])
    except OSError as error:
        soft, _ = resource.getrlimit(resource.RLIMIT_NPROC)
        value = f"{len(children)} of {number} processes: {error.strerror}"
        advice = f"fewer --workers, ulimit -u (now {soft}), or the container's limit of processes"
        return problem("fork", value, advice)
    finally:
        for pid in children:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
    if code != -signal.SIGSEGV:
        value = f"a segmentation fault of a child is seen as {code}"
        return problem("fork", value, "leave the sandbox or the debugger: crashes are misreported")
    return ok("fork", f"{number} processes at once")


def _fork(work: Callable[[], None]) -> int:
    pid = os.fork()
    if pid == 0:
        faulthandler.disable()  # it would print where we are
        work()
        os._exit(0)
    return pid


def _existing(folder: Path) -> Path:
    """The folder, or the one that it would be made in."""
    place = folder.absolute()
    while not place.is_dir() and place != place.parent:
        place = place.parent
    return place


def folder(part: str, shown: Path, advice: str) -> Line:
    """Whether a folder, or the one that it would be made in, can be written to."""
    place = _existing(shown)
    try:
        with tempfile.TemporaryFile(dir=place, prefix=".relaxfuzz-") as file:
            file.write(bytes(MEGABYTE))
            file.flush()
            os.fsync(file.fileno())
        about = os.statvfs(place)
    except OSError as error:
        return problem(part, f"{shown}: cannot write to '{place}': {error.strerror}", advice)
    free = about.f_bavail * about.f_frsize
    value = f"{shown}, {free / 1e9:.1f} GB free"
    if free < LEAST_DISK:
        return problem(part, value, f"make room there, or {advice}")
    if free < ENOUGH_DISK:
        return warning(part, value, f"make room there for long runs, or {advice}")
    return ok(part, value)


def temporary_files() -> Line:
    """The folder of temporary files; what has just been compiled is loaded from there."""
    part, advice = "temporary files", "set TMPDIR to a folder that can be written to"
    try:
        place = Path(tempfile.gettempdir())
    except FileNotFoundError as error:
        return problem(part, str(error), advice)
    wanted = os.environ.get("TMPDIR")
    if wanted and Path(wanted).absolute() != place.absolute():
        return warning(part, f"cannot write to TMPDIR '{wanted}', '{place}' is used", advice)
    line = folder(part, place, "set TMPDIR to another folder")
    if os.statvfs(place).f_flag & os.ST_NOEXEC:
        advice = "set TMPDIR to another folder: compiled kernels are loaded from there"
        return problem(part, f"{line.value}, mounted with noexec", advice)
    return line


def compiled_kernels() -> Line:
    """The folder in which later campaigns find what was compiled."""
    part, advice = "compiled kernels", "set XDG_CACHE_HOME to another folder"
    place = build.kernels()
    line = folder(part, place, advice)
    value = line.value
    if os.statvfs(_existing(place)).f_flag & os.ST_NOEXEC:
        value += ", mounted with noexec"
    elif line.verdict is Verdict.OK:
        return line
    return warning(part, value, f"{advice}: each campaign compiles them anew")
