"""The end of a session that fuzzes: its items put together, written down and told."""

from __future__ import annotations

import dataclasses
import time
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import pytest

from ...generators.tvm_api import versions
from ..findings.runs import Run, Sample
from ..findings.store import Store
from ..output.terminal import counted
from ..process.targets import PassStats, Target
from .failure import near
from .options import SETTINGS
from .parts import Part, Parts
from .rescue import LOST, Rescued, rescue
from .session import PLAN, Plan

TITLE = "relaxfuzz"


def begin(config: pytest.Config, plan: Plan, targets: Mapping[str, Target]) -> int:
    """Enter the session among the runs of the store; its id.

    Raises:
        Mistake: the folder cannot serve as a store.
    """
    settings = config.stash[SETTINGS]
    run = Run(
        command="pytest",
        started=time.time(),
        seed=plan.seed,
        workers=plan.workers,
        versions=versions(),
        passes=tuple(target.label for target in targets.values()),
    )
    with Store(settings.out) as store:
        Parts.sweep(settings.out)
        return store.runs.begin(run)


@dataclass(frozen=True, slots=True)
class Line:
    """What the items of one pass did."""

    spelling: str
    modules: int
    stats: PassStats
    bugs: int
    knowns: int
    """Distinct root causes that are known."""
    cut: tuple[Part, ...]
    """Items that began and did not end, though their process lived."""

    @property
    def cells(self) -> tuple[str, ...]:
        """Of the table."""
        asked = self.stats.checks + self.stats.inapplicable
        return (
            self.spelling,
            str(self.modules),
            str(self.stats.checks),
            _share(self.stats.checks, asked),
            _share(self.stats.changed, self.stats.checks),
            str(self.bugs),
            str(self.knowns),
        )


HEAD = ("pass", "modules", "checks", "applied", "changed", "findings", "known")


def finish(config: pytest.Config) -> None:
    """Put together what the items wrote down."""
    plan, settings = config.stash[PLAN], config.stash[SETTINGS]
    if plan.run is None:
        return
    parts = Parts(settings.out, plan.session)
    items = config.stash.get(LOST, [])
    with Store(settings.out) as store:
        done = parts.read()
        rescued = rescue([part for part in done if part.item in items], parts, store)
        done = [part for part in done if part.item not in items] + [r.part for r in rescued]
        run = store.runs.all()[plan.run]
        store.runs.save(plan.run, _put_together(run, plan, done))
        lines = [
            _line(spelling, [part for part in done if part.spelling == spelling], items, store)
            for spelling in plan.passes
            if any(part.spelling == spelling for part in done)
        ]
    parts.remove()
    config.stash[SUMMARY] = Summary(lines, rescued)


@dataclass(frozen=True, slots=True)
class Summary:
    """What the section at the end tells."""

    lines: list[Line]
    rescued: list[Rescued]


SUMMARY = pytest.StashKey[Summary]()


def tell(config: pytest.Config, terminal: pytest.TerminalReporter) -> None:
    """The section at the end."""
    summary = config.stash.get(SUMMARY, None)
    if summary is None or not summary.lines:
        return
    lines = summary.lines
    settings, plan = config.stash[SETTINGS], config.stash[PLAN]
    terminal.write_sep("=", TITLE)
    for each in summary.rescued:
        more = f"it had found {counted(len(each.texts), 'bug')} that it had not told"
        terminal.write_line(f"The process of {each.part.item} died: {more}", red=True)
        for text in each.texts:
            terminal.write_line(f"\n{text}\n")
    rows = [HEAD, *(line.cells for line in lines)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for number, row in enumerate(rows):
        first, *rest = zip(row, widths, strict=True)
        text = "  ".join([first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in rest)])
        found = number and lines[number - 1].bugs
        terminal.write_line(text, bold=number == 0, red=bool(found))
    for line in lines:
        for warning in warnings_of(line):
            terminal.write_line(f"warning: {warning}", yellow=True)
    terminal.write_line(f"TVM {versions()['tvm']}, seed {plan.seed}, store {near(settings.out)}")


def warnings_of(line: Line) -> list[str]:
    """What a user should know of what was not tested."""
    found = []
    if line.modules and not line.stats.checks:
        found.append(
            f"{line.spelling} did not apply to any of {counted(line.modules, 'module')}: "
            "nothing was tested"
        )
    elif line.stats.checks and not line.stats.changed:
        found.append(
            f"{line.spelling} changed none of the modules that it was given: little was tested"
        )
    for part in line.cut:
        waits = f"; {counted(len(part.waiting), 'finding')} for the next session to confirm"
        found.append(f"{part.item} was stopped before its time{waits if part.waiting else ''}")
    return found


def _line(spelling: str, parts: Sequence[Part], lost: Collection[str], store: Store) -> Line:
    found = {id: None for part in parts for id in part.found}
    return Line(
        spelling,
        sum(part.modules for part in parts),
        reduce(PassStats.__add__, (part.stats for part in parts)),
        len({store.rows.of(id) or id for id in found}),
        len({name for part in parts for name in part.knowns}),
        tuple(part for part in parts if not part.finished and part.item not in lost),
    )


def _put_together(run: Run, plan: Plan, parts: Sequence[Part]) -> Run:
    stats: dict[str, PassStats] = {}
    known_reports: Counter[str] = Counter()
    knowns: Counter[str] = Counter()
    samples: list[Sample] = []
    for part in parts:
        label = plan.target(part.spelling).label
        stats[label] = stats.get(label, PassStats()) + part.stats
        known_reports[label] += part.known_reports
        knowns.update(part.knowns)
        last = samples[-1] if samples else Sample(0.0, 0, 0, 0)
        samples.append(
            Sample(
                part.ended - run.started,
                last.modules + part.modules,
                last.checks + part.stats.checks,
                last.findings + len(part.found),
            )
        )
    return dataclasses.replace(
        run,
        seconds=time.time() - run.started,
        modules=sum(part.modules for part in parts),
        checks=sum(part.stats.checks for part in parts),
        stats=stats,
        known_reports=dict(known_reports),
        knowns=dict(knowns),
        found=tuple({id: None for part in parts for id in part.found}),
        samples=tuple(samples),
        faults=tuple(fault for part in parts for fault in part.faults),
        finished=True,
    )


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.0%}" if whole else "-"
