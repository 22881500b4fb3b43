"""Trials of everything that campaigns need from this TVM. A trial that raises has failed.

An exception or the death of a *pass* of TVM does not fail a trial, since campaigns find these.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

import tvm
from tvm import relax

from ...compat import availability, ir
from ...compat.availability import Availability
from ...compat.drift import Drift, drift_of
from ...corpus.models import MODELS
from ...generators import functions, idioms, stages
from ...generators.bindings import KINDS
from ...generators.choices import Choices
from ...generators.families import DEFAULT, FAMILIES, Family, family_of
from ...generators.module_scope import ModuleScope
from ...generators.modules import ir_modules
from ...generators.ops import table
from ...generators.seeds import Piece, pieces_of
from ...generators.stages import Stage
from ...generators.traits import IMPLIES, Trait
from ...oracles import pipelines
from ...oracles.catalogue import catalogue
from ...oracles.check import OF_PIPELINES, check
from ...oracles.checkers import flaw
from ...oracles.contract import PassContract
from ...oracles.passcall import PassCall, public_passes
from ...oracles.violation import Case
from ..process.context import Context
from ..process.protocol import Job
from .draw import entropy, example

SAMPLES = 8
"""Number of modules for trials of passes and oracles."""

FEW, SOME, MANY = 4, 8, 12
"""Number of modules for one trial: of an operator on plain tensors, of an operator on other
operands, and of a trait or an idiom."""

BINDINGS = 4
"""Number of bindings drawn for such a module."""

STRIDE = 5
"""A cheap oracle is tried on every fifth module at all stages."""

TYPES = (
    Trait.SYMBOLIC_SHAPES,
    Trait.COMPOSITE_DIMS,
    Trait.INCOMPLETE_TYPES,
    Trait.ZERO_SIZE,
    Trait.UNIT_DIMS,
    Trait.DTYPES,
    Trait.CONSTANTS,
    Trait.VDEVICES,
)
"""The traits that change the types of operands."""

CHECKS = 2
"""Checks in which a contract is asked for its variants."""

VARIANTS = 16
"""Draws of arguments for the module of such a check; for other modules, one draw."""

BYTES = 64
"""Bytes that decide one idiom or variant."""

PIECE = 10
"""Most bindings in a piece of a shipped module; more would make modules larger than usual."""

RUN = "run passes"
"""The step in which a death is attributed to a pass of TVM."""

_SEED = "probe"

KEEPS_ALL = PassCall("keeps_all()", factory=f"{__name__}:keeps_all")


@dataclass(frozen=True, slots=True)
class TrialResult:
    """The outcome of one trial."""

    name: str
    reason: str | None
    """Reason for the failure."""
    pieces: tuple[Piece, ...] = ()
    """The pieces into which a model was cut."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Try(Job[TrialResult]):
    """Make some trials of one kind."""

    trial: str
    """The kind of trial: a key of `TRIALS`."""
    names: tuple[str, ...]
    availability: Availability
    """The findings so far; further trials do not use anything that is off."""
    samples: tuple[str, ...] = ()
    """Names of modules that pass through the stages without killing the process, see `_sample`."""
    strides: Mapping[str, int] = field(default_factory=dict)
    """Like `STRIDE`, for expensive oracles, by name."""


def attempt(job: Try, context: Context[TrialResult]) -> None:
    """Report the outcome of each trial as it comes."""
    availability.use(job.availability)
    trial = TRIALS[job.trial]
    for number, name in enumerate(job.names):
        context.journal.position(number, Stage.RAW, item=name)
        context.journal.step(job.trial)
        try:
            pieces = trial(name, job, context.journal.step)
        except StageFailed as stopped:
            context.report(TrialResult(name, str(stopped)))
        except Exception as error:
            context.report(TrialResult(name, reason(error)))
        else:
            context.report(TrialResult(name, None, pieces or ()))


def reason(error: Exception) -> str:
    """The reason for a failure, in one sentence."""
    first = (str(error).strip().splitlines() or [""])[0]
    return drift_of(error) or f"{type(error).__name__}: {first}"[:200]


Step = Callable[[str], None]


# Generators


def _operator_alone(name: str, job: Try, step: Step) -> None:
    """Try an operator on tensors of known shapes."""
    _draw(name, FEW, ops=[name], force=_needs(name), only=(), max_functions=1)


def _operator(name: str, job: Try, step: Step) -> None:
    """Try an operator on operands of all types."""
    _draw(name, SOME, ops=[name], force=_needs(name), only=TYPES, max_functions=1)


def _needs(operator: str) -> tuple[Trait, ...]:
    needs = table[operator].needs
    return () if needs is None else (needs,)


def _trait(name: str, job: Try, step: Step) -> None:
    for implied in IMPLIES.get(Trait(name), ()):
        if implied in job.availability.traits:
            raise Drift(f"without the trait {implied} it has no meaning")
    ops = [op for op in table.values() if op.needs is None and op.name not in job.availability.ops]
    for kind in KINDS:
        if kind.trait == name:  # many modules with the trait lack this kind
            _emitted(name, job, {kind.trait}, kind.emit, ops, ())
    _draw(name, MANY, force=[name], only=(), max_functions=3)


def _idiom(name: str, job: Try, step: Step) -> None:
    idiom = next(each for each in idioms.IDIOMS if each.name == name)
    _emitted(name, job, set(), idiom.emit)


def _emitted(
    name: str, job: Try, force: set[Trait], emit: Callable[..., None], *more: object
) -> None:
    """Make functions from nothing but the output of `emit(choices, scope, *more)`."""
    traits = sorted(frozenset(Trait) - frozenset(map(Trait, job.availability.traits)))
    for index in range(MANY):
        random = Random(entropy(_SEED, name, index))
        choices = Choices(random.randbytes(BYTES))
        module = ModuleScope(frozenset(random.sample(traits, len(traits) // 2)) | force)
        if Trait.VDEVICES in module.traits:
            module.vdevices = [ir.VDevice("llvm", 0, "global")]
        scope = functions.scope(choices, module)
        emit(choices, scope, *more)
        functions.finish(scope, scope.tensor(choices).expr)


def _draw(name: str, count: int, **settings: Any) -> None:
    strategy = ir_modules(max_bindings=BINDINGS, **settings)
    for index in range(count):
        example(strategy, entropy(_SEED, name), index)


# Stages


def _step(name: str, job: Try, step: Step) -> None:
    PassCall(stages.expression(name)).build()


def _walk(name: str, job: Try, step: Step) -> None:
    """Walk a sample through the stages; a failure names the step at which it ends."""
    step(RUN)
    for _ in _way(name):
        pass


class StageFailed(Exception):
    """A step on the way to a stage raises or returns an ill-formed module."""


def _way(sample: str) -> Iterator[tuple[Stage, tvm.IRModule]]:
    return _through(FAMILIES[sample.partition(" ")[0]], _sample(sample))


def _through(family: Family, mod: tvm.IRModule) -> Iterator[tuple[Stage, tvm.IRModule]]:
    for stage in family.stages:
        for name in stages.steps(stage):
            try:
                mod = stages.step(mod, name)
            except Exception as error:
                raise StageFailed(f"{name}: {reason(error)}") from error
            if not relax.analysis.check_well_formed(mod):
                raise StageFailed(f"{name}: its result is ill-formed")
        yield stage, mod


@functools.cache
def _sample(name: str) -> tvm.IRModule:
    """Generate the module of this name, which consists of its family and a number."""
    family, number = name.split(" ")
    without = {Trait.NO_LEGALIZE, Trait.INCOMPLETE_TYPES} if int(number) % 2 else ()
    strategy = FAMILIES[family].modules(without=without, max_functions=2, max_bindings=6)
    return example(strategy, entropy(_SEED, "samples"), int(number))


def _samples_of(job: Try, family: str) -> tuple[str, ...]:
    return tuple(each for each in job.samples if each.partition(" ")[0] == family)


@functools.cache
def _at_stages(samples: tuple[str, ...]) -> list[tuple[Stage, tvm.IRModule]]:
    """The samples at all stages that they reach, in stage order."""
    found = []
    for sample in samples:
        try:
            found += list(_way(sample))
        except StageFailed:
            continue
    return found


# Oracles and contracts


def keeps_all() -> tvm.transform.Pass:
    """A trivially correct pass, which adds an attribute to change the module."""
    return tvm.transform.module_pass(_marked, opt_level=0, name="keeps_all")


def _marked(mod: tvm.IRModule, context: tvm.transform.PassContext) -> tvm.IRModule:
    marked = mod.clone()
    for gvar, func in mod.functions_items():
        marked.update_func(gvar, func.with_attr("relaxfuzz.probe", True))
    return marked


def _pipeline(name: str, job: Try, step: Step) -> None:
    pipelines.steps(name)


def _oracle(name: str, job: Try, step: Step) -> None:
    at_stages = _at_stages(_samples_of(job, DEFAULT))
    if name not in OF_PIPELINES:
        for _, mod in at_stages[:: job.strides.get(name, STRIDE)]:
            check(Case(mod, (KEEPS_ALL,)), oracles=(name,), journal=step)
        return
    works = [each for each in pipelines.PIPELINES if each not in job.availability.pipelines]
    raw = [mod for stage, mod in at_stages if stage is Stage.RAW]
    for mod, pipeline in zip(raw, works, strict=False):
        check(Case(mod, (), pipeline), oracles=(name,), journal=step)


def _pass(name: str, job: Try, step: Step) -> None:
    if name not in public_passes():
        raise Drift(f"this TVM has no pass {name}")
    contract = catalogue[name]
    usable = [stage for stage in contract.stages if stage not in job.availability.stages]
    family = family_of(contract.stages[0])
    if not usable:
        raise Drift(f"no module reaches its stages: {', '.join(contract.stages)}")
    random = Random(entropy(_SEED, name))
    sought = _with_what_is_sought(contract, family, job, step)
    for modules in (_at_stages(_samples_of(job, family.name)), sought):
        at_home = (mod for stage, mod in modules if stage in usable)
        if _applied(contract, at_home, random, step):
            return


def _applied(
    contract: PassContract, modules: Iterable[tvm.IRModule], random: Random, step: Step
) -> bool:
    """Build the calls of the pass for the modules, and check some; return whether there are any."""
    built, checked = False, 0
    for mod in modules:
        if contract.requires(mod) is not None:
            continue
        draws = VARIANTS if checked < CHECKS else 1
        chosen = (contract.choose(Choices(random.randbytes(BYTES)), mod) for _ in range(draws))
        calls = list(dict.fromkeys(call for call in chosen if call is not None))
        for call in calls:
            call.build()
            built = True
        if calls and checked < CHECKS:
            step(RUN)
            check(Case(mod, (calls[0],)), contract=contract)
            step("pass")
            checked += 1
    return built


def _with_what_is_sought(
    contract: PassContract, family: Family, job: Try, step: Step
) -> Iterator[tuple[Stage, tvm.IRModule]]:
    """Modules at all stages with the features that the pass looks for, if no sample has them."""
    if contract.looks_for is None:
        return
    traits = [each for each in contract.looks_for.traits if each not in job.availability.traits]
    strategy = family.modules(force=traits, max_functions=2, max_bindings=6)
    for number in range(SAMPLES):
        reached: list[tuple[Stage, tvm.IRModule]] = []
        mod = example(strategy, entropy(_SEED, contract.name), number)
        step(RUN)  # the passes before that stage are not on trial
        with contextlib.suppress(StageFailed):
            reached.extend(_through(family, mod))
        step("pass")
        yield from reached


# Seeds


def _model(name: str, job: Try, step: Step) -> tuple[Piece, ...]:
    """Build and cut a model that relaxfuzz ships."""
    made = pieces_of(MODELS[name](), name, PIECE)
    pieces = tuple(piece for piece in made if flaw(piece.load()) is None)
    if not pieces:
        raise Drift("no piece of it is well-formed at small sizes")
    return pieces


Trial = Callable[[str, Try, Step], tuple[Piece, ...] | None]

TRIALS: Mapping[str, Trial] = {
    "operator alone": _operator_alone,
    "operator": _operator,
    "trait": _trait,
    "idiom": _idiom,
    "step": _step,
    "walk": _walk,
    "pipeline": _pipeline,
    "oracle": _oracle,
    "pass": _pass,
    "model": _model,
}
"""The function that tries a name, by kind of trial."""
