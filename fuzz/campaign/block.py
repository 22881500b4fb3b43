"""The jobs that generate modules: a block of a campaign, and one of its modules again."""

from __future__ import annotations

import dataclasses
import functools
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, ClassVar, TypeAlias

import tvm
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from tvm import relax

from ...compat.serialization import load_json, save_json
from ...generators import stages
from ...generators.families import FAMILIES
from ...generators.seeds import Whole, recorded
from ...generators.stages import Stage
from ...oracles.acted import acted
from ...oracles.behaviour import behaviours, raising
from ...oracles.check import OF_PIPELINES, ORACLES, acts, hides, still_shows
from ...oracles.contract import PassContract
from ...oracles.ingredients import ingredients
from ...oracles.lines import LineRecorder, record
from ...oracles.oracle import Oracle
from ...oracles.pass_runs import PassRuns, digest, given, records_kept
from ...oracles.passcall import PassCall, folder_of
from ...oracles.silence.log import answers, counted
from ...oracles.tiers import compared
from ...oracles.violation import Case, Mark, Violation, mark_of, short_mark
from ..findings.finding import UnconfirmedFinding
from ..jobs.behind import Cut, Outcome, Suit, go_on
from ..jobs.draw import entropy, example
from ..jobs.jobs import checked, contract_of
from ..process.context import Context
from ..process.process_state import StateWatch
from ..process.protocol import Job
from ..process.targets import Origin, PassStats, Recipe, Target
from . import costs, schedule
from .schedule import ItemKind, ScheduleItem
from .sequences import Sequences, call_of


@dataclass(frozen=True, slots=True)
class _Effect:
    """The effect of a pass on the module of one check."""

    changed: bool = False
    acted: bool = False
    """The pass did its actual work, see `acted`."""
    did: Collection[str] = ()
    """The behaviours of the pass; see `behaviours`."""


@dataclass(frozen=True, slots=True)
class StageDone:
    """A module of the block has been checked at one stage."""

    index: int
    stage: Stage
    stats: Mapping[str, PassStats]
    """Counts by item of the schedule; checks by a dead process are counted, but not timed."""

    @property
    def checks(self) -> int:
        """The number of checks of all items."""
        return sum(stats.checks for stats in self.stats.values())


@dataclass(frozen=True, slots=True)
class ModuleDone:
    """The block has finished one module."""

    index: int
    lines: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Lines of Python files that passes ran on it and on no earlier module of the block; see
    `LineRecorder`."""


@dataclass(frozen=True, slots=True)
class WentOn:
    """A check continues past a violation; see `jobs.behind`."""

    index: int
    stage: Stage
    ordinal: int
    item: str
    module: str
    """The module that is checked now, as TVM JSON."""
    mark: str = ""
    """The short mark of the violation."""
    way: str = ""
    """See `jobs.behind.Cut.way`."""

    @property
    def at(self) -> tuple[int, Stage, int]:
        """The position of the check in the block."""
        return self.index, self.stage, self.ordinal


STUCK = 0.08
"""A check with a violation continues past it where a larger share of the checks of the pass, of
this block and of those that are committed, ended in such a violation."""

GO_ON_EVERY = 3
"""Elsewhere one in this many of them continues."""

CUTS = 0.5
"""Most runs of passes for cuts, per check of the block. Without a limit, they take a quarter of the
time of a campaign on all passes, most of it for a few of them."""

CUTS_OF_FEW = 16
"""The same per check of a pass, so that a campaign on few passes is not limited."""

CUTTING = "cut"
"""The step that looks for a part to cut. If the process dies in it, the rest of the block meets the
death again, with its module."""

BlockResult: TypeAlias = UnconfirmedFinding | WentOn | StageDone | ModuleDone


@dataclass(frozen=True, slots=True)
class Resume:
    """The place at which a block's first module resumes: after a check that killed the process."""

    stage: Stage
    ordinal: int


@dataclass(frozen=True, slots=True)
class Ends:
    """Counts of the checks that ended in violations that hide others, in committed blocks."""

    by_item: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """Number of these checks and of all checks, by item of the schedule."""
    ways: Mapping[str, str] = field(default_factory=dict)
    """For short marks of violations, the last `jobs.behind.Cut.way`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rest:
    """The position and the counts at which a block continues after deaths of its processes."""

    resume: Resume | None = None
    careful: bool = False
    """True if the process died looking for a part to cut: each module is then reported first."""
    checked: Mapping[str, int] = field(default_factory=dict)
    """Checks that were made, by item of the schedule."""
    visited: Mapping[str, int] = field(default_factory=dict)
    """The counts of `checked`, plus the number of times that an item did not apply."""
    stuck: Mapping[str, int] = field(default_factory=dict)
    """Checks that ended in a violation that hides others."""
    banned: tuple[str, ...] = ()
    """Items that are left out because they killed too many processes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Block(Job[BlockResult]):
    """Generate modules start, ..., start + count - 1 of a seed and check passes on them."""

    long: ClassVar[bool] = True

    seed: int
    start: int
    count: int
    targets: tuple[Target, ...]
    """Targets of the block, all of the family of the recipe."""
    oracles: tuple[str, ...] | None = None
    """Oracles to run; None: the usual ones, with expensive ones on a sample."""
    recipe: Recipe = field(default_factory=Recipe)
    """Ingredients of the modules."""
    wholes: tuple[Whole, ...] = ()
    """Real modules, one for each index, instead of generated ones. Checks are not sampled: every
    pass that applies is checked once."""
    compositions: bool = True
    """Also check sequences of passes and the named pipelines."""
    config: Mapping[str, Any] = field(default_factory=dict)
    """Options under which passes run, in the form of `PassCall.config`."""
    device: str | None = None
    """The kind of the device on which a sample of the evaluated modules is executed."""
    reported: tuple[str, ...] = ()
    """Short marks of violations that earlier blocks reported; their modules are not needed."""
    ends: Ends = field(default_factory=Ends)
    rest: Rest = field(default_factory=Rest)

    def made_of(self, index: int) -> Recipe:
        """Return the recipe of the module with this index. This also works for the rest of a block,
        since it has the same end."""
        end = self.start + self.count
        return Recipe(whole=self.wholes[index - end]) if self.wholes else self.recipe


@dataclass(frozen=True, slots=True)
class Regenerate(Job[tuple[str, tuple[str, ...]]]):
    """Generate a module again; the result has its TVM JSON and the names of its pieces."""

    origin: Origin


def regenerate(job: Regenerate, context: Context[tuple[str, tuple[str, ...]]]) -> None:
    """Report the module."""
    context.journal.position(job.origin.index, job.origin.stage)
    with recorded() as names:
        text = save_json(regenerated(job.origin))
    context.report((text, tuple(names)))


def regenerated(origin: Origin) -> tvm.IRModule:
    """The module of an origin, the same in every process."""
    module = example(_modules(origin.recipe), origin.seed, origin.index)
    return stages.advance(module, origin.stage)


@functools.lru_cache(1)  # the modules of a block share a recipe
def _modules(recipe: Recipe) -> SearchStrategy[tvm.IRModule]:
    if recipe.whole is not None:
        return st.builds(recipe.whole.load)
    modules = FAMILIES[recipe.family].modules
    bound = {} if recipe.target is None else {"target": recipe.target}
    ops = [tuple(chain) if len(chain := each.split(" > ")) > 1 else each for each in recipe.ops]
    return modules(
        without=recipe.disabled,
        force=recipe.forced,
        ops=ops or None,
        numbers=recipe.numbers,
        dtypes=recipe.dtypes,
        seeds=recipe.pieces,
        edits=recipe.edits or None,
        **bound,
    )


def run_block(job: Block, context: Context[BlockResult]) -> None:
    """Report the outcome of each module and of each check as soon as it is known."""
    _Run(job, context).run()


@dataclass(frozen=True, slots=True)
class _Prepared:
    calls: tuple[PassCall, ...] = ()
    pipeline: str | None = None
    contract: PassContract | None = None
    sampled: tuple[str, ...] = ()
    """Oracles above tier 1 for which this check is sampled."""


class _Run:
    def __init__(self, job: Block, context: Context[BlockResult]) -> None:
        self._job = job
        self._context = context
        self._journal = context.journal
        self._contracts = {target.label: contract_of(target) for target in job.targets}
        self._items = schedule.items(job.targets, self._contracts, job.compositions)
        self._names: Sequence[str] = ()
        """Names of the pieces of real modules in the module."""
        self._checked = Counter(job.rest.checked)
        self._visited = Counter(job.rest.visited)
        self._stuck = Counter(job.rest.stuck)
        self._ways = dict(job.ends.ways)
        self._cuts = 0
        """Runs of passes for cuts."""
        self._reported: set[Mark] = set()
        self._sampled: tuple[Oracle, ...] = ()
        """Oracles above tier 1, for some checks of the module at this stage."""
        folders = (folder_of(each.call) for each in job.targets if each.call is not None)
        self._lines = LineRecorder(set(filter(None, folders)))

    def run(self) -> None:
        record(self._lines)
        resume = self._job.rest.resume
        for index in range(self._job.start, self._job.start + self._job.count):
            try:
                self._module(index, resume)
            except MemoryError:
                raise
            except Exception as error:
                self._context.fail(error)
            ran = {name: tuple(sorted(each)) for name, each in self._lines.take().items()}
            self._context.report(ModuleDone(index, ran))
            resume = None

    def _module(self, index: int, resume: Resume | None) -> None:
        recipe = self._job.made_of(index)
        raw = FAMILIES[recipe.family].first
        self._journal.position(index, raw)
        self._journal.step("generate")
        with recorded() as self._names:
            mod: tvm.IRModule | None = example(_modules(recipe), self._job.seed, index)
        to = self._destination(index)
        first = raw if resume is None else resume.stage
        order = stages.usable(raw)
        for stage in order[: max(order.index(to), order.index(first)) + 1]:
            if stage is not raw:
                mod = self._advance(mod, index, stage)
            if mod is None:
                return
            if order.index(stage) < order.index(first):
                continue
            begin = resume.ordinal if resume is not None and stage is first else 0
            if not self._stage(mod, index, stage, begin):
                return

    def _destination(self, index: int) -> Stage:
        if self._job.wholes:
            return Stage.RAW  # pipelines advance modules further
        random = Random(entropy("destination", self._job.seed, index))
        return schedule.destination(self._items, self._visited, random)

    def _advance(self, mod: tvm.IRModule, index: int, to: Stage) -> tvm.IRModule | None:
        """Advance the module to the next stage; None if a pass fails on it, which checks report."""
        order, every = stages.usable(to), stages.chain(to)
        before = order[order.index(to) - 1]
        between = every[every.index(before) + 1 : every.index(to) + 1]
        names = [name for stage in between for name in stages.steps(stage)]
        for count, name in enumerate(names, 1):
            calls = tuple(PassCall(stages.expression(each)) for each in names[:count])
            self._journal.position(index, before, -1, "lowering", calls)
            self._journal.step("lowering")
            try:
                mod = stages.step(mod, name)
            except MemoryError:
                raise
            except Exception:
                return None
        return mod if relax.analysis.check_well_formed(mod) else None

    def _stage(self, mod: tvm.IRModule, index: int, stage: Stage, begin: int) -> bool:
        """Check the module at one stage; return false if a pass changed it in place."""
        random = Random(entropy("order", self._job.seed, index, stage))
        job = self._job
        here = [item for item in self._items if self._takes(item, stage)]
        origin = Origin(job.seed, index, stage, job.made_of(index))
        self._journal.position(index, stage)
        self._journal.step("take")
        pristine = given(mod, lambda: regenerated(origin))  # made for the oracles anyway
        sampled = Random(entropy("oracles", job.seed, index, stage))
        self._sampled = (
            () if job.oracles is not None else schedule.oracles_of_module(sampled, job.device)
        )
        pristine.note(copies=any(costs.of_oracle(each.name).copies for each in self._sampled))
        stats: dict[str, PassStats] = defaultdict(PassStats)
        left = len(here) if job.wholes else schedule.checks_at(stage)
        intact = True
        for ordinal, item in enumerate(schedule.neediest(here, self._checked, random)):
            if not left or not intact:
                break
            started = time.perf_counter()
            end = Outcome(0, False)
            self._visited[item.name] += 1
            prepared = self._prepare(item, mod, origin, ordinal, skip=ordinal < begin)
            if prepared is None:
                stats[item.name] += PassStats(inapplicable=1)
                continue
            left -= 1
            self._checked[item.name] += 1
            if ordinal < begin:
                stats[item.name] += PassStats(checks=1)
                continue
            watch = StateWatch(prepared.calls)
            with answers() as given_by:
                violations, effect, asked = self._check(item, mod, prepared, origin, ordinal, watch)
            if violations:
                intact = digest(mod) == pristine.mark
                made_of = None
                if item.kind is ItemKind.PASS:
                    made_of = ingredients(mod if intact else pristine.copy())
                new = self._report(violations, prepared, origin, lambda: pristine.text, made_of)
                # A pass may change parts that no hash covers. Comparing texts after each check
                # would cost too much.
                if new and intact:
                    intact = save_json(mod) == pristine.text
                with records_kept():
                    subject = mod if intact else pristine.copy()
                    end = self._go_on(item, subject, prepared, violations, origin, ordinal, watch)
                intact = intact and digest(mod) == pristine.mark
            watch.end(self._journal)
            self._stuck[item.name] += end.stuck
            stats[item.name] += PassStats(
                checks=1,
                violations=len(violations),
                seconds=time.perf_counter() - started,
                changed=int(effect.changed),
                sampled=dict.fromkeys(asked, 1),
                compared=int(compared(given_by.values(), self._job.oracles)),
                silenced=counted(given_by.values()),
                acted=int(effect.acted),
                behind=end.count,
                stuck=int(end.stuck),
                did=dict.fromkeys(effect.did, 1),
            )
        self._context.report(StageDone(index, stage, stats))
        return intact

    def _go_on(
        self,
        item: ScheduleItem,
        mod: tvm.IRModule,
        prepared: _Prepared,
        violations: Sequence[Violation],
        origin: Origin,
        ordinal: int,
        watch: StateWatch,
    ) -> Outcome:
        """Continue the check past its violations; see `go_on`.

        Sequences are excluded, as their passes only fit the original module.

        Args:
            mod: the module; passes may change it.
        """
        contract = prepared.contract
        end = Outcome(0, any(map(hides, violations)))
        chosen = end.stuck and item.kind is not ItemKind.SEQUENCE
        if not chosen or not self._goes_on(item, origin.index + ordinal):
            return end

        place = origin.index, origin.stage, ordinal, item.name

        def begin() -> None:
            self._journal.position(*place)
            self._journal.step(CUTTING)

        def shows(violation: Violation, mod: tvm.IRModule) -> bool:
            self._cuts += 1
            self._journal.step(CUTTING)
            if self._job.rest.careful:
                self._context.report(WentOn(*place, save_json(mod)))
                self._journal.position(*place, prepared.calls, prepared.pipeline)
            case = Case(mod, prepared.calls, prepared.pipeline)
            with answers():
                return still_shows(case, violation, prepared.contract)

        def suits(mod: tvm.IRModule) -> Suit:
            if contract is None:
                return Suit.WELL
            if contract.requires(mod) is not None:
                return Suit.NOT
            sought = contract.looks_for
            return Suit.WELL if sought is None or sought.has(mod) else Suit.LITTLE

        def acts_on(mod: tvm.IRModule) -> bool:
            self._journal.step(CUTTING)
            return contract is None or acts(Case(mod, prepared.calls), contract)

        def check_rest(made: Cut) -> list[Violation] | None:
            text = made.text
            rest = load_json(text)
            given(rest, lambda: load_json(text))
            again = self._prepare(item, rest, origin, ordinal, skip=False, sought=False)
            if again is None:
                return None
            mark = short_mark(mark_of(made.violation))
            self._context.report(WentOn(*place, text, mark, made.way))
            if made.way:
                self._ways[mark] = made.way
            with answers():
                found, _, _ = self._check(item, rest, again, origin, ordinal, watch)
            if found:
                is_pass = item.kind is ItemKind.PASS
                made_of = ingredients(load_json(text)) if is_pass else None
                self._report(found, again, origin, lambda: text, made_of)
            begin()
            return found

        begin()
        try:
            return go_on(
                mod, violations, shows, check_rest, suits=suits, acts=acts_on, ways=self._ways
            )
        except MemoryError:
            raise
        except Exception as error:
            self._context.fail(error)
            return end

    def _goes_on(self, item: ScheduleItem, number: int) -> bool:
        """Return whether this check of an item continues past its violation."""
        if self._cuts > self._checked.total() * max(CUTS, CUTS_OF_FEW / len(self._items)):
            return False
        stuck, checks = self._job.ends.by_item.get(item.name, (0, 0))
        stuck += self._stuck[item.name]
        checks += self._checked[item.name]
        return stuck + 1 > STUCK * checks or number % GO_ON_EVERY == 0

    def _takes(self, item: ScheduleItem, stage: Stage) -> bool:
        """Return whether the item may be checked on modules of this stage."""
        if self._job.wholes:
            return item.kind is not ItemKind.SEQUENCE and stage in item.stages
        return item.at(stage, self._checked)

    def _prepare(
        self,
        item: ScheduleItem,
        mod: tvm.IRModule,
        origin: Origin,
        ordinal: int,
        skip: bool,
        sought: bool = True,
    ) -> _Prepared | None:
        """Prepare the check of an item; None if the item does not apply to this module.

        Args:
            sought: leave out most modules without the feature that the pass looks for.
        """
        if item.name in self._job.rest.banned:
            return None
        random = Random(entropy("variant", origin.seed, origin.index, origin.stage, item.name))
        sampled = schedule.oracles(self._sampled, random)
        if item.kind is ItemKind.PIPELINE:
            return _Prepared(pipeline=item.name, sampled=sampled)
        self._journal.position(origin.index, origin.stage, ordinal, item.name)
        if item.kind is ItemKind.PASS:
            worthwhile = schedule.worthwhile(self._contracts[item.name], mod, random)
            if sought and not worthwhile:
                return None
            call = self._call(item.name, mod, random)
            if call is None:
                return None
            calls = schedule.in_context((call,), random, self._job.config)
            return _Prepared(calls, None, self._contracts[item.name], sampled)
        # The previous process may have died drawing the sequence.
        return _Prepared() if skip else self._sequence(mod, origin, ordinal, random)

    def _call(self, name: str, mod: tvm.IRModule, random: Random) -> PassCall | None:
        self._journal.step(f"requires {name}")
        return call_of(self._contracts[name], mod, random)

    def _sequence(
        self, mod: tvm.IRModule, origin: Origin, ordinal: int, random: Random
    ) -> _Prepared | None:
        def journal(calls: tuple[PassCall, ...], step: str) -> None:
            self._journal.position(origin.index, origin.stage, ordinal, "sequence", calls)
            self._journal.step(step)

        passes = [
            item
            for item in self._items
            if item.kind is ItemKind.PASS and item.name not in self._job.rest.banned
        ]
        sequences = Sequences(origin.seed, passes, self._contracts)
        calls = sequences.draw(mod, origin.stage, origin.index, random, journal)
        return (
            _Prepared(schedule.in_context(calls, random, self._job.config))
            if len(calls) > 1
            else None
        )

    def _check(
        self,
        item: ScheduleItem,
        mod: tvm.IRModule,
        prepared: _Prepared,
        origin: Origin,
        ordinal: int,
        watched: StateWatch,
    ) -> tuple[list[Violation], _Effect, tuple[str, ...]]:
        """Return the violations, the effect of the pass, and the oracles above tier 1 that ran."""
        calls, pipeline = prepared.calls, prepared.pipeline
        self._journal.position(origin.index, origin.stage, ordinal, item.name, calls, pipeline)
        case = Case(mod, calls, pipeline)

        effect = _Effect()
        asked: tuple[str, ...] = ()

        def watch(runs: PassRuns) -> None:
            nonlocal effect, asked
            effect = self._effect(runs)
            asked = tuple(
                name for name in runs.asked if ORACLES[name].tier > 1 and name not in OF_PIPELINES
            )

        try:
            violations = checked(
                case,
                self._journal,
                self._job.oracles,
                prepared.contract,
                prepared.sampled,
                watch if item.kind is ItemKind.PASS else None,
            )
        except MemoryError:
            raise
        except Exception as error:
            watched.end(self._journal)
            self._context.fail(error)
            return [], effect, asked
        if item.kind is ItemKind.PIPELINE and all(v.oracle in OF_PIPELINES for v in violations):
            wanted = self._job.oracles or prepared.sampled
            asked = tuple(name for name in wanted if name in OF_PIPELINES)
        return violations, effect, asked

    def _effect(self, runs: PassRuns) -> _Effect:
        after, error = runs.direct.mod, runs.direct.error
        if error is not None:
            return _Effect(did={raising(error)})
        if not runs.changed or after is None:
            return _Effect(changed=runs.changed)
        self._journal.step("compare what the pass did")
        try:
            did = behaviours(runs.mod, after)
            return _Effect(True, acted(runs.contract, runs.mod, after, did), did)
        except Exception:  # the result is ill-formed, and another oracle reports it
            return _Effect(changed=True, acted=True)

    def _report(
        self,
        violations: list[Violation],
        prepared: _Prepared,
        origin: Origin,
        text: Callable[[], str],
        made_of: frozenset[str] | None,
    ) -> bool:
        """Report the violations of a module with this text (TVM JSON) and these ingredients; return
        true if one of them is new to the block."""
        origin = dataclasses.replace(origin, recipe=origin.recipe.made_of(self._names))
        any_new = False
        for violation in violations:
            known_by = mark_of(violation)
            new = known_by not in self._reported
            self._reported.add(known_by)
            any_new |= new
            wanted = new and short_mark(known_by) not in self._job.reported
            self._context.report(
                UnconfirmedFinding(
                    violation,
                    text() if wanted else "",
                    origin,
                    prepared.calls,
                    prepared.pipeline,
                    None if made_of is None else tuple(sorted(made_of)),
                )
            )
        return any_new
