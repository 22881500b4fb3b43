"""The contents of a report in any form: the bugs of a store, their states, the runs.

Only the store is read. No pass is run, and no module is loaded.
"""

from __future__ import annotations

import enum
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from ...compat.release import build_name, same_build
from ...corpus.grades import consequence
from ...corpus.knowns import Known
from ...corpus.reading import LONGEST_GENERATED, read_text
from ...oracles.grades.consequence import Consequence, Effect, Where
from ...oracles.grades.grade import Grade
from ..findings.dedup import by_row, gravest, similar_to
from ..findings.finding import Finding
from ..findings.known import Expected
from ..findings.rows import Row
from ..findings.runs import Run
from ..findings.store import Store
from ..output.terminal import counted, duration
from ..process.targets import PassStats
from ..reproducer.description import promised, without_own_frames
from .seen import NEVER, Seen, seen

T = TypeVar("T")


class EntryState(enum.StrEnum):
    """The states of entries, in the order in which entries are shown."""

    NEW = "new"  # first found by the last run
    SEEN = "seen"  # an earlier run found it, too
    KNOWN = "known"  # a known bug of this TVM
    FIXED = "fixed"  # it was seen not to fail any more, or has this verdict

    @property
    def label(self) -> str:
        """The state in words."""
        return "seen before" if self is EntryState.SEEN else str(self)


LEFT_OUT = "left out, which this TVM does not support"
"""Text after a number of operators, passes, oracles and so on."""

SETTLED = ("false", "wontfix")
"""Verdicts after which no fix is expected."""


@dataclass(frozen=True, slots=True)
class EntryFinding:
    """One finding of an entry."""

    finding: Finding
    why: str
    """Reason why it is the same bug as the others; empty for the first one."""
    reproducer: Path | None


_NOTHING = Consequence(Effect.NOTHING, Where.ALONE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One bug: a row of the store, or a known bug that runs met or saw fixed."""

    id: str
    """Id of the row; for a known bug without a row, its name."""
    state: EntryState
    title: str
    places: tuple[tuple[str, str], ...]
    """Pairs of blamed pass (or operator, parser) and oracle: first those of the shown finding, then
    the others. A known bug that was only counted has all its possible pairs."""
    evidence: tuple[EntryFinding, ...] = ()
    """The findings, the best one to show first; empty for a known bug that was only counted."""
    reports: int
    """The number of distinct reports. For a known bug without a row, reports of different runs
    cannot be told apart, so this is the maximum over the runs."""
    runs: tuple[int, ...] = ()
    """The ids of the runs that reported it, or met the known bug."""
    knowns: tuple[Known, ...] = ()
    """The known bugs that it may be, the likeliest first."""
    verdict: str | None = None
    note: str | None = None
    seen: Seen = NEVER

    @property
    def weight(self) -> Consequence:
        """The gravest consequence of its findings; if there are none, that of the known bug."""
        if self.findings:
            return gravest(self.findings).weight
        found = map(consequence, self.knowns)
        return min(found, key=lambda each: each.rank, default=_NOTHING)

    @property
    def grade(self) -> Grade:
        """The grade of its consequence."""
        return self.weight.grade

    @property
    def effect(self) -> str:
        """Its consequence in a few words."""
        return gravest(self.findings).effect if self.findings else str(self.weight)

    @property
    def passes(self) -> tuple[str, ...]:
        """The blamed passes, operators and parsers."""
        return _distinct(blamed for blamed, _ in self.places)

    @property
    def labels(self) -> tuple[str, ...]:
        """The blamed passes, operators and parsers, with a mark on passes without a contract."""
        labels = {finding.pass_name: finding.label for finding in self.findings}
        return tuple(labels.get(name, name) for name in self.passes)

    @property
    def oracles(self) -> tuple[str, ...]:
        """The oracles that report it."""
        return _distinct(oracle for _, oracle in self.places)

    @property
    def links(self) -> tuple[str, ...]:
        """Issues and pull requests of TVM about it."""
        return _distinct(link for known in self.knowns for link in known.upstream)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The findings, the one to show first."""
        return tuple(each.finding for each in self.evidence)

    @property
    def finding(self) -> Finding | None:
        """The finding that is displayed."""
        return self.evidence[0].finding if self.evidence else None

    @property
    def status(self) -> str:
        """The verdict, the known bug, the build on which it was gone, or that it is new or back."""
        if self.verdict == "fixed" and self.state is not EntryState.FIXED:
            return "back"
        if self.verdict is not None:
            return self.verdict
        if self.seen.gone_on is not None:
            return f"gone: {self.seen.gone_on}"
        if self.knowns:
            return f"known: {self.knowns[0].name}"
        if self.seen.is_back:
            return "back"
        return f"similar to {self.similar.partition(' ')[0]}" if self.similar else "new"

    @property
    def similar(self) -> str:
        """The known bug that it is similar to, and the difference between them; or empty."""
        return similar_to(self.findings)

    @property
    def is_open(self) -> bool:
        """True if it needs attention."""
        return self.state in (EntryState.NEW, EntryState.SEEN) and self.verdict not in SETTLED

    @property
    def closed_because(self) -> str:
        """Reason why it is not open: the known bug, or the verdict and note."""
        if self.state in (EntryState.NEW, EntryState.SEEN):
            return f"{self.verdict}: {self.note}" if self.note else self.verdict or ""
        parts = [known.what for known in self.knowns[:1]]
        return ", ".join([*parts, *self.links]) or "known"

    def reproducer_text(self) -> str:
        """The reproducer of the displayed finding; empty if there is none."""
        path = self.evidence[0].reproducer if self.evidence else None
        try:
            return "" if path is None else read_text(path, LONGEST_GENERATED, errors="replace")
        except OSError:  # moved away meanwhile
            return ""


def expected(finding: Finding) -> str:
    """The promise that was broken, and its source."""
    promise, source = promised(finding)
    return f"{promise} ({source})"


def detail(finding: Finding) -> str:
    """The oracle's description of the failure."""
    return "\n".join(without_own_frames(finding.detail.strip().split("\n")))


def compared(finding: Finding) -> str:
    """The difference that the oracle saw, or the module if there is none."""
    if finding.exhibit is None:
        return finding.source or finding.module
    return finding.exhibit.story


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The contents of a store."""

    folder: Path
    tvm: str
    """The version of TVM whose known bugs are expected."""
    entries: tuple[Entry, ...]
    """The entries, sorted by state, grade, pass, oracle and title."""
    runs: Mapping[int, Run]
    """Runs in the order in which they began; empty in a store of an older version."""
    unconfirmed: int
    """The number of unconfirmed findings, which are not among the entries."""

    def of(self, *states: EntryState) -> tuple[Entry, ...]:
        """The entries in these states."""
        return tuple(entry for entry in self.entries if entry.state in states)

    @property
    def counts(self) -> dict[EntryState, int]:
        """The number of entries by state."""
        return {state: len(self.of(state)) for state in EntryState}

    def replay(self, finding: Finding) -> str:
        """The command that checks a finding again."""
        return f"relaxfuzz replay {shlex.quote(f'{self.folder}/{finding.id}')}"

    @property
    def failed_steps(self) -> int:
        """The number of failed steps in the triage of these bugs."""
        return sum(len(each.faults) for entry in self.entries for each in entry.findings)

    def summary(self) -> str:
        """The numbers of bugs, and the work of the runs."""
        bugs = ", ".join(f"{number} {state.label}" for state, number in self.counts.items())
        parts = [f"Bugs: {bugs}."]
        if (run := self.last) is not None:
            seed = "" if run.seed is None else f", seed {run.seed}"
            parts.append(
                f"The last run ({run.command}{seed}): {counted(run.checks, 'check')} of "
                f"{counted(len(run.passes), 'target')} on {counted(run.modules, 'module')} in "
                f"{duration(run.seconds)}{'' if run.finished else ', not finished'}."
            )
            if len(self.runs) > 1:
                checks = sum(each.checks for each in self.runs.values())
                parts.append(f"All {len(self.runs)} runs: {counted(checks, 'check')}.")
            if run.faults:
                parts.append(f"{counted(len(run.faults), 'fault')} of relaxfuzz itself.")
            if failed := self.failed_steps:
                steps = counted(failed, "step")
                parts.append(f"relaxfuzz itself failed at {steps} of the triage of these bugs.")
            folder = f" in {run.tvm_folder}" if run.tvm_folder else ""
            parts.append(f"{build_name(run.versions)}{folder}.")
            if run.lacking:
                parts.append(f"{len(run.lacking)} {LEFT_OUT}.")
            parts += run.unchanged
            parts.append(self.change_of_build())
        return " ".join(filter(None, parts))

    def change_of_build(self) -> str:
        """The numbers of new and gone bugs since another build of TVM; empty if there was none."""
        before = self.last_of_other_build
        if before is None:
            return ""
        build = build_name(self.runs[before].versions)
        return f"Since {build}: {len(self.new_on_build)} new, {len(self.gone_on_build)} gone."

    @property
    def last(self) -> Run | None:
        """The run that began last."""
        return list(self.runs.values())[-1] if self.runs else None

    @property
    def last_of_other_build(self) -> int | None:
        """The last run on a build of TVM other than the last run's; None if there is none."""
        last = self.last
        others = [
            number
            for number, run in self.runs.items()
            if last is not None and not same_build(run.versions, last.versions)
        ]
        return others[-1] if others else None

    @property
    def new_on_build(self) -> tuple[Entry, ...]:
        """The open bugs that no run on another build reported; empty without such a run."""
        before = self.last_of_other_build
        return tuple(
            entry
            for entry in self.entries
            if before is not None and entry.is_open and entry.runs and min(entry.runs) > before
        )

    @property
    def gone_on_build(self) -> tuple[Entry, ...]:
        """The bugs that failed on the previous build but no longer fail on this one."""
        before = self.last_of_other_build or 0
        runs = {number: run for number, run in self.runs.items() if number <= before}
        return tuple(
            entry
            for entry in self.of(EntryState.FIXED)
            if not runs.keys().isdisjoint(entry.runs)
            and _state_of(entry, runs) is not EntryState.FIXED
        )

    @property
    def stats(self) -> dict[str, PassStats]:
        """The work of all runs by item of the schedule: a pass, "sequence", or a pipeline."""
        total: dict[str, PassStats] = {}
        for run in self.runs.values():
            for item, stats in run.stats.items():
                total[item] = total.get(item, PassStats()) + stats
        return total

    @property
    def lines(self) -> dict[str, tuple[int, ...]]:
        """The lines of Python files that passes have run, see `oracles.lines`."""
        total: dict[str, set[int]] = {}
        for run in self.runs.values():
            for name, ran in run.lines.items():
                total.setdefault(name, set()).update(ran)
        return {name: tuple(ran) for name, ran in total.items()}

    @property
    def known_reports(self) -> Counter[str]:
        """Number of checks that ended in a known bug, by item of the schedule."""
        return sum((Counter(run.known_reports) for run in self.runs.values()), Counter())


def gather(store: Store, expected: Expected) -> Report:
    """Read a store.

    A finding not yet assigned to a row by any rule is a separate entry.

    Args:
        expected: the known bugs of the TVM that the report is about.

    Raises:
        UnknownFormat: a finding was written in another format version.
    """
    runs = store.runs.all()
    entries = entries_of_rows(store, expected, runs)
    entries += _only_counted(runs, expected, {k.name for entry in entries for k in entry.knowns})
    order = list(EntryState)
    entries.sort(
        key=lambda e: (
            *(order.index(e.state), bool(e.similar), e.weight.rank),
            *(e.passes, e.oracles, e.title, e.id),
        )
    )
    return Report(
        folder=store.folder,
        tvm=expected.version,
        entries=tuple(entries),
        runs=runs,
        unconfirmed=sum(1 for _ in store.findings(confirmed=False)),
    )


def entries_of_rows(store: Store, expected: Expected, runs: Mapping[int, Run] = {}) -> list[Entry]:
    """The rows of a store, in the order in which they were made.

    Args:
        runs: the runs, which add their knowledge of bugs.
    """
    rows = {row.id: row for row in store.rows.all()}
    grouped = by_row(store, store.findings())
    return [
        entry_of(grouped[id], store, expected, row=rows.get(id), runs=runs)
        for id in dict.fromkeys([*rows, *grouped])
        if id in grouped
    ]


def entry_of(
    findings: Sequence[Finding],
    store: Store,
    expected: Expected,
    *,
    row: Row | None = None,
    runs: Mapping[int, Run] = {},
) -> Entry:
    """Findings of one bug as an entry; the best finding to show comes first."""
    why = {} if row is None else {member.finding: member.why for member in row.members}
    knowns = Counter(known for finding in findings for known in expected.of(finding))
    likeliest = tuple(known for known, _ in knowns.most_common())
    ids = {finding.id for finding in findings}
    made = Entry(
        id=store.rows.of(findings[0].id) or findings[0].id if row is None else row.id,
        state=EntryState.NEW,
        title=findings[0].title,
        places=_distinct((finding.pass_name, finding.oracle) for finding in findings),
        evidence=tuple(
            EntryFinding(each, why.get(each.id, ""), store.reproducer(each)) for each in findings
        ),
        reports=len(findings),
        runs=tuple(number for number, run in runs.items() if not ids.isdisjoint(run.found)),
        knowns=likeliest,
        verdict=None if row is None else row.verdict,
        note=None if row is None else row.note,
        seen=_seen(findings, ids, runs),
    )
    return replace(made, state=_state_of(made, runs))


def _seen(findings: Sequence[Finding], ids: Set[str], runs: Mapping[int, Run]) -> Seen:
    """The times known from the runs; if there are none, the builds of the findings."""
    known = seen(ids, runs)
    builds = (build_name(finding.versions) for finding in findings)
    return known if known.builds else replace(known, builds=_distinct(builds))


def _state_of(entry: Entry, runs: Mapping[int, Run]) -> EntryState:
    """The state after these runs."""
    known = seen({finding.id for finding in entry.findings}, runs)
    # A bug with the verdict "fixed" that was gone and fails again is not fixed.
    if known.gone_on is not None or (entry.verdict == "fixed" and not known.is_back):
        return EntryState.FIXED
    since = [_fixed_since(known.name, runs) for known in entry.knowns]
    reported = [number for number in entry.runs if number in runs]
    fixed = [number for number in since if number is not None]
    if len(fixed) < len(since):
        return EntryState.KNOWN
    if fixed and (not reported or max(reported) < min(fixed)):
        return EntryState.FIXED
    # A finding with the key of a bug that is fixed on this build is another bug. Without a record
    # of runs every bug is new.
    first = reported[0] if reported else None
    return EntryState.NEW if not runs or first == max(runs) else EntryState.SEEN


def _fixed_since(name: str, runs: Mapping[int, Run]) -> int | None:
    """The run since which every run that met or verified the known bug found it fixed."""
    since: int | None = None
    for number, run in runs.items():
        if name in run.knowns:
            since = None
        elif name in run.fixed and since is None:
            since = number
    return since


def _only_counted(runs: Mapping[int, Run], expected: Expected, shown: set[str]) -> list[Entry]:
    """Known bugs that runs met or saw fixed and that have no row in the store."""
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
                state=EntryState.KNOWN if _fixed_since(name, runs) is None else EntryState.FIXED,
                title=name if known is None else known.what,
                places=() if known is None else _distinct((r[1], r[0]) for r in known.reports),
                reports=max(run.knowns.get(name, 0) for run in seen.values()),
                runs=tuple(seen),
                knowns=() if known is None else (known,),
            )
        )
    return entries


def _distinct(things: Iterable[T]) -> tuple[T, ...]:
    return tuple(dict.fromkeys(things))
