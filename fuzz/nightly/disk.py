"""The disk space of a store, and how to free it.

Files that killed processes have left are removed first, then unconfirmed findings, the oldest
first. A confirmed finding and its files always stay.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ..findings.store import Store
from ..system.files import sweep
from ..user_input.errors import UserError

AGED = 3600.0
"""Seconds after which no process will add a finding for a module file any more."""

MOST = 1e18
"""Bytes: more than any disk has."""

_UNITS = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}


@dataclass(frozen=True, slots=True)
class Use:
    """The disk space of a store after `prune`."""

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
            text += "; the rest is confirmed and stays: allow more"
        return text


def prune(store: Store, limit: int) -> Use:
    """Remove files and unconfirmed findings until the store takes at most `limit` bytes."""
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
    """Modules that no finding names."""
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
        setting: the option or setting that it is the value of.

    Raises:
        UserError: it is no such size, or 0.
    """
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*([KMGT]?B)", text.strip().upper())
    bytes = round(min(float(match[1]) * _UNITS[match[2]], MOST)) if match else 0
    if bytes <= 0:
        raise UserError(f"expected a size such as 500MB or 1GB but got {setting} {text!r}")
    return bytes


def size(bytes: int) -> str:
    """`1234567` is "1.2 MB"."""
    for unit in ("GB", "MB", "KB"):
        if bytes >= _UNITS[unit]:
            return f"{bytes / _UNITS[unit]:.3g} {unit}"
    return f"{bytes} B"
