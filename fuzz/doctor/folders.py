"""The folders that are written to: is there room, and can the file system do what is needed?

An exam (see `ward`): a file system of a network may hang.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psutil

from ..bisect.environments import cache
from .line import Line, Step, ok, problem, warning

MEGABYTE = 1_000_000
LEAST = 50 * MEGABYTE
ENOUGH = 1000 * MEGABYTE
"""A night takes some 100 MB in the output folder, compiled kernels up to 256 MB of temporary files,
an environment with another TVM 500 MB."""
INODES = 2000
SKEW = 60.0
"""Seconds: what is older than an hour by the clock of its files is swept up."""

_OF_NETWORKS = ("nfs", "cifs", "smb", "afs", "9p", "fuse.sshfs", "lustre", "gpfs", "beegfs", "ceph")

_WRITER = """
import sqlite3, sys
database = sqlite3.connect(sys.argv[1], timeout=5)
database.execute("INSERT INTO numbers VALUES (2)")
database.commit()
"""


def lines(out: str) -> Iterator[Line | Step]:
    """Each folder, and the file system of the output folder."""
    yield Step("output folder", "choose a folder on a local disk with --out")
    folder = existing(Path(out))
    line = room("output folder", folder, shown=Path(out))
    yield line
    if line.verdict != "problem":
        yield Step("file system", "choose a folder on a local disk with --out")
        yield file_system(folder)
    yield Step("temporary files", "set TMPDIR to a folder on a local disk")
    yield from _temporary()
    yield Step("cache", "set XDG_CACHE_HOME to a folder on a local disk")
    yield room("cache", existing(cache()), shown=cache())


def existing(folder: Path) -> Path:
    """The folder, or the nearest one above it that is there."""
    folder = folder.absolute()
    while not folder.is_dir() and folder != folder.parent:
        folder = folder.parent
    return folder


def room(part: str, folder: Path, *, shown: Path) -> Line:
    """Whether it can be written to, and how much.

    Args:
        shown: how the user calls it.
    """
    advice = {
        "output folder": "choose another --out",
        "temporary files": "set TMPDIR to another folder",
    }.get(part, "set XDG_CACHE_HOME to another folder")
    try:
        with tempfile.TemporaryFile(dir=folder, prefix=".relaxfuzz-") as file:
            file.write(b"0" * MEGABYTE)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        return problem(part, f"{shown}: cannot write to '{folder}': {error.strerror}", advice)
    about = os.statvfs(folder)
    free = about.f_bavail * about.f_frsize
    value = f"{shown}, {free / 1e9:.1f} GB free"
    if free < LEAST:
        return problem(part, value, f"make room there, or {advice}")
    if about.f_files and about.f_favail < INODES:
        return problem(
            part,
            f"{value}, but for {about.f_favail} files only",
            f"remove files there, or {advice}",
        )
    if free < ENOUGH:
        return warning(part, value, f"make room there, or {advice}, for long runs")
    return ok(part, value)


def _temporary() -> Iterator[Line]:
    part, advice = "temporary files", "set TMPDIR to a folder that can be written to"
    try:
        folder = Path(tempfile.gettempdir())
    except FileNotFoundError as error:
        yield problem(part, str(error), advice)
        return
    wanted = os.environ.get("TMPDIR")
    if wanted and Path(wanted).absolute() != folder.absolute():
        yield warning(part, f"cannot write to TMPDIR '{wanted}', '{folder}' is taken", advice)
        return
    line = room(part, folder, shown=folder)
    if os.statvfs(folder).f_flag & os.ST_NOEXEC:
        line = problem(
            part,
            f"{line.value}, mounted with noexec",
            "set TMPDIR to a folder from which libraries can be loaded: compiled kernels are",
        )
    yield line


def file_system(folder: Path) -> Line:
    """Locks, SQLite's write-ahead log between processes, and whose clock it has."""
    kind, place = _kind(folder)
    value = f"{kind} at {place}" if kind else "of an unknown kind"
    advice = "choose a folder on a local disk with --out: findings may be lost here"
    try:
        with tempfile.TemporaryDirectory(dir=folder, prefix=".relaxfuzz-") as scratch:
            failed = _lock(Path(scratch)) or _wal(Path(scratch))
            skew = abs(Path(scratch).stat().st_mtime - time.time())
    except (OSError, sqlite3.Error) as error:
        failed, skew = str(error), 0.0
    if failed is not None:
        return problem("file system", f"{value}: {failed}", advice)
    if skew > SKEW:
        return warning(
            "file system",
            f"{value}: its clock differs by {skew:.0f} s",
            "set both clocks: old files are swept up by their time",
        )
    if kind.startswith(_OF_NETWORKS):
        return warning(
            "file system",
            f"{value}, across a network",
            "choose a folder on a local disk with --out: SQLite's write-ahead log must not be used "
            "by two machines at the same time",
        )
    return ok("file system", f"{value}: fsync, locks and write-ahead log work")


def _lock(scratch: Path) -> str | None:
    """A lock that is held is refused to another process; what is wrong."""
    file = scratch / "lock"
    asking = "import fcntl, sys; fcntl.flock(open(sys.argv[1], 'w'), fcntl.LOCK_EX | fcntl.LOCK_NB)"
    with file.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        other = subprocess.run([sys.executable, "-I", "-c", asking, file], capture_output=True)
    return None if b"BlockingIOError" in other.stderr else "a lock is given to two processes"


def _wal(scratch: Path) -> str | None:
    """What another process writes is read here; what is wrong."""
    file = scratch / "database.sqlite"
    with contextlib.closing(sqlite3.connect(file, timeout=5)) as database:
        (mode,) = database.execute("PRAGMA journal_mode = WAL").fetchone()
        if mode != "wal":
            return f"SQLite refuses its write-ahead log (journal_mode {mode})"
        database.execute("PRAGMA synchronous = FULL")
        database.execute("CREATE TABLE numbers (number INTEGER)")
        database.execute("INSERT INTO numbers VALUES (1)")
        database.commit()
        other = subprocess.run(
            [sys.executable, "-I", "-c", _WRITER, file], capture_output=True, text=True
        )
        if other.returncode != 0:
            return f"SQLite: {other.stderr.strip().splitlines()[-1]}"
        (count,) = database.execute("SELECT count(*) FROM numbers").fetchone()
    return None if count == 2 else "what one process writes, another does not see"


def _kind(folder: Path) -> tuple[str, str]:
    """Of a file system, and where it is mounted."""
    found = ("", "")
    resolved = folder.resolve()
    for partition in psutil.disk_partitions(all=True):
        mount = Path(partition.mountpoint)
        if resolved.is_relative_to(mount) and len(str(mount)) >= len(found[1]):
            found = (partition.fstype, str(mount))
    return found
