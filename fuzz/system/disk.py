"""What a store takes of the disk, and what of it nobody needs.

Leftovers of processes that were killed go first, then findings that nobody could confirm, or that
were met on the way to another one: the oldest before the newer ones. A confirmed finding stays,
whatever it takes, and so do its files.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ..findings.store import Store
from ..user_input.mistake import Mistake
from .files import sweep

AGED = 3600.0
"""Seconds after which a file is of no process any more that is about to name it."""

MOST = 1e18
"""Bytes: more than any disk has."""

_UNITS = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}


@dataclass(frozen=True, slots=True)
class Use:
    """What a store takes, after what could go went."""

    bytes: int
    limit: int
    files: int
    """Leftovers that were removed."""
    findings: int
    """Unconfirmed ones that were dropped."""

    def __str__(self) -> str:
        text = f"{size(self.bytes)} of {size(self.limit)}"
        if self.files:
            text += f", {self.files} leftover files removed"
        if self.findings:
            text += f", {self.findings} unconfirmed findings dropped"
        if self.bytes > self.limit:
            text += "; what is left is confirmed and stays: allow more"
        return text


def prune(store: Store, limit: int) -> Use:
    """Drop what nobody needs, until the store takes no more than `limit` bytes."""
    files = sweep(store.folder)
    for path in _leftovers(store):
        path.unlink(missing_ok=True)
        files += 1
    findings = 0
    if (excess := used(store.folder) - limit) > 0:
        findings = store.forget_unconfirmed(excess)
    return Use(used(store.folder), limit, files, findings)


def used(folder: Path) -> int:
    """Bytes of the files in a folder."""
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.lstat().st_size
        except FileNotFoundError:  # a temporary one
            continue
    return total


def _leftovers(store: Store) -> Iterator[Path]:
    """Modules that no finding names (any more)."""
    named = {store.module(finding).name for finding in store.findings()}
    latest = time.time() - AGED
    for path in (path for path in store.folder.glob("modules/*") if path.name not in named):
        try:
            if path.is_file() and path.stat().st_mtime < latest:
                yield path
        except FileNotFoundError:
            continue


def parse_size(text: str, setting: str = "--max-disk") -> int:
    """Bytes of "500MB", "1GB", "1.5 GB".

    Args:
        setting: where the user wrote it.

    Raises:
        Mistake: it is none of these, or nothing at all.
    """
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*([KMGT]?B)", text.strip().upper())
    bytes = round(min(float(match[1]) * _UNITS[match[2]], MOST)) if match else 0
    if bytes <= 0:
        raise Mistake(f"expected a size such as 500MB or 1GB but got {setting} {text!r}")
    return bytes


def size(bytes: int) -> str:
    """`1234567` is "1.2 MB"."""
    for unit in ("GB", "MB", "KB"):
        if bytes >= _UNITS[unit]:
            return f"{bytes / _UNITS[unit]:.3g} {unit}"
    return f"{bytes} B"
