"""The beginning and the end of a session that fuzzes: find the passes, sum up the items."""

from __future__ import annotations

import contextlib
import dataclasses
import tempfile
import time
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path

import pytest

from ...compat import availability
from ...compat.release import TVMUnsupported, require_tvm, versions
from ..campaign.triage import Triage
from ..findings.finding import Finding
from ..findings.known import Choice
from ..findings.runs import Run, Sample
from ..findings.store import Store
from ..output.readable import short_path
from ..output.terminal import counted
from ..process.executor import ExecutorError
from ..process.local_pool import LocalPool
from ..process.serialize import plain, typed
from ..process.targets import PassStats, Target
from ..session.unchanged import unchanged
from ..system.scratch import scratch
from ..user_input.errors import UserError
from ..user_input.options import Relaxations
from ..user_input.targets import by_spelling
from . import results
from .items import GATHERED, Gathered, item_id
from .options import SETTINGS, Settings
from .plan import PLAN, Plan
from .results import Claim, Claims, ItemResult

TITLE = "relaxfuzz"

RECOVERY_SECONDS, MOST_RECOVERY_SECONDS = 10.0, 60.0
"""For reducing what a killed process had found, and for all of it."""


def prepare(config: pytest.Config, passes: Collection[str] | None = None) -> None:
    """Find the passes, open the store and begin a run.

    Args:
        passes: only these; None: all of the plan.

    Raises:
        pytest.UsageError: there is no such pass, its promises do not apply, or the folder cannot
            serve as a store.
    """
    chosen, settings = config.stash.get(PLAN, None), config.stash[SETTINGS]
    if chosen is None or config.getoption("collectonly"):
        return
    named = [each for each in chosen.passes if passes is None or each in passes]
    try:
        require_tvm()
        available = availability.current()
        targets = by_spelling(tuple(named), Relaxations(), settings.promises)
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
        claims=tempfile.mkdtemp(prefix="claims-", dir=scratch()),
        run=id,
    )


@dataclass(frozen=True, slots=True)
class Line:
    """What the items of one pass did."""

    spelling: str
    modules: int
    stats: PassStats
    bugs: int
    knowns: int
    """Distinct known bugs."""
    stopped: tuple[str, ...] = ()
    """Ids of items that began and did not finish, though their process lived."""
    pending: int = 0
    """Findings that are not confirmed yet."""
    unchanged: str = ""
    """Of a pass of the user's that changed nothing, what it looks for."""

    @property
    def cells(self) -> tuple[str, ...]:
        """Of the table."""
        return (
            self.spelling,
            str(self.modules),
            str(self.stats.checks),
            _share(self.stats.checks, self.stats.checks + self.stats.inapplicable),
            _share(self.stats.changed, self.stats.checks),
            str(self.bugs),
            str(self.knowns),
        )


HEAD = ("pass", "modules", "checks", "applied", "changed", "findings", "known")


SUMMARY = pytest.StashKey[tuple[list[Line], Mapping[str, list[str]]]]()
"""The section at the end; and by item whose process was killed: what it had not reported."""


def finish(config: pytest.Config) -> None:
    """Sum up what the items did, and recover what killed processes had found."""
    plan, settings = config.stash[PLAN], config.stash[SETTINGS]
    if plan.run is None:
        return
    gathered, claims = config.stash[GATHERED], Claims(Path(plan.claims))
    done: dict[str, ItemResult] = {
        id: typed(data, ItemResult) for id, data in gathered.results.items()
    }
    with Store(settings.out) as store:
        recovered = _recover(gathered, plan, settings, store, claims)
        run = store.runs.all()[plan.run]
        by_end = sorted(done.values(), key=lambda result: result.ended)
        store.runs.save(plan.run, _completed(run, plan, by_end, claims.all()))
        pending = Counter(finding.pass_name for finding in store.pending())
    lines = []
    for spelling in plan.passes:
        ids = [item_id(shard) for shard in plan.all_shards() if shard.spelling == spelling]
        begun = [id for id in ids if id in gathered.begun]
        if not begun:
            continue
        mine = [done[id] for id in begun if id in done]
        stats = reduce(PassStats.__add__, (each.stats for each in mine), PassStats())
        target = typed(plan.targets[spelling], Target)
        idle = next(unchanged([target], {target.label: stats}), None)
        alive = [id for id in begun if id not in gathered.killed]
        lines.append(
            Line(
                spelling,
                modules=sum(each.modules for each in mine),
                stats=stats,
                bugs=len({claim.row for claim in claims.all() if claim.spelling == spelling}),
                knowns=len({name for each in mine for name in each.knowns}),
                stopped=tuple(id for id in alive if id not in done or not done[id].finished),
                pending=pending[target.name],
                unchanged="" if idle is None else idle.sentence,
            )
        )
    config.stash[SUMMARY] = lines, recovered


def _recover(
    gathered: Gathered, plan: Plan, settings: Settings, store: Store, claims: Claims
) -> dict[str, list[str]]:
    """Confirm and reduce what is pending of the passes whose items were killed; what to print."""
    shards = {item_id(shard): shard for shard in plan.all_shards()}
    killed = [id for id in gathered.killed if id in shards]
    texts: dict[str, list[str]] = {id: [] for id in killed}
    names = {typed(plan.targets[shards[id].spelling], Target).name: id for id in killed}
    if not any(finding.pass_name in names for finding in store.pending()):
        return texts

    def publish(finding: Finding) -> None:
        item, row = names[finding.pass_name], store.rows.of(finding.id) or finding.id
        claim = Claim(f"{item} (killed)", shards[item].spelling, row, finding.id)
        if claims.claim(claim).finding == finding.id:  # or its item claimed it, and was killed
            texts[item].append(results.text(finding, store, claim, claims, settings.seeds))

    end = time.monotonic() + MOST_RECOVERY_SECONDS

    def tick() -> None:
        if time.monotonic() > end:
            raise TimeoutError

    # What is not confirmed then stays pending in the store.
    with contextlib.suppress(ExecutorError, TimeoutError), LocalPool(1) as pool:
        expected = Choice(folders=settings.known).load(versions()["tvm"])
        triage = Triage(store, pool, publish, expected=expected)
        triage.take_up(names)
        triage.drain(RECOVERY_SECONDS, tick)
    return texts


def print_summary(config: pytest.Config, terminal: pytest.TerminalReporter) -> None:
    """Print the section at the end."""
    lines, recovered = config.stash.get(SUMMARY, ([], {}))
    if not lines:
        return
    settings, plan = config.stash[SETTINGS], config.stash[PLAN]
    terminal.write_sep("=", TITLE)
    for item, texts in recovered.items():
        more = f"it had found {counted(len(texts), 'bug')} that it had not reported"
        terminal.write_line(f"The process of {item} died: {more}", red=True)
        for text in texts:
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
    if sentence := availability.current().sentence():
        terminal.write_line(f"warning: {sentence}", yellow=True)
    where = short_path(settings.out)
    terminal.write_line(f"TVM {versions()['tvm']}, seed {plan.seed}, store {where}")


def warnings_of(line: Line) -> list[str]:
    """What was not tested."""
    found = []
    if line.modules and not line.stats.checks:
        found.append(
            f"{line.spelling} did not apply to any of {counted(line.modules, 'module')}: "
            "nothing was tested"
        )
    elif line.stats.checks and not line.stats.changed:
        found.append(f"{line.spelling} changed none of the modules: little was tested")
        found += [line.unchanged] if line.unchanged else []
    found += [f"{item} was stopped before its time" for item in line.stopped]
    if line.pending:
        findings = counted(line.pending, "finding")
        found.append(f"{line.spelling}: {findings} left for the next session to confirm")
    return found


def _completed(run: Run, plan: Plan, done: Sequence[ItemResult], claimed: Sequence[Claim]) -> Run:
    stats: dict[str, PassStats] = {}
    known_reports: Counter[str] = Counter()
    knowns: Counter[str] = Counter()
    samples: list[Sample] = []
    found = Counter(claim.spelling for claim in claimed)
    for each in done:
        label = typed(plan.targets[each.spelling], Target).label
        stats[label] = stats.get(label, PassStats()) + each.stats
        known_reports[label] += each.known_reports
        knowns.update(each.knowns)
        last = samples[-1] if samples else Sample(0.0, 0, 0, 0)
        samples.append(
            Sample(
                each.ended - run.started,
                last.modules + each.modules,
                last.checks + each.stats.checks,
                last.findings + found.pop(each.spelling, 0),
            )
        )
    return dataclasses.replace(
        run,
        seconds=time.time() - run.started,
        modules=sum(each.modules for each in done),
        checks=sum(each.stats.checks for each in done),
        stats=stats,
        known_reports=dict(known_reports),
        knowns=dict(knowns),
        found=tuple(dict.fromkeys(claim.finding for claim in claimed)),
        samples=tuple(samples),
        faults=tuple(fault for each in done for fault in each.faults),
        finished=True,
    )


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.0%}" if whole else "-"
