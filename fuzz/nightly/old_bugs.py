"""Old bugs to run again: corpus files, known bugs, and findings of another build of TVM."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from ...compat.release import same_build
from ...corpus.knowns import Known
from ..findings.known import Expected, is_certain
from ..findings.store import Store
from ..process.executor import Executor
from ..reproducer.replay import ReplayItem, ReplayOutcome, ReplayStatus, items, replay

FIXED = frozenset({ReplayStatus.FIXED, ReplayStatus.GONE})
UNEXPECTED = frozenset({ReplayStatus.CHANGED, ReplayStatus.BROKEN})
"""Statuses that need attention."""


@dataclass(frozen=True, slots=True)
class OldBug:
    """A bug to run again."""

    item: ReplayItem
    known: Known | None = None
    """The known bug to which the reproducer belongs."""

    @property
    def key(self) -> str:
        """A key that is the same every night."""
        if self.known is not None:
            return known_key(self.known)
        return self.item.finding.id if self.item.finding else str(self.item.path)

    @property
    def name(self) -> str:
        """The name for messages."""
        return self.known.name if self.known else self.item.name


def known_key(known: Known) -> str:
    """The key of a known bug."""
    return f"known {known.name}"


def old_bugs(
    corpora: Iterable[Path],
    expected: Expected,
    store: Store,
    versions: Mapping[str, str],
    before: Mapping[str, str] = {},
) -> list[OldBug]:
    """All old bugs, each file once.

    Known bugs recorded as failing on exactly this TVM are left out. So are findings from this TVM,
    unless the previous night, on another build, saw them gone.

    Args:
        before: statuses of the previous night, by key of an old bug.

    Raises:
        UserError: a path has no findings.
    """
    by_path: dict[Path, OldBug] = {}
    for known in expected.knowns:
        if known.reproducer is not None and not is_certain(known, expected.version):
            found = items(known.reproducer)
            by_path |= {item.path.resolve(): OldBug(item, known) for item in found}
    others = []
    for item in (item for path in corpora for item in items(path)):
        if item.finding is not None:
            others.append(OldBug(item))
        else:
            by_path.setdefault(item.path.resolve(), OldBug(item))
    others += (
        OldBug(ReplayItem(store.folder, finding))
        for finding in store.findings()
        if not same_build(finding.versions, versions) or before.get(finding.id) in FIXED
    )
    return [*by_path.values(), *others]


def replay_all(
    todo: Iterable[OldBug], executor: Executor, stop: threading.Event
) -> Iterator[tuple[OldBug, ReplayOutcome]]:
    """Yield the outcome of each bug as it arrives, until `stop` is set.

    Args:
        executor: checks findings of a store.

    Raises:
        ExecutorError: the harness failed.
    """

    def one(old: OldBug) -> ReplayOutcome | None:
        if stop.is_set():
            return None
        outcome = replay(old.item, executor)
        if old.known is not None and outcome.status is ReplayStatus.PASSES:
            # According to its header the file passes here; according to its record it fails.
            return ReplayOutcome(outcome.item, ReplayStatus.FIXED, outcome.message)
        return outcome

    with ThreadPoolExecutor(executor.workers) as threads:
        futures = {threads.submit(one, each): each for each in todo}
        for future in as_completed(futures):
            if (outcome := future.result()) is not None:
                yield futures[future], outcome


def is_back(outcome: ReplayOutcome, before: str | None, version: str) -> bool:
    """Return whether it fails, was fixed, and did not fail in the previous night.

    Args:
        before: its status in the previous night; None: it was not run.
    """
    # Builds of a development version share their number, which says nothing about the previous one.
    if outcome.status in (ReplayStatus.FAILS, ReplayStatus.AS_EXPECTED):
        return before in FIXED
    entry = outcome.item.entry
    if entry is None:
        return False
    fixed = not entry.tvm.expects_failure(version)
    return outcome.status is ReplayStatus.CHANGED and fixed and before != ReplayStatus.CHANGED
