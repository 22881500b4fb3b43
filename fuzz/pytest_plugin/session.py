"""The start and the end of a session that fuzzes: find the passes, sum up the items."""

from __future__ import annotations

import dataclasses
import time
from collections import Counter
from collections.abc import Collection, Sequence

import pytest

from ...compat import availability
from ...compat.release import TVMUnsupported, require_tvm, versions
from ..findings.runs import Run
from ..findings.store import Store
from ..loading.targets import by_spelling, family_named
from ..output.readable import short_path
from ..output.terminal import counted
from ..process.targets import Target
from ..session.chosen import campaign_of, environment_of, skip_survey, timeout_of
from ..session.unchanged import unchanged
from ..system.errors import UserError
from ..system.serialize import plain, typed
from .items import GATHERED, item_id
from .options import CHOSEN
from .plan import PLAN, SessionPlan
from .results import ItemResult

TITLE = "relaxfuzz"


def prepare(config: pytest.Config, passes: Collection[str] | None = None) -> None:
    """Find the passes, open the store and begin a run.

    Args:
        passes: restricts this to these passes; None: all of the plan.

    Raises:
        pytest.UsageError: there is no such pass, its promises do not apply, or the folder cannot
            serve as a store.
    """
    chosen, settings = config.stash.get(PLAN, None), config.stash[CHOSEN]
    if chosen is None or config.getoption("collectonly"):
        return
    named = [each for each in chosen.passes if passes is None or each in passes]
    try:
        require_tvm()
        skip_survey(settings)
        available = availability.current()
        family = family_named(settings.family)
        targets = by_spelling(named, settings.relaxations, settings.promises, family)
        campaign_of(settings, tuple(targets.values()))
        environment_of(settings)
        timeout_of(settings)
        run = Run(
            command="pytest",
            started=time.time(),
            seed=chosen.seed,
            workers=chosen.workers,
            versions=versions(),
            passes=tuple(target.label for target in targets.values()),
            lacking=tuple(available.lines()),
        )
        with Store(settings.out) as store:
            id = store.runs.begin(run)
    except (UserError, TVMUnsupported) as error:
        raise pytest.UsageError(f"relaxfuzz: {error}") from None
    config.stash[PLAN] = dataclasses.replace(
        chosen,
        targets={spelling: plain(target) for spelling, target in targets.items()},
        run=id,
    )


HEAD = ("pass", "modules", "checks", "applied", "changed", "findings", "known")


SUMMARY = pytest.StashKey[list[ItemResult]]()
"""The results in the section at the end, with pending findings and unchanged passes."""


def finish(config: pytest.Config) -> bool:
    """Sum up the work of the items; return false if they compared nothing."""
    plan, settings, gathered = config.stash[PLAN], config.stash[CHOSEN], config.stash[GATHERED]
    if plan.run is None:
        return True
    results = [typed(data, ItemResult) for data in gathered.results.values()]
    done: dict[str, ItemResult] = {each.spelling: each for each in results}
    with Store(settings.out) as store:
        run = store.runs.all()[plan.run]
        store.runs.save(plan.run, _completed(run, plan, list(done.values())))
        pending = Counter(finding.pass_name for finding in store.pending())
    config.stash[SUMMARY] = lines = []
    for spelling in plan.passes:
        if item_id(spelling) in gathered.begun:
            mine = done.get(spelling, ItemResult(spelling=spelling))
            target = typed(plan.targets[spelling], Target)
            idle = next(unchanged([target], {target.label: mine.stats}), None)
            why = "" if idle is None else idle.sentence
            lines.append(dataclasses.replace(mine, pending=pending[target.name], unchanged=why))
    return not lines or any(map(_says_something, lines))


def _says_something(line: ItemResult) -> bool:
    return bool(line.stats.compared or line.known_reports or line.found)


def print_summary(config: pytest.Config, terminal: pytest.TerminalReporter) -> None:
    """Print the section at the end."""
    lines = config.stash.get(SUMMARY, [])
    if not lines:
        return
    terminal.write_sep("=", TITLE)
    rows = [HEAD, *map(_cells, lines)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for number, (name, *rest) in enumerate(rows):
        cells = (cell.rjust(width) for cell, width in zip(rest, widths[1:], strict=True))
        found = number and lines[number - 1].found
        text = "  ".join([name.ljust(widths[0]), *cells])
        terminal.write_line(text, bold=number == 0, red=bool(found))
    warnings = [warning for line in lines for warning in warnings_of(line)]
    for warning in filter(None, (*warnings, availability.current().sentence())):
        terminal.write_line(f"warning: {warning}", yellow=True)
    if not any(map(_says_something, lines)):
        terminal.write_line("nothing was compared: this says nothing of the passes", yellow=True)
    where, seed = short_path(config.stash[CHOSEN].out), config.stash[PLAN].seed
    terminal.write_line(f"TVM {versions()['tvm']}, seed {seed}, store {where}")


def _cells(line: ItemResult) -> tuple[str, ...]:
    stats = line.stats
    applied = _share(stats.checks, stats.checks + stats.inapplicable)
    changed = _share(stats.changed, stats.checks)
    numbers = (line.modules, stats.checks, applied, changed, len(line.found), len(line.knowns))
    return (line.spelling, *map(str, numbers))


def warnings_of(line: ItemResult) -> list[str]:
    """Warnings about things that were not tested."""
    found = []
    if line.modules and not line.stats.checks:
        found.append(
            f"{line.spelling} did not apply to any of {counted(line.modules, 'module')}: "
            "nothing was tested"
        )
    elif line.stats.checks and not line.stats.changed:
        found.append(f"{line.spelling} changed none of the modules: little was tested")
        found += [line.unchanged] if line.unchanged else []
    if not line.finished:
        found.append(f"{item_id(line.spelling)} was stopped before its time")
    if line.pending:
        findings = counted(line.pending, "finding")
        found.append(f"{line.spelling}: {findings} left for the next session to confirm")
    return found


def _completed(run: Run, plan: SessionPlan, done: Sequence[ItemResult]) -> Run:
    labels = {name: typed(target, Target).label for name, target in plan.targets.items()}
    knowns: Counter[str] = Counter()
    for each in done:
        knowns.update(each.knowns)
    return dataclasses.replace(
        run,
        seconds=time.time() - run.started,
        modules=sum(each.modules for each in done),
        checks=sum(each.stats.checks for each in done),
        stats={labels[each.spelling]: each.stats for each in done},
        known_reports={labels[each.spelling]: each.known_reports for each in done},
        knowns=dict(knowns),
        found=tuple(dict.fromkeys(id for each in done for id in each.found)),
        faults=tuple(fault for each in done for fault in each.faults),
        finished=True,
    )


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.0%}" if whole else "-"
