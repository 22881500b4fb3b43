"""What an item had found, and had not told yet, when its process was killed."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence

import pytest

from ..executor import LocalPool
from ..finding import Finding
from ..store import Store
from ..triage import Triage
from . import failure
from .items import Shard
from .parts import Part, Parts

LOST = pytest.StashKey[list[str]]()
"""The ids of items whose process was killed."""

SECONDS, MOST = 10.0, 60.0
"""For reducing, and for all of it."""


class _Late(Exception):
    pass


def rescue(lost: Sequence[Part], parts: Parts, store: Store) -> list[tuple[Part, list[str]]]:
    """Confirm and reduce what was found; for each item what it would have told.

    Raises:
        ExecutorError: the workers do not come up.
    """
    waiting = [f for part in lost for id in part.waiting if (f := store.get(id)) is not None]
    if waiting:
        with LocalPool(1) as pool:
            _triage(waiting, store, pool)
    return [(part, list(_told(part, parts, store))) for part in lost]


def _triage(waiting: Sequence[Finding], store: Store, pool: LocalPool) -> None:
    triage = Triage(store, pool, lambda finding: None)
    for finding in waiting:
        triage.add(finding)
    until = time.monotonic() + MOST

    def tick() -> None:
        if time.monotonic() > until:
            raise _Late

    with contextlib.suppress(_Late):
        triage.drain(SECONDS, tick)


def _told(part: Part, parts: Parts, store: Store) -> Iterator[str]:
    """The claim is a new one: what the item had told itself is not told again."""
    claim = f"{part.item} (lost)"
    for finding in map(store.get, part.waiting):
        if finding is not None and finding.confirmed:
            row = store.rows.of(finding.id) or finding.id
            if parts.claim(row, part.spelling, claim) == claim:
                yield failure.text(finding, store, Shard(part.spelling), row)
