"""What an item had found, and had not told yet, when its process was killed."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import pytest

from ..campaign.triage import Triage
from ..findings.finding import Finding
from ..findings.store import Store
from ..process.executor import ExecutorError
from ..process.local_pool import LocalPool
from . import failure
from .items import Shard
from .parts import Part, Parts

LOST = pytest.StashKey[list[str]]()
"""The ids of items whose process was killed."""

SECONDS, MOST = 10.0, 60.0
"""For reducing, and for all of it."""


class _Late(Exception):
    pass


@dataclass(frozen=True, slots=True)
class Rescued:
    """An item whose process was killed."""

    part: Part
    """Also with what was confirmed since."""
    texts: tuple[str, ...]
    """What it would have told."""


def rescue(lost: Sequence[Part], parts: Parts, store: Store) -> list[Rescued]:
    """Confirm and reduce what items had found that were lost."""
    ids = {id for part in lost for id in part.waiting}
    waiting = [finding for finding in store.pending() if finding.id in ids]
    if waiting:
        with contextlib.suppress(ExecutorError), LocalPool(1) as pool:  # it stays in the store
            _triage(waiting, store, pool)
    return [_rescued(part, parts, store) for part in lost]


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


def _rescued(part: Part, parts: Parts, store: Store) -> Rescued:
    claim = f"{part.item} (lost)"  # a new one: what the item told itself is not told again
    confirmed = [f for id in part.waiting if (f := store.get(id)) is not None and f.confirmed]
    texts = []
    for finding in confirmed:
        row = store.rows.of(finding.id) or finding.id
        if parts.claim(row, part.spelling, claim) == claim:
            texts.append(failure.text(finding, store, Shard(part.spelling), row))
    ids = [finding.id for finding in confirmed]
    rest = tuple(id for id in part.waiting if id not in ids)
    return Rescued(replace(part, found=(*part.found, *ids), waiting=rest), tuple(texts))
