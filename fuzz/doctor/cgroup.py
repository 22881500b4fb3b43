"""Limits of the container, or control group, that this process is in (Linux, versions 1 and 2)."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_NO_LIMIT = 1 << 60
"""Version 1 writes a huge number instead of none."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The tightest of all groups that the process is in; None: no limit."""

    memory: int | None = None
    """Bytes that can still be had."""
    cores: float | None = None
    processes: int | None = None
    """That can still be started."""


def limits(root: Path = Path("/sys/fs/cgroup"), own: Path = Path("/proc/self/cgroup")) -> Limits:
    """Of this process; without control groups there are none."""
    memory, cores, processes = [], [], []
    for folder in _folders(root, own):
        names = ("memory.max", "memory.current", "inactive_file")
        if (limit := _number(folder / "memory.limit_in_bytes")) is not None:
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
        else:
            limit = _number(folder / "memory.max")
        if limit is not None:
            used = _number(folder / names[1]) or 0
            memory.append(max(0, limit - used + _statistic(folder / "memory.stat", names[2])))
        if (share := _cores(folder)) is not None:
            cores.append(share)
        if (most := _number(folder / "pids.max")) is not None:
            processes.append(most - (_number(folder / "pids.current") or 0))
    return Limits(min(memory, default=None), min(cores, default=None), min(processes, default=None))


def _folders(root: Path, own: Path) -> Iterator[Path]:
    """Of each group that the process is in, and of those around it."""
    text = ""
    with contextlib.suppress(OSError):
        text = own.read_text(encoding="utf-8")
    for line in text.splitlines():
        _, controllers, path = line.split(":", 2)
        # In a container the path may be that of the host, and the group itself is at the root.
        base = root / controllers if controllers else root
        parts = Path(path.lstrip("/"))
        for group in (parts, *parts.parents):
            yield base / group


def _cores(folder: Path) -> float | None:
    with contextlib.suppress(OSError, ValueError):
        quota, period = (folder / "cpu.max").read_text(encoding="utf-8").split()
        return None if quota == "max" else int(quota) / int(period)
    quota_v1 = _number(folder / "cpu.cfs_quota_us")
    period_v1 = _number(folder / "cpu.cfs_period_us")
    return quota_v1 / period_v1 if quota_v1 is not None and period_v1 else None


def _number(file: Path) -> int | None:
    """None: no such file, or no limit."""
    with contextlib.suppress(OSError, ValueError):
        number = int(file.read_text(encoding="utf-8"))
        return number if 0 <= number < _NO_LIMIT else None
    return None


def _statistic(file: Path, name: str) -> int:
    """Of the memory that is used, what is taken back when it is needed, for one."""
    with contextlib.suppress(OSError, ValueError):
        for line in file.read_text(encoding="utf-8").splitlines():
            key, _, value = line.partition(" ")
            if key == name:
                return int(value)
    return 0
