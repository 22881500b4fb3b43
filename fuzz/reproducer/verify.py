"""Runs the reproducers of known bugs, to see whether they still fail on the installed TVM."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed

from ...corpus.knowns import Known
from .replay import ReplayItem, ReplayOutcome, ReplayStatus, items, replay

NO_LONGER = frozenset({ReplayStatus.FIXED, ReplayStatus.PASSES, ReplayStatus.GONE})
"""Outcomes of a reproducer that no longer fails."""


def verify(
    todo: Sequence[Known], workers: int, stop: threading.Event
) -> Iterator[tuple[Known, ReplayOutcome]]:
    """Run the reproducers of known bugs, until all are done or `stop` is set.

    Known bugs without a reproducer are left out.

    Raises:
        ExecutorError: the harness failed.
    """
    with ThreadPoolExecutor(workers) as threads:
        futures = {
            threads.submit(_replay, item, stop): known
            for known in todo
            if known.reproducer is not None
            for item in items(known.reproducer)
        }
        for future in as_completed(futures):
            outcome = future.result()
            if outcome is not None:
                yield futures[future], outcome


def _replay(item: ReplayItem, stop: threading.Event) -> ReplayOutcome | None:
    return None if stop.is_set() else replay(item, None)
