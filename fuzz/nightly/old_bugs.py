"""Old bugs are run again: corpus files, known bugs, and findings of another build of TVM."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from ...compat.release import same_build
from ...corpus.knowns import Known
from ..findings.known import Expected, is_certain
from ..findings.replay import Item, Outcome, Status, items, replay
from ..findings.store import Store
from ..process.executor import Executor

FIXED = frozenset({Status.FIXED, Status.GONE})
UNEXPECTED = frozenset({Status.CHANGED, Status.BROKEN})
"""Somebody has to look at it."""


@dataclass(frozen=True, slots=True)
class OldBug:
    """A bug to run again."""

    item: Item
    known: Known | None = None
    """The known bug whose reproducer it is."""

    @property
    def key(self) -> str:
        """The same in every night."""
        if self.known is not None:
            return known_key(self.known)
        return self.item.finding.id if self.item.finding else str(self.item.path)

    @property
    def name(self) -> str:
        """For messages."""
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

    Known bugs that are recorded to fail on exactly this TVM are left out, and findings of it
    unless the night before, on another build, saw them gone.

    Args:
        before: statuses of the night before, by key of an old bug.

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
        OldBug(Item(store.folder, finding))
        for finding in store.findings()
        if not same_build(finding.versions, versions) or before.get(finding.id) in FIXED
    )
    return [*by_path.values(), *others]


def replay_all(
    todo: Iterable[OldBug], executor: Executor, stop: threading.Event
) -> Iterator[tuple[OldBug, Outcome]]:
    """The outcome of each, as it comes, until `stop` is set.

    Args:
        executor: checks findings of a store.

    Raises:
        ExecutorError: the harness failed.
    """

    def one(old: OldBug) -> Outcome | None:
        if stop.is_set():
            return None
        outcome = replay(old.item, executor)
        if old.known is not None and outcome.status is Status.PASSES:
            # By its header the file passes here; by its record it fails.
            return Outcome(outcome.item, Status.FIXED, outcome.message)
        return outcome

    with ThreadPoolExecutor(executor.workers) as threads:
        futures = {threads.submit(one, each): each for each in todo}
        for future in as_completed(futures):
            if (outcome := future.result()) is not None:
                yield futures[future], outcome


def is_back(outcome: Outcome, before: str | None, version: str) -> bool:
    """It fails, was fixed, and did not fail in the night before.

    Args:
        before: its status in the night before; None: it was not run.
    """
    # Builds of a development version share its number, which claims nothing of the one before.
    if outcome.status in (Status.FAILS, Status.AS_EXPECTED):
        return before in FIXED
    entry = outcome.item.entry
    if entry is None:
        return False
    fixed = not entry.tvm.expects_failure(version)
    return outcome.status is Status.CHANGED and fixed and before != Status.CHANGED
