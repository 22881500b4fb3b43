"""Audits: reports with the key of a known bug are reduced, to see whether they are of that bug."""

from __future__ import annotations

import dataclasses
import heapq
import itertools
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial

from ...corpus.knowns import Known
from ..minimize.findings import Minimized
from ..minimize.parallel import State
from ..process.executor import Executor
from .confirm import again, take_evidence
from .finding import Finding
from .known import Expected
from .recognize import unlike

SECONDS = 3.0
SHARE = 0.05
"""What one audit takes of a worker, roughly, and what all may take of the workers' time so far; the
first ones of known bugs that are left may take as much again after a campaign."""

MOST_WAITING = 200
"""Each report waits with its module; most campaigns meet fewer. The first of each always wait."""

MOST_TURNS = 20
"""In so many the reduction of a first report may go on, behind the others."""

MOST_TRIES = 3
"""Where a report does not recur each time, the next of its known bug is a first one in its place;
so many are."""


@dataclass(frozen=True, slots=True, order=True)
class _Report:
    """One that waits, or is audited."""

    rank: int
    number: int
    finding: Finding = field(compare=False)
    firsts: tuple[str, ...] = field(compare=False)
    """The known bugs of which it is the first."""
    state: State | None = field(compare=False, default=None)
    """Where its reduction stands."""
    turns: int = field(compare=False, default=0)


class Audits:
    """Reports that wait for an audit, until there is time for one.

    The first of each known bug comes first; then the first at each other place of TVM, where
    another bug may raise the same; then the rest. Of equal ones the earliest comes first.
    """

    def __init__(self) -> None:
        self._waiting: list[_Report] = []
        self._given: dict[str, _Report] = {}
        """Those that are audited, by the id of the finding."""
        self._places: dict[str, set[str]] = {}
        """Where each known bug was reported, by its name."""
        self._open: set[str] = set()
        self._tries: Counter[str] = Counter()
        self._number = itertools.count()
        self._began = time.monotonic()
        self._taken = 0
        self._ended = False
        self._lock = threading.Lock()

    @property
    def unaudited(self) -> tuple[str, ...]:
        """The known bugs that were reported, and of which no report is audited yet."""
        with self._lock:
            return tuple(sorted(self._open))

    @property
    def running(self) -> int:
        """Reports that are being audited."""
        return len(self._given)

    @property
    def sure(self) -> int:
        """Reports that are audited, and the first of known bugs, which wait for it."""
        with self._lock:
            return len(self._given) + sum(bool(each.firsts) for each in self._waiting)

    def add(self, finding: Finding, knowns: Iterable[Known]) -> None:
        """Take a report that has the keys of known bugs.

        Args:
            finding: one that has not come before.
        """
        place = finding.violation.place
        with self._lock:
            before = {known.name: self._places.setdefault(known.name, set()) for known in knowns}
            firsts = tuple(name for name, places in before.items() if not places)
            new = any(place not in places for places in before.values())
            for places in before.values():
                places.add(place)
            self._open.update(firsts)
            if firsts or len(self._waiting) < MOST_WAITING:
                rank = 0 if firsts else 1 if new else 2
                self._push(_Report(rank, next(self._number), finding, firsts))

    def take(self, workers: int, put: Callable[[Finding, State | None], None]) -> None:
        """Give the next one away, if there is time for it; `done` or one of the others must follow.

        Args:
            put: gets the report, and where its reduction stands.
        """
        with self._lock:
            spent = (time.monotonic() - self._began) * workers
            if not self._waiting:
                return
            if self._ended or self._taken * SECONDS <= SHARE * spent:
                report = heapq.heappop(self._waiting)
                self._taken += 1
                self._given[report.finding.id] = report
                put(report.finding, report.state)

    def done(self, finding: Finding) -> None:
        """The audit said of a report whether it is one of its known bugs."""
        with self._lock:
            report = self._given.pop(finding.id, None)
            self._open.difference_update(() if report is None else report.firsts)

    def put_back(self, finding: Finding, smaller: Finding, state: State | None) -> None:
        """The time of one audit was too short: that of a first report goes on behind the others."""
        with self._lock:
            report = self._given.pop(finding.id, None)
            if report is not None and report.firsts and report.turns < MOST_TURNS:
                number, turns = next(self._number), report.turns + 1
                self._push(
                    dataclasses.replace(
                        report, number=number, finding=smaller, state=state, turns=turns
                    )
                )

    def failed(self, finding: Finding) -> None:
        """Nothing could be said of a report, e.g. since it does not recur."""
        with self._lock:
            report = self._given.pop(finding.id, None)
            for name in () if report is None else report.firsts:
                self._tries[name] += 1
                if self._tries[name] < MOST_TRIES:
                    self._places.pop(name, None)

    def only_firsts(self) -> float:
        """The campaign is over: of those that wait, only the first of known bugs are left.

        Returns:
            The seconds that they may take.
        """
        with self._lock:
            self._ended = True
            self._waiting = [each for each in self._waiting if each.firsts]
            heapq.heapify(self._waiting)
            return SHARE * (time.monotonic() - self._began)

    def clear(self) -> None:
        """Audit none of those that wait."""
        with self._lock:
            self._waiting.clear()

    def _push(self, report: _Report) -> None:
        heapq.heappush(self._waiting, report)


Minimize = Callable[[Finding, State | None], Minimized | None]
"""Reduces a finding from where its reduction stands; None where no time is left."""


class Auditor:
    """Audits the reports that `audits` gives."""

    def __init__(self, executor: Executor, expected: Expected, audits: Audits) -> None:
        self._executor = executor
        self._expected = expected
        self._audits = audits

    def audit(self, report: Finding, state: State | None, minimize: Minimize) -> Finding | None:
        """The report, reduced, where it has nothing of a known bug but the key; else None.

        Args:
            state: where its reduction stands.

        Raises:
            ExecutorError: the harness failed.
        """
        end = partial(self._audits.failed, report)
        try:
            begun = self._seen_again(report) if state is None else report
            result = None if begun is None else minimize(begun, state)
            if result is None:
                return None
            if result.finding.reduced:
                compared = self._compared(result.finding)
                end = partial(self._audits.done, report)
                return compared
            if not result.state.ended:
                end = partial(self._audits.put_back, report, result.finding, result.state)
            return None
        finally:
            end()

    def _seen_again(self, report: Finding) -> Finding | None:
        violation = again(self._executor, report, report.module)
        return None if violation is None else dataclasses.replace(report, violation=violation)

    def _compared(self, report: Finding) -> Finding | None:
        report = dataclasses.replace(report, evidence=take_evidence(self._executor, report))
        knowns = self._expected.of(report)
        names = unlike(self._executor, report, knowns, self._expected.knowns)
        report = dataclasses.replace(report, unlike=names)
        return report if names and not self._expected.of(report) else None
