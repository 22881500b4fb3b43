"""The jobs that generate modules: a block of a campaign, and one module again."""

from __future__ import annotations

import dataclasses
import functools
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import ClassVar, TypeAlias

import tvm
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from tvm import relax

from ...compat.serialization import save_json
from ...generators import stages
from ...generators.families import FAMILIES
from ...generators.seeds import Whole, recorded
from ...generators.stages import Stage
from ...oracles.acted import acted
from ...oracles.check import OF_PIPELINES, ORACLES
from ...oracles.contract import PassContract
from ...oracles.ingredients import ingredients
from ...oracles.inspect import ops_used
from ...oracles.oracle import Oracle
from ...oracles.pass_runs import Given, PassRuns, digest, given
from ...oracles.passcall import PassCall
from ...oracles.silence.log import answers, counted
from ...oracles.tiers import compared
from ...oracles.violation import Case, Mark, Violation, mark_of, short_mark
from ..campaign import schedule
from ..campaign.draw import entropy, example
from ..campaign.features import features
from ..campaign.schedule import Item, Kind
from .jobs import Context, checked, contract_of
from .process_state import Watch
from .protocol import Job
from .sequences import Sequences, call_of
from .targets import Avoid, Origin, PassStats, Recipe, Target


@dataclass(frozen=True, slots=True)
class Violated:
    """A check of the block found a violation."""

    violation: Violation
    origin: Origin
    calls: tuple[PassCall, ...] = ()
    pipeline: str | None = None
    module: str | None = None
    """TVM JSON; None where this block, or one before it, has reported this mark."""
    features: tuple[str, ...] = ()
    """Of the module, where one pass was checked by itself."""
    ingredients: tuple[str, ...] | None = None
    """The same; see `ingredients`."""


@dataclass(frozen=True, slots=True)
class _Effect:
    """The effect of a pass on the module of one check."""

    changed: bool = False
    acted: bool = False
    """It did what it is for."""


@dataclass(frozen=True, slots=True)
class StageDone:
    """A module of the block has been checked at one stage."""

    index: int
    stage: Stage
    stats: Mapping[str, PassStats]
    """By item of the schedule; items that a dead process checked there are counted, not timed."""

    @property
    def checks(self) -> int:
        """Of all items."""
        return sum(stats.checks for stats in self.stats.values())


@dataclass(frozen=True, slots=True)
class ModuleDone:
    """The block is done with one module."""

    index: int
    ops: tuple[str, ...] = ()
    """The operators in it."""
    changed: Mapping[str, bool] = field(default_factory=dict)
    """The passes that were checked on it, and whether they changed it at any stage."""


BlockResult: TypeAlias = Violated | StageDone | ModuleDone


@dataclass(frozen=True, slots=True)
class Resume:
    """Where to go on with the first module of a block: after a check that killed the process."""

    stage: Stage
    ordinal: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Block(Job[BlockResult]):
    """Generate modules start, ..., start + count - 1 of a seed and check passes on them."""

    long: ClassVar[bool] = True

    seed: int
    start: int
    count: int
    targets: tuple[Target, ...]
    """All of the family of the recipe."""
    oracles: tuple[str, ...] | None = None
    """Only these; None: the usual ones, expensive ones on a sample."""
    recipe: Recipe = field(default_factory=Recipe)
    """What the modules are made of."""
    wholes: tuple[Whole, ...] = ()
    """Real modules, one for each index; none is generated. What is checked is not sampled: every
    pass that applies, once."""
    compositions: bool = True
    """Also sequences of passes and the named pipelines."""
    yields: Mapping[str, float] = field(default_factory=dict)
    """By item of the schedule: the worth of its checks; empty: all are worth the same."""
    checked: Mapping[str, int] = field(default_factory=dict)
    """Checks by item that another process did for this block before it died."""
    visited: Mapping[str, int] = field(default_factory=dict)
    """The same, with the times that an item did not apply."""
    resume: Resume | None = None
    banned: tuple[str, ...] = ()
    """Items that are left out because they have killed too many processes."""
    avoid: Mapping[str, Avoid] = field(default_factory=dict)
    """By label of a target: the modules that it is checked on only sometimes."""
    device: str | None = None
    """The kind of the device on which a sample of what is evaluated is executed."""
    reported: tuple[str, ...] = ()
    """Short marks of violations that earlier blocks have reported: their modules are not needed."""

    def made_of(self, index: int) -> Recipe:
        """What the module with this index is made of; also of the rest of a block, whose end is the
        same.
        """
        end = self.start + self.count
        return Recipe(whole=self.wholes[index - end]) if self.wholes else self.recipe


@dataclass(frozen=True, slots=True)
class Regenerate(Job[tuple[str, tuple[str, ...]]]):
    """Generate a module again; the result is its TVM JSON, and the names of its pieces."""

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


@functools.lru_cache(1)  # the modules of a block are made of the same
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
    """Report what each module and each check gives, as it comes."""
    _Run(job, context).run()


@dataclass(frozen=True, slots=True)
class _Prepared:
    calls: tuple[PassCall, ...] = ()
    pipeline: str | None = None
    contract: PassContract | None = None
    sampled: tuple[str, ...] = ()
    """Oracles above tier 1 that this check is sampled for."""


class _Run:
    def __init__(self, job: Block, context: Context[BlockResult]) -> None:
        self._job = job
        self._context = context
        self._journal = context.journal
        self._contracts = {target.label: contract_of(target) for target in job.targets}
        self._items = schedule.items(job.targets, self._contracts, job.compositions, job.yields)
        self._ops: tuple[str, ...] = ()
        self._names: Sequence[str] = ()
        """Of the pieces of real modules in the module."""
        self._changed: dict[str, bool] = {}
        self._checked = Counter(job.checked)
        self._visited = Counter(job.visited)
        self._reported: set[Mark] = set()
        self._sampled: tuple[Oracle, ...] = ()
        """Above tier 1, for some checks of the module at this stage."""

    def run(self) -> None:
        resume = self._job.resume
        for index in range(self._job.start, self._job.start + self._job.count):
            try:
                self._module(index, resume)
            except MemoryError:
                raise
            except Exception as error:
                self._context.fail(error)
            self._context.report(ModuleDone(index, self._ops, dict(self._changed)))
            resume = None

    def _module(self, index: int, resume: Resume | None) -> None:
        recipe = self._job.made_of(index)
        raw = FAMILIES[recipe.family].first
        self._journal.position(index, raw)
        self._journal.step("generate")
        self._ops = ()
        self._changed.clear()
        with recorded() as self._names:
            mod: tvm.IRModule | None = example(_modules(recipe), self._job.seed, index)
        self._ops = tuple(sorted(name.removeprefix("relax.") for name in ops_used(mod)))
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
            return Stage.RAW  # pipelines take them further
        random = Random(entropy("destination", self._job.seed, index))
        return schedule.destination(self._items, self._visited, random)

    def _advance(self, mod: tvm.IRModule, index: int, to: Stage) -> tvm.IRModule | None:
        """The module at the next stage; None where a pass fails or breaks it: checks report it."""
        order, every = stages.usable(to), stages.chain(to)
        before = order[order.index(to) - 1]
        between = every[every.index(before) + 1 : every.index(to) + 1]
        names = [name for stage in between for name in stages.steps(stage)]
        for count, name in enumerate(names, 1):
            calls = tuple(PassCall(stages.expression(each)) for each in names[:count])
            self._journal.position(index, before, -1, "advance", calls)
            self._journal.step("advance")
            try:
                mod = stages.step(mod, name)
            except MemoryError:
                raise
            except Exception:
                return None
        return mod if relax.analysis.check_well_formed(mod) else None

    def _stage(self, mod: tvm.IRModule, index: int, stage: Stage, begin: int) -> bool:
        """Check the module at one stage; false where a pass has changed it in place."""
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
        pristine.note(copies=any(oracle.copies for oracle in self._sampled))
        found = functools.cache(lambda: features(mod))
        stats: dict[str, PassStats] = defaultdict(PassStats)
        left = len(here) if job.wholes else schedule.checks_at(stage)
        intact = True
        for ordinal, item in enumerate(schedule.neediest(here, self._checked, random)):
            if not left or not intact:
                break
            started = time.perf_counter()
            self._visited[item.name] += 1
            triggered = self._is_triggered(item, found)
            if triggered and not self._is_open(item, origin):
                stats[item.name] += PassStats(avoided=1)
                continue
            prepared = self._prepare(item, mod, origin, ordinal, skip=ordinal < begin)
            if prepared is None:
                stats[item.name] += PassStats(inapplicable=1)
                continue
            left -= 1
            self._checked[item.name] += 1
            if ordinal < begin:
                stats[item.name] += PassStats(checks=1)
                continue
            watch = Watch(prepared.calls)
            with answers() as given_by:
                violations, effect, asked = self._check(item, mod, prepared, origin, ordinal, watch)
            if violations:
                intact = digest(mod) == pristine.mark
                has: tuple[frozenset[str], frozenset[str] | None] = frozenset(), None
                if item.kind is Kind.PASS:
                    whole = mod if intact else pristine.copy()
                    has = found() if intact else features(whole), ingredients(whole)
                new = self._report(violations, prepared, origin, pristine, *has)
                # A pass may change what no hash covers; to look each time would cost too much.
                if new and intact:
                    intact = save_json(mod) == pristine.text
            watch.end(self._journal)
            stats[item.name] += PassStats(
                checks=1,
                violations=len(violations),
                seconds=time.perf_counter() - started,
                changed=int(effect.changed),
                sampled=dict.fromkeys(asked, 1),
                triggered=int(triggered),
                compared=int(compared(given_by.values(), self._job.oracles)),
                silenced=counted(given_by.values()),
                acted=int(effect.acted),
            )
        self._context.report(StageDone(index, stage, stats))
        return intact

    def _is_triggered(self, item: Item, found: Callable[[], frozenset[str]]) -> bool:
        """The module has what a known bug of the item needs, and that is to be avoided."""
        avoid = self._job.avoid.get(item.name)
        if avoid is None or avoid.chance >= 1:
            return False
        return any(found().issuperset(pattern) for pattern in avoid.patterns)

    def _is_open(self, item: Item, origin: Origin) -> bool:
        """A module with a pattern of the item is checked all the same: another bug may
        stand next to it, or it may be fixed.
        """
        random = Random(entropy("open", origin.seed, origin.index, origin.stage, item.name))
        return random.random() < self._job.avoid[item.name].chance

    def _takes(self, item: Item, stage: Stage) -> bool:
        """The item may be checked on modules of this stage."""
        if self._job.wholes:
            return item.kind is not Kind.SEQUENCE and stage in item.stages
        return item.at(stage, self._checked)

    def _prepare(
        self, item: Item, mod: tvm.IRModule, origin: Origin, ordinal: int, skip: bool
    ) -> _Prepared | None:
        """The check that an item stands for here; None where it does not apply to this module."""
        if item.name in self._job.banned:
            return None
        random = Random(entropy("variant", origin.seed, origin.index, origin.stage, item.name))
        sampled = schedule.oracles(self._sampled, random)
        if item.kind is Kind.PIPELINE:
            return _Prepared(pipeline=item.name, sampled=sampled)
        self._journal.position(origin.index, origin.stage, ordinal, item.name)
        if item.kind is Kind.PASS:
            if not schedule.worthwhile(self._contracts[item.name], mod, random):
                return None
            call = self._call(item.name, mod, random)
            if call is None:
                return None
            calls = schedule.in_context((call,), random)
            return _Prepared(calls, None, self._contracts[item.name], sampled)
        # The process before this one may have died while it put the sequence together.
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
            if item.kind is Kind.PASS and item.name not in self._job.banned
        ]
        sequences = Sequences(origin.seed, passes, self._contracts)
        calls = sequences.draw(mod, origin.stage, origin.index, random, journal)
        return _Prepared(schedule.in_context(calls, random)) if len(calls) > 1 else None

    def _check(
        self,
        item: Item,
        mod: tvm.IRModule,
        prepared: _Prepared,
        origin: Origin,
        ordinal: int,
        watched: Watch,
    ) -> tuple[list[Violation], _Effect, tuple[str, ...]]:
        """The violations, what a pass did to the module, the oracles above tier 1 asked."""
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
            self._changed[item.name] = effect.changed or self._changed.get(item.name, False)

        try:
            violations = checked(
                case,
                self._journal,
                self._job.oracles,
                prepared.contract,
                prepared.sampled,
                watch if item.kind is Kind.PASS else None,
            )
        except MemoryError:
            raise
        except Exception as error:
            watched.end(self._journal)
            self._context.fail(error)
            return [], effect, asked
        if item.kind is Kind.PIPELINE and all(v.oracle in OF_PIPELINES for v in violations):
            wanted = self._job.oracles or prepared.sampled
            asked = tuple(name for name in wanted if name in OF_PIPELINES)
        return violations, effect, asked

    def _effect(self, runs: PassRuns) -> _Effect:
        if not runs.changed or runs.direct.mod is None:
            return _Effect(changed=runs.changed)
        self._journal.step("compare what the pass is for")
        try:
            return _Effect(changed=True, acted=acted(runs.contract, runs.mod, runs.direct.mod))
        except Exception:  # the result is ill-formed, as another oracle reports
            return _Effect(changed=True, acted=True)

    def _report(
        self,
        violations: list[Violation],
        prepared: _Prepared,
        origin: Origin,
        pristine: Given,
        has: frozenset[str],
        made_of: frozenset[str] | None,
    ) -> bool:
        """Report the violations of a module with these features and ingredients; true where one of
        them is new to the block.
        """
        origin = dataclasses.replace(origin, recipe=origin.recipe.made_of(self._names))
        any_new = False
        for violation in violations:
            known_by = mark_of(violation)
            new = known_by not in self._reported
            self._reported.add(known_by)
            any_new |= new
            wanted = new and short_mark(known_by) not in self._job.reported
            module = pristine.text if wanted else None
            self._context.report(
                Violated(
                    violation,
                    origin,
                    prepared.calls,
                    prepared.pipeline,
                    module,
                    tuple(sorted(has)),
                    None if made_of is None else tuple(sorted(made_of)),
                )
            )
        return any_new
