"""Faults, each done to a campaign that runs. What they break, they do not mend."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from .campaigns import Campaign, kill

Fault = Callable[[Campaign, random.Random], str | None]
"""Gives what it hit; None where there was nothing to hit."""


def killed(kind: str) -> Fault:
    """SIGKILL for one process of this kind."""

    def fault(campaign: Campaign, chance: random.Random) -> str | None:
        found = campaign.parts().get(kind, [])
        if not found:
            return None
        hit = chance.choice(found)
        kill(hit)
        return f"{kind} {hit.pid}"

    return fault


def asked_to_end(number: int) -> Fault:
    """SIGTERM or SIGHUP for the driver."""

    def fault(campaign: Campaign, chance: random.Random) -> str | None:
        found = campaign.parts().get("driver", [])
        for driver in found:
            driver.send_signal(number)
        return f"driver {found[0].pid}" if found else None

    return fault


def stopped(kind: str, seconds: tuple[float, float] = (1.0, 5.0)) -> Fault:
    """SIGSTOP for one process of this kind, and SIGCONT some seconds later."""

    def fault(campaign: Campaign, chance: random.Random) -> str | None:
        found = campaign.parts().get(kind, [])
        if not found:
            return None
        hit, pause = chance.choice(found), chance.uniform(*seconds)
        kill(hit, signal.SIGSTOP)
        time.sleep(pause)
        kill(hit, signal.SIGCONT)
        return f"{kind} {hit.pid} for {pause:.1f} s"

    return fault


def all_killed(campaign: Campaign, chance: random.Random) -> str | None:
    """The driver and all that it started at once, as where the machine loses its power."""
    hit = list(campaign.processes())
    for process in hit:
        kill(process)
    return f"{len(hit)} processes" if hit else None


def filled(folder: Path, seconds: tuple[float, float] = (1.0, 5.0)) -> Fault:
    """The disk of a folder is full for some seconds. It has to be a small one: see `small_disk`."""

    def fault(campaign: Campaign, chance: random.Random) -> str | None:
        pause = chance.uniform(*seconds)
        with full(folder):
            time.sleep(pause)
        return f"{folder.name} for {pause:.1f} s"

    return fault


@contextmanager
def full(folder: Path) -> Iterator[None]:
    """No byte is left on the disk of a folder."""
    filler = folder / ".filler"
    try:
        with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
            for size in (1 << 20, 4096, 1):
                with contextlib.suppress(OSError):
                    while file.write(b"\0" * size) == size:
                        pass
        yield
    finally:
        filler.unlink(missing_ok=True)


def intruder(campaign: Campaign, chance: random.Random) -> str | None:
    """A second command fuzzes in the same folder, and is refused."""
    if not (campaign.alive and campaign.parts().get("zygote")):
        return None  # nobody has the folder
    asked = ["run", "DeadCodeElimination", "--modules", 1, "--out", campaign.out]
    process = campaign.command(*asked)
    code = process.wait(120)
    # The campaign may have been over, or between two drivers.
    return f"it ended with {code}"


@contextmanager
def small_disk(folder: Path, megabytes: int) -> Iterator[Path]:
    """A file system of its own, of this size.

    Raises:
        PermissionError: only root may mount one.
    """
    folder.mkdir(parents=True, exist_ok=True)
    asked = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(asked, capture_output=True, check=False).returncode:
        raise PermissionError(f"cannot mount a file system in {folder}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """Nothing can be written in a folder, not even by root.

    Raises:
        PermissionError: only root may mount.
    """
    asked = (["mount", "--bind", folder, folder], ["mount", "-o", "remount,ro,bind", folder])
    done = 0
    try:
        for words in asked:
            if os.geteuid() or subprocess.run(words, capture_output=True, check=False).returncode:
                raise PermissionError(f"cannot mount {folder}")
            done += 1
        yield
    finally:
        if done:
            subprocess.run(["umount", "--lazy", str(folder)], check=True)


def gone(process: psutil.Process, seconds: float = 30.0) -> bool:
    """It has ended within this time."""
    return not psutil.wait_procs([process], timeout=seconds)[1]
