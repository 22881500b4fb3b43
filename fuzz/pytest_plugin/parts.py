"""What the items of a session, in any number of processes, leave for the end of it.

They write it down as they go: what a process knew that was killed is not lost.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from ..process.serialize import plain, typed
from ..process.targets import PassStats
from ..system.files import write_whole


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """How far an item is."""

    item: str
    """Its id."""
    spelling: str
    """The pass, as the user named it."""
    number: int
    """Of its shard, from 0."""
    ended: float = 0.0
    """Unix time, or when this was written."""
    seconds: float = 0.0
    modules: int = 0
    stats: PassStats = field(default_factory=PassStats)
    known_reports: int = 0
    """Checks that ended in a known bug."""
    knowns: Mapping[str, int] = field(default_factory=dict)
    """By name of a known that was met: its distinct reports."""
    found: tuple[str, ...] = ()
    """Ids of the findings that were told."""
    waiting: tuple[str, ...] = ()
    """Ids of those that were not told, for whatever reason; the store has them."""
    unconfirmed: int = 0
    faults: tuple[str, ...] = ()
    finished: bool = False


class Parts:
    """The parts of one session, in a folder of the store."""

    def __init__(self, out: Path, session: str) -> None:
        """
        Args:
            session: tells sessions apart that write into one store; begins with the id of the
                process that started it.
        """
        self._folder = out / "sessions" / session

    def write(self, part: Part) -> None:
        """Take the place of what this item wrote before."""
        self._folder.mkdir(parents=True, exist_ok=True)
        write_whole(self._folder / f"{_digest(part.item)}.json", json.dumps(plain(part)))

    def read(self) -> list[Part]:
        """What every item wrote last, in the order in which they ended."""
        parts: list[Part] = [
            typed(json.loads(path.read_text(encoding="utf-8")), Part)
            for path in sorted(self._folder.glob("*.json"))
        ]
        return sorted(parts, key=lambda part: part.ended)

    def claim(self, row: str, spelling: str, item: str) -> str:
        """Which item reports that this pass shows this bug: the first that asks for it."""
        folder = self._folder / row
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / _digest(spelling)
        mine = folder / f".{os.getpid()}"
        mine.write_text(item, encoding="utf-8")
        with contextlib.suppress(FileExistsError):
            os.link(mine, path)  # whole or not at all
        mine.unlink()
        return path.read_text(encoding="utf-8")

    def others(self, row: str, item: str) -> list[str]:
        """The items that report the same bug of other passes."""
        told = {path.read_text(encoding="utf-8") for path in (self._folder / row).glob("[!.]*")}
        return sorted(told - {item})

    @classmethod
    def sweep(cls, out: Path) -> None:
        """Remove what sessions left that were killed; what they had found is pending."""
        for folder in (out / "sessions").glob("*-*"):
            pid = folder.name.partition("-")[0]
            if pid.isdecimal() and not psutil.pid_exists(int(pid)):
                cls(out, folder.name).remove()

    def remove(self) -> None:
        """They have been put together."""
        shutil.rmtree(self._folder, ignore_errors=True)
        with contextlib.suppress(OSError):  # another session is there
            self._folder.parent.rmdir()


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
