"""Which reports of known bugs are audited: reduced, to see whether they are reports of them."""

from __future__ import annotations

import heapq
import itertools
import threading
import time
from collections.abc import Callable, Iterable

from ...corpus.knowns import Known
from .finding import Finding

SECONDS = 3.0
SHARE = 0.05
"""What one audit takes of a worker, roughly, and what all may take of the workers' time so far."""

MOST_WAITING = 200
"""Each report waits with its module; most campaigns meet fewer."""


class Audits:
    """Reports that wait for an audit, until there is time for one.

    The first of each known bug comes first; then the first at each other place of TVM, where
    another bug may raise the same; then the rest. Of equal ones the earliest comes first.
    """

    def __init__(self) -> None:
        self._waiting: list[tuple[int, int, Finding]] = []
        self._places: dict[str, set[str]] = {}
        """Where each known bug was reported, by its name."""
        self._number = itertools.count()
        self._began = time.monotonic()
        self._taken = 0
        self._lock = threading.Lock()

    def add(self, finding: Finding, knowns: Iterable[Known]) -> None:
        """Take a report that has the keys of known bugs.

        Args:
            finding: one that has not come before.
        """
        place = finding.violation.place
        with self._lock:
            before = [self._places.setdefault(known.name, set()) for known in knowns]
            rank = 0 if not all(before) else 1 if any(place not in each for each in before) else 2
            for each in before:
                each.add(place)
            if len(self._waiting) < MOST_WAITING:
                heapq.heappush(self._waiting, (rank, next(self._number), finding))

    def take(self, workers: int, put: Callable[[Finding], None]) -> None:
        """Give the next one away, if there is time for it."""
        with self._lock:
            spent = (time.monotonic() - self._began) * workers
            if self._waiting and self._taken * SECONDS <= SHARE * spent:
                self._taken += 1
                put(heapq.heappop(self._waiting)[2])

    def clear(self) -> None:
        """Audit none of those that wait."""
        with self._lock:
            self._waiting.clear()
