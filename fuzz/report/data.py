"""What every form of report tells: the bugs of a store, how each stands, what was done.

Only the store is read. No pass is run, and no module is loaded.
"""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import TypeVar

from ...corpus.knowns import Known
from ..findings.dedup import by_row
from ..findings.finding import Finding
from ..findings.known import Expected
from ..findings.rows import Row
from ..findings.runs import Run
from ..findings.store import Store
from ..process.targets import PassStats

T = TypeVar("T")


class State(enum.StrEnum):
    """How an entry stands, in the order in which entries are shown."""

    NEW = "new"  # the last run was the first to find it
    SEEN = "seen"  # a run before found it, too
    KNOWN = "known"  # it is expected of this TVM
    FIXED = "fixed"  # it was expected, or somebody judged so, and does not fail any more


@dataclass(frozen=True, slots=True)
class Evidence:
    """One finding of an entry."""

    finding: Finding
    why: str
    """Why it is the same bug as the others; empty for the one that came first."""
    reproducer: Path | None
    module: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One bug: a row of the store, or a known that runs met or saw fixed."""

    id: str
    """Of the row; of a known without a row, its name."""
    state: State
    title: str
    places: tuple[tuple[str, str], ...]
    """Who is blamed (a pass, an operator, the parser) by which oracle: that of the finding to show
    first, then the others. Those that it may have, for a known that was only counted."""
    evidence: tuple[Evidence, ...] = ()
    """The best to show first; none for a known that was only counted."""
    reports: int
    """In how many distinct ways it was reported; what several runs counted of a known that has no
    row is not told apart, so that it is the most of any run."""
    runs: tuple[int, ...] = ()
    """Those that told it, or met the known: their ids."""
    knowns: tuple[Known, ...] = ()
    """The knowns that it may be, the likeliest first."""
    verdict: str | None = None
    note: str | None = None

    @property
    def passes(self) -> tuple[str, ...]:
        """Who is blamed."""
        return _distinct(blamed for blamed, _ in self.places)

    @property
    def oracles(self) -> tuple[str, ...]:
        """Who says so."""
        return _distinct(oracle for _, oracle in self.places)

    @property
    def links(self) -> tuple[str, ...]:
        """Issues and pull requests of TVM about it."""
        return tuple(dict.fromkeys(link for known in self.knowns for link in known.upstream))

    @property
    def shown(self) -> Finding | None:
        """The finding that stands for all."""
        return self.evidence[0].finding if self.evidence else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """All that is told of a store."""

    folder: Path
    tvm: str
    """The version of TVM whose knowns are expected."""
    entries: tuple[Entry, ...]
    """By state, pass, oracle and title."""
    runs: Mapping[int, Run]
    """In the order in which they began; none in a store of an older version."""
    unconfirmed: int
    """Findings that did not come out again, or that only reduction met: not among the entries."""

    def of(self, *states: State) -> tuple[Entry, ...]:
        """The entries in these states."""
        return tuple(entry for entry in self.entries if entry.state in states)

    @property
    def last(self) -> Run | None:
        """The run that began last."""
        return list(self.runs.values())[-1] if self.runs else None

    @property
    def stats(self) -> dict[str, PassStats]:
        """What all runs did, by item of the schedule: a pass, "sequence", or a pipeline."""
        return {
            item: reduce(PassStats.__add__, (run.stats[item] for run in self._with(item)))
            for item in {item: None for run in self.runs.values() for item in run.stats}
        }

    @property
    def known_reports(self) -> Counter[str]:
        """By item of the schedule: its checks that ended in a known."""
        return Counter(
            {
                item: sum(run.known_reports.get(item, 0) for run in self._with(item))
                for item in self.stats
            }
        )

    def _with(self, item: str) -> list[Run]:
        return [run for run in self.runs.values() if item in run.stats]


def gather(store: Store, expected: Expected) -> Report:
    """Read a store.

    What no rule has looked at yet is an entry by itself.

    Args:
        expected: the knowns of the TVM that the report is about.

    Raises:
        UnknownFormat: a finding was written in another format version.
    """
    runs = store.runs.all()
    findings = {finding.id: finding for finding in store.findings()}
    rows = {row.id: row for row in store.rows.all()}
    entries = [
        _of_row(rows.get(id), id, members, store, runs, expected)
        for id, members in by_row(store, findings.values()).items()
    ]
    entries += _only_counted(runs, expected, {k.name for entry in entries for k in entry.knowns})
    order = list(State)
    entries.sort(key=lambda e: (order.index(e.state), e.passes, e.oracles, e.title, e.id))
    return Report(
        folder=store.folder,
        tvm=expected.version,
        entries=tuple(entries),
        runs=runs,
        unconfirmed=sum(1 for _ in store.findings(confirmed=False)),
    )


def _of_row(
    row: Row | None,
    id: str,
    findings: Sequence[Finding],
    store: Store,
    runs: Mapping[int, Run],
    expected: Expected,
) -> Entry:
    why = {} if row is None else {member.finding: member.why for member in row.members}
    knowns = Counter(known for finding in findings for known in expected.of(finding))
    likeliest = tuple(known for known, _ in knowns.most_common())
    ids = {finding.id for finding in findings}
    told = tuple(number for number, run in runs.items() if not ids.isdisjoint(run.found))
    verdict = None if row is None else row.verdict
    return Entry(
        id=id,
        state=_state(verdict, likeliest, told, runs),
        title=findings[0].title,
        places=_distinct((finding.pass_name, finding.oracle) for finding in findings),
        evidence=tuple(
            Evidence(each, why.get(each.id, ""), store.reproducer(each), store.module(each))
            for each in findings
        ),
        reports=len(findings),
        runs=told,
        knowns=likeliest,
        verdict=verdict,
        note=None if row is None else row.note,
    )


def _state(
    verdict: str | None, knowns: Sequence[Known], told: Sequence[int], runs: Mapping[int, Run]
) -> State:
    if verdict == "fixed" or (knowns and all(_is_fixed(known.name, runs) for known in knowns)):
        return State.FIXED
    if knowns:
        return State.KNOWN
    # Without a record of runs nothing says that anybody has seen it.
    first = told[0] if told else None
    return State.NEW if not runs or first == max(runs) else State.SEEN


def _is_fixed(name: str, runs: Mapping[int, Run]) -> bool:
    """The last run that speaks of the known says so."""
    for run in list(runs.values())[::-1]:
        if name in run.fixed or name in run.knowns:
            return name in run.fixed
    return False


def _only_counted(runs: Mapping[int, Run], expected: Expected, shown: set[str]) -> list[Entry]:
    """Knowns that runs tell of, and that no row of the store may be."""
    files = {known.name: known for known in expected.knowns}
    names = _distinct(name for run in runs.values() for name in (*run.knowns, *run.fixed))
    entries = []
    for name in names:
        if name in shown:
            continue
        known = files.get(name)
        seen = {number: run for number, run in runs.items() if name in (*run.knowns, *run.fixed)}
        entries.append(
            Entry(
                id=name,
                state=State.FIXED if _is_fixed(name, runs) else State.KNOWN,
                title=name if known is None else known.what,
                places=() if known is None else _distinct((f[1], f[0]) for f in known.keys),
                reports=max(run.knowns.get(name, 0) for run in seen.values()),
                runs=tuple(seen),
                knowns=() if known is None else (known,),
            )
        )
    return entries


def _distinct(things: Iterable[T]) -> tuple[T, ...]:
    return tuple(dict.fromkeys(things))
