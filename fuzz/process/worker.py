"""What a child does: it works on one job, and says in the journal where it is."""

from __future__ import annotations

import dataclasses
import re
import time
import traceback
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random

import tvm
from tvm import relax

from ...corpus.known.triggers import TRIGGERS
from ...generators import stages
from ...generators.choices import Choices
from ...generators.modules import ir_modules
from ...generators.stages import STEPS, Stage
from ...generators.tvm_api import load_json, save_json
from ...oracles import composition
from ...oracles.catalogue import catalogue
from ...oracles.check import BUILDS, OF_PIPELINES, ORACLES, VALUES, check, narrow
from ...oracles.contract import Exemption, PassContract
from ...oracles.explain import explain
from ...oracles.inspect import ops_used
from ...oracles.pass_runs import Given, PassRuns, digest, given
from ...oracles.passcall import BadPass, PassCall
from ...oracles.text.exhibit import exhibit
from ...oracles.violation import Case, Violation
from ..campaign import schedule
from ..campaign.draw import entropy, example
from ..campaign.schedule import Item, Kind
from ..findings.evidence import evidence_of
from ..minimize.child import reduce
from ..output.readable import sentence, visible
from ..user_input.module_file import read
from . import death, process_state
from .compiled import compile_once
from .journal import Journal
from .process_state import Watch
from .protocol import (
    Block,
    Check,
    Checked,
    Death,
    Died,
    Examine,
    Examined,
    Execute,
    Explain,
    Explained,
    Failed,
    FromChild,
    Identity,
    Job,
    ModuleDone,
    Narrow,
    Narrowed,
    Origin,
    PassStats,
    Read,
    Reduce,
    Regenerate,
    Regenerated,
    Resume,
    Show,
    Shown,
    StageDone,
    Target,
    Violated,
    WasRead,
    identity,
    mark,
)

Say = Callable[[FromChild], None]

CHOICES = 64
"""Bytes for the choices of one check; beyond them a variant is the simplest one."""


def run(id: int, job: Job, journal: Journal, say: Say) -> None:
    """Do a job. Exceptions are the harness's fault; those of passes are violations."""
    match job:
        case Block():
            _Block(id, job, journal, say).run()
        case Check():
            journal.place(0, Stage.RAW, 0, "check", job.calls, job.pipeline)
            say(Checked(id, tuple(_checked(id, job, journal))))
        case Reduce():
            reduce(id, job, lambda mod: _candidate(job, mod, journal), journal, say)
        case Narrow(violation, module, calls, pipeline):
            journal.place(0, Stage.RAW, 0, "narrow", calls, pipeline)
            journal.step("narrow")
            case = narrow(Case(load_json(module), calls, pipeline), violation)
            say(Narrowed(id, save_json(case.mod), case.calls, case.pipeline))
        case Show(module, violation, calls, pipeline):
            journal.place(0, Stage.RAW, 0, "show", calls, pipeline)
            case = Case(load_json(module), calls, pipeline)
            say(Shown(id, exhibit(case, violation, journal.step)))
        case Examine(module, legalize):
            journal.place(0, Stage.RAW, 0, "examine")
            say(Examined(id, evidence_of(load_json(module), journal.step, legalize=legalize)))
        case Regenerate(origin):
            journal.place(origin.index, origin.stage)
            say(Regenerated(id, save_json(regenerate(origin))))
        case Explain(module, pipeline, file, locate):
            journal.place(0, Stage.RAW, 0, "explain", (), pipeline)
            mod = load_json(module)
            told = explain(mod, pipeline, file=file, locate=locate, journal=journal.step)
            say(Explained(id, told))
        case Execute():
            raise TypeError(f"Expected a job for what a zygote forks but got {job}")
        case Read(path, folder, well_formed, seconds):
            journal.place(0, Stage.RAW, 0, "read")
            problem = read(Path(path), Path(folder), well_formed=well_formed, seconds=seconds)
            say(WasRead(id, problem))


def failed(id: int, error: Exception, journal: Journal) -> Failed:
    """What is said of an exception that no pass has raised: whose it is."""
    if isinstance(error, BadPass):  # it could be built when the session began
        return Failed(id, str(error), journal.last(), mistake=True)
    return Failed(id, "".join(traceback.format_exception(error)), journal.last())


def warm_up() -> None:
    """Fill the caches that all children share, without running a kernel."""
    compile_once()
    stages.step(example(ir_modules(), 0, 0), "LegalizeOps")
    process_state.warm_up()


def regenerate(origin: Origin) -> tvm.IRModule:
    """The module that comes from there, the same in every process."""
    strategy = ir_modules(without=origin.disabled, ops=origin.ops or None)
    mod = example(strategy, origin.seed, origin.index)
    return stages.advance(mod, origin.stage)


def contract_of(target: Target) -> PassContract:
    """The catalogue's contract, or the strict one; without the promises the target does not make.

    Raises:
        ValueError: not in the catalogue, and no call to make it from.
    """
    if target.call is None:
        if target.name not in catalogue:
            raise ValueError(f"Expected a pass of the catalogue or a call but got {target!r}")
        return catalogue[target.name]
    call = target.call
    base = composition.contract_of(call)
    exemptions = tuple(Exemption(name, "its author says so", "") for name in target.exempt)
    return dataclasses.replace(
        base, variants=lambda choices, mod: call, exemptions=base.exemptions + exemptions
    )


def _checked(id: int, job: Check, journal: Journal) -> list[Violation]:
    watch = Watch(job.calls)
    try:
        violations = _whole_check(job, load_json(job.module), journal)
    except Exception:
        if watch.changed() is None:
            raise
        violations = []  # a harness in pieces says nothing of the pass but that
    what = watch.changed()
    if what is None:
        return violations
    journal.changed(what)
    return [*violations, death.violation(Died(id, Death.CHANGED, 1, journal.last()))]


def _candidate(job: Reduce, mod: tvm.IRModule, journal: Journal) -> list[Violation]:
    watch = Watch(job.calls if job.oracle == Death.CHANGED else ())
    violations = _whole_check(job, mod, journal)
    watch.end(journal)
    return violations


def _whole_check(job: Check | Reduce, mod: tvm.IRModule, journal: Journal) -> list[Violation]:
    contract = None
    if job.exempt:
        contract = contract_of(Target(job.calls[0].name, job.calls[0], (), job.exempt))
    besides: tuple[str, ...] = ()
    if job.oracles is None:
        besides = VALUES if job.pipeline is None else BUILDS
    return _check(Case(mod, job.calls, job.pipeline), job.oracles, contract, journal, besides)


def _check(
    case: Case,
    oracles: tuple[str, ...] | None,
    contract: PassContract | None,
    journal: Journal,
    besides: tuple[str, ...] = (),
    watch: Callable[[PassRuns], None] | None = None,
) -> list[Violation]:
    violations = check(
        case,
        oracles=oracles,
        besides=besides,
        journal=journal.step,
        contract=contract,
        watch=watch,
    )
    # What a process says that has been refused memory is worth nothing.
    if any(_refused_memory(violation) for violation in violations):
        raise MemoryError
    return [
        dataclasses.replace(v, title=sentence(v.title), detail=visible(v.detail))
        for v in violations
    ]


def _refused_memory(violation: Violation) -> bool:
    return "MemoryError" in violation.key or _REFUSAL.search(violation.detail) is not None


_REFUSAL = re.compile(r"std::bad_alloc|: Unable to allocate .* for an array with shape")
"""C++'s, and NumPy's: its own kind of MemoryError comes back from TVM as a RuntimeError."""


@dataclass(frozen=True, slots=True)
class _Prepared:
    """One check, ready to run."""

    calls: tuple[PassCall, ...] = ()
    pipeline: str | None = None
    contract: PassContract | None = None
    sampled: tuple[str, ...] = ()
    """Oracles above tier 1 that this check is sampled for."""


class _Block:
    """Modules of a block, each taken from stage to stage and checked on its way."""

    def __init__(self, id: int, job: Block, journal: Journal, say: Say) -> None:
        self._id = id
        self._job = job
        self._journal = journal
        self._say = say
        self._contracts = {target.label: contract_of(target) for target in job.targets}
        self._items = schedule.items(job.targets, self._contracts, job.compositions, job.yields)
        self._strategy = ir_modules(without=job.disabled, ops=job.ops or None)
        self._ops: tuple[str, ...] = ()
        self._changed: dict[str, bool] = {}
        self._checked = Counter(job.checked)
        self._visited = Counter(job.visited)
        self._told: set[Identity] = set()

    def run(self) -> None:
        resume = self._job.resume
        for index in range(self._job.start, self._job.start + self._job.count):
            try:
                self._module(index, resume)
            except MemoryError:
                raise
            except Exception as error:
                self._say(failed(self._id, error, self._journal))
            self._say(ModuleDone(self._id, index, self._ops, dict(self._changed)))
            resume = None

    def _module(self, index: int, resume: Resume | None) -> None:
        self._journal.place(index, Stage.RAW)
        self._journal.step("generate")
        self._ops = ()
        self._changed.clear()
        mod: tvm.IRModule | None = example(self._strategy, self._job.seed, index)
        self._ops = tuple(sorted(name.removeprefix("relax.") for name in ops_used(mod)))
        random = Random(entropy("destination", self._job.seed, index))
        to = schedule.destination(self._items, self._visited, random)
        first = Stage.RAW if resume is None else resume.stage
        order = list(Stage)
        for stage in order[: max(order.index(to), order.index(first)) + 1]:
            if stage is not Stage.RAW:
                mod = self._advance(mod, index, stage)
            if mod is None:
                return
            if order.index(stage) < order.index(first):
                continue
            begin = resume.ordinal if resume is not None and stage is first else 0
            if not self._stage(mod, index, stage, begin):
                return

    def _advance(self, mod: tvm.IRModule, index: int, to: Stage) -> tvm.IRModule | None:
        """The module at the next stage; None where one of TVM's passes fails or breaks it.

        That pass gets its share of checks like any other, so nothing is reported here.
        """
        before = list(Stage)[list(Stage).index(to) - 1]
        names = STEPS[to]
        for count, name in enumerate(names, 1):
            calls = tuple(PassCall(f"{each}()") for each in names[:count])
            self._journal.place(index, before, -1, "advance", calls)
            self._journal.step("advance")
            try:
                mod = stages.step(mod, name)
            except MemoryError:
                raise
            except Exception:
                return None
        return mod if relax.analysis.check_well_formed(mod) else None

    def _stage(self, mod: tvm.IRModule, index: int, stage: Stage, begin: int) -> bool:
        """Check the module at one stage; False where a pass has changed it under our hands."""
        random = Random(entropy("order", self._job.seed, index, stage))
        here = [item for item in self._items if item.at(stage, self._checked)]
        origin = Origin(self._job.seed, index, stage, self._job.disabled, self._job.ops)
        self._journal.place(index, stage)
        self._journal.step("take")
        pristine = given(mod, lambda: regenerate(origin))  # made for the oracles anyway
        stats: dict[str, PassStats] = defaultdict(PassStats)
        left = schedule.checks_at(stage)
        intact = True
        for ordinal, item in enumerate(schedule.neediest(here, self._checked, random)):
            if not left or not intact:
                break
            started = time.perf_counter()
            self._visited[item.name] += 1
            if self._avoids(item, mod, index):
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
            violations, changed, asked = self._check(item, mod, prepared, origin, ordinal, watch)
            if violations:
                intact = digest(mod) == pristine.mark
                new = self._report(violations, prepared, origin, pristine)
                # Some of what a pass may change, no hash covers; too dear to look for each time.
                if new and intact:
                    intact = save_json(mod) == pristine.text
            watch.end(self._journal)
            stats[item.name] += PassStats(
                checks=1,
                violations=len(violations),
                seconds=time.perf_counter() - started,
                changed=int(changed),
                sampled=dict.fromkeys(asked, 1),
            )
        self._say(StageDone(self._id, index, stage, stats))
        return intact

    def _avoids(self, item: Item, mod: tvm.IRModule, index: int) -> bool:
        """A known bug would hide what else is wrong; half of the modules go without."""
        names = self._job.avoid.get(item.name, ()) if schedule.avoids(index) else ()
        return any(TRIGGERS[name](mod) for name in names)

    def _prepare(
        self, item: Item, mod: tvm.IRModule, origin: Origin, ordinal: int, skip: bool
    ) -> _Prepared | None:
        """The check that an item stands for here; None where it does not apply to this module."""
        if item.name in self._job.banned:
            return None
        random = Random(entropy("variant", origin.seed, origin.index, origin.stage, item.name))
        sampled = () if self._job.oracles is not None else schedule.oracles(random)
        if item.kind is Kind.PIPELINE:
            return _Prepared(pipeline=item.name, sampled=sampled)
        self._journal.place(origin.index, origin.stage, ordinal, item.name)
        if item.kind is Kind.PASS:
            call = self._call(item.name, mod, random)
            if call is None:
                return None
            return _Prepared((call,), None, self._contracts[item.name], sampled)
        # A dead process may have died of putting the sequence together.
        return _Prepared() if skip else self._sequence(mod, origin, ordinal, random)

    def _call(self, name: str, mod: tvm.IRModule, random: Random) -> PassCall | None:
        self._journal.step(f"requires {name}")
        contract = self._contracts[name]
        if contract.requires(mod) is not None:
            return None
        return contract.variants(Choices(random.randbytes(CHOICES)), mod)

    def _sequence(
        self, mod: tvm.IRModule, origin: Origin, ordinal: int, random: Random
    ) -> _Prepared | None:
        """Two to five passes, each of which applies to what the ones before it make."""
        at_home = [
            item
            for item in self._items
            if item.kind is Kind.PASS
            and origin.stage in item.stages
            and item.name not in self._job.banned
        ]
        if not at_home:
            return None
        length = random.randint(*schedule.SEQUENCE_LENGTHS)
        calls: tuple[PassCall, ...] = ()
        for item in random.choices(at_home, [item.share for item in at_home], k=length):
            call = self._call(item.name, mod, random)
            if call is None:
                continue
            calls = (*calls, call)
            self._journal.place(origin.index, origin.stage, ordinal, "sequence", calls)
            self._journal.step("sequence")
            try:
                mod = call.run(mod)
            except MemoryError:
                raise
            except Exception:
                return None  # the pass by itself gets its own checks
        return _Prepared(calls) if len(calls) > 1 else None

    def _check(
        self,
        item: Item,
        mod: tvm.IRModule,
        prepared: _Prepared,
        origin: Origin,
        ordinal: int,
        watched: Watch,
    ) -> tuple[list[Violation], bool, tuple[str, ...]]:
        """What is wrong, whether a pass changed the module, the oracles above tier 1 asked."""
        calls, pipeline = prepared.calls, prepared.pipeline
        self._journal.place(origin.index, origin.stage, ordinal, item.name, calls, pipeline)
        case = Case(mod, calls, pipeline)

        changed = False
        asked: tuple[str, ...] = ()

        def watch(runs: PassRuns) -> None:
            nonlocal changed, asked
            changed = runs.changed
            asked = tuple(
                name for name in runs.asked if ORACLES[name].tier > 1 and name not in OF_PIPELINES
            )
            self._changed[item.name] = changed or self._changed.get(item.name, False)

        try:
            violations = _check(
                case,
                self._job.oracles,
                prepared.contract,
                self._journal,
                prepared.sampled,
                watch if item.kind is Kind.PASS else None,
            )
        except MemoryError:
            raise
        except Exception as error:
            watched.end(self._journal)
            self._say(failed(self._id, error, self._journal))
            return [], changed, asked
        if item.kind is Kind.PIPELINE and all(v.oracle in OF_PIPELINES for v in violations):
            wanted = self._job.oracles or prepared.sampled
            asked = tuple(name for name in wanted if name in OF_PIPELINES)
        return violations, changed, asked

    def _report(
        self,
        violations: list[Violation],
        prepared: _Prepared,
        origin: Origin,
        pristine: Given,
    ) -> bool:
        """Tell of the violations; true where the block has not told of one of them before."""
        news = False
        for violation in violations:
            what = identity(violation)
            new = what not in self._told
            self._told.add(what)
            news |= new
            wanted = new and mark(what) not in self._job.told
            self._say(
                Violated(
                    self._id,
                    violation,
                    origin,
                    prepared.calls,
                    prepared.pipeline,
                    pristine.text if wanted else None,
                )
            )
        return news
