"""Measures the consequence of a violation for users: in builds, and in the pass by itself.

The minimized module is built as users build it and run in the VM. If no VM can run it, or only the
sanitizer sees the fault, it goes through the passes of the pipeline up to the blamed one. All of
this happens in forks, which may die.
"""

from __future__ import annotations

import dataclasses
import signal
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tvm import relax

from ..compat import availability
from ..generators.ops.record import Tolerance
from ..generators.ops.undefined import Behaviour
from ..generators.prim_funcs.kernels import TARGETS
from ..generators.stages import Stage, between, chain, expression, steps
from . import composition, pipelines
from .catalogue import contract_of
from .catalogue.gpu_pipelines import RELAX, device_of, steps_for
from .check import check
from .execute import Failure, ProcessDeath, execute
from .execute.fork import in_fork
from .expected.comparison import difference
from .expected.expectation import Expectation
from .expected.inputs import ORDINARY
from .explain.steps import along, steps_of
from .grades.consequence import Consequence, Effect, Where
from .grades.rare import is_contrived
from .identify import failure_of, identity_of
from .identity import FailureKind, is_alike
from .inspect import entries, relax_functions
from .metamorphic import history, scripted
from .metamorphic.fresh_process import PAST
from .metamorphic.questions import WITH_INFINITY, WITH_NAN
from .oracle import About
from .pass_runs import PassRuns, given
from .passcall import PassCall, is_users, pass_context
from .structural import crash, devices, idempotence, mutation, well_formed
from .structural.interface import LESS_KNOWN
from .tensorir.sanitizer.runtime import MEMORY
from .tiers import ORACLES
from .values import executed, pipeline_values, sanitized
from .values.sides import KINDS
from .violation import Case, StepJournal, Violation, silent

_IN_RESULTS = frozenset(FailureKind) - {FailureKind.MUTATES, FailureKind.UNSTABLE}
"""Failures that a build may show in its result."""


def consequence(
    case: Case, violation: Violation, journal: StepJournal = silent
) -> Consequence | None:
    """The gravest consequence of a violation that the module of the case shows.

    None if not known, because nothing that users call can be run on the module.
    """
    found = list(_Measure(case, violation, journal).all())
    return min(found, key=lambda each: each.rank, default=None)


def reported(violation: Violation) -> Effect | None:
    """The effect that the report itself states; None: it depends on later uses of the result."""
    failure, _ = failure_of(violation)
    if failure is FailureKind.DIES or not set(violation.key).isdisjoint(signal.Signals.__members__):
        return Effect.DIES
    if violation.oracle == scripted.TVMSCRIPT.name:
        return Effect.LESS
    if failure is FailureKind.RAISES or violation.raised is not None:
        return Effect.UNBUILT
    if failure is FailureKind.ILL_FORMED and violation.oracle != well_formed.ORACLE.name:
        # Any user of a result of another type raises.
        less = violation.key[:1] == (LESS_KNOWN,) or violation.oracle == devices.ORACLE.name
        return Effect.LESS if less else Effect.UNBUILT
    if failure is not FailureKind.VALUES:
        return None
    kinds = (*MEMORY, Behaviour.INDEX)
    of_memory = any(kind in part for kind in kinds for part in violation.key)
    of_memory |= violation.oracle == sanitized.ORACLE.name
    return Effect.MEMORY if of_memory else Effect.VALUES


def stated(violation: Violation) -> Consequence:
    """The consequence as the report states it, for a pass or function of TVM called by itself."""
    effect = reported(violation)
    if effect is None:
        effect = Effect.UNBUILT if _spoils(violation) else Effect.NOTHING
    return Consequence(effect, Where.ALONE)


def assumed(violation: Violation) -> Consequence:
    """The consequence assumed until it is measured: the gravest that the report allows."""
    unknown = reported(violation) is None
    ill_formed = unknown and failure_of(violation)[0] is FailureKind.ILL_FORMED
    effect = Effect.VALUES if ill_formed else stated(violation).effect
    return Consequence(effect, Where.PIPELINE)


def _spoils(violation: Violation) -> bool:
    """True if code after the pass may fail: the result, the input or the process state is not as
    promised."""
    oracle = ORACLES.get(violation.oracle)
    if oracle is None or oracle is history.ORACLE or violation.key[:1] == (PAST,):
        return True
    if oracle is idempotence.ORACLE or oracle.breach_of(violation.key).hint:
        return False
    failure, _ = failure_of(violation)
    return failure is not FailureKind.UNSTABLE and oracle.about is not About.RUNS


class _Measure:
    def __init__(self, case: Case, violation: Violation, journal: StepJournal) -> None:
        self._case = case
        self._violation = violation
        self._journal = journal
        self._failure, _ = failure_of(violation)
        self._reported = reported(violation)
        self._device = device_of(case.mod)
        self._relax = any(True for _ in relax_functions(case.mod))

    def all(self) -> Iterator[Consequence]:
        """Yields the consequences in builds, then that of the pass alone."""
        contrived = is_contrived(self._case.mod) or self._is_undefined()
        own = any(map(is_users, self._case.calls))
        built = () if own or self._failure not in _IN_RESULTS else tuple(self._in_builds())
        for where, seen in built:
            yield Consequence(seen, Where.CONTRIVED if contrived else where)
        if built and self._case.pipeline is not None:
            return
        oracle = ORACLES.get(self._violation.oracle)
        of_build = self._case.pipeline == pipelines.BUILT and (
            oracle is None or oracle.about is not About.OPERATORS
        )
        alone = Where.BUILD if own or of_build else Where.ALONE
        if not own and (contrived or not self._is_ordinary()):
            alone = Where.CONTRIVED
        if own and self._reported is None and _spoils(self._violation):
            yield Consequence(Effect.UNBUILT, alone)
        if (effect := self._alone()) is not None:
            yield Consequence(effect, alone)

    def _is_undefined(self) -> bool:
        """True if no operator's documentation promises the result of a function.

        An exception then counts as a late refusal, the death of a process does not. Shape arguments
        exclude this, as they are not chosen to fit.
        """
        mod = self._case.mod
        params = (param.ty for _, func in relax_functions(mod) for param in func.params)
        shapes = any(isinstance(ty, relax.ShapeType) for ty in params)
        if shapes or self._reported not in (None, Effect.UNBUILT):
            return False
        expected = given(mod).expectations
        expected.all(journal=self._journal)
        return any(expected.is_open(str(gvar.name_hint)) for gvar, _ in entries(mod))

    def _is_ordinary(self) -> bool:
        """True unless wrong values or accesses show only on unusual arguments."""
        if any(each in part for each in (WITH_NAN, WITH_INFINITY) for part in self._violation.key):
            return False
        if self._reported not in (Effect.VALUES, Effect.MEMORY) or len(self._case.calls) != 1:
            return True
        return self._shown(self._case.calls)

    def _in_builds(self) -> Iterator[tuple[Where, Effect]]:
        if self._device is None:
            for name, options in self._builds():
                usual = name == pipelines.BUILT and not options
                yield from self._built(Where.BUILD if usual else Where.PIPELINE, name, options)
        if self._reported is not None and len(self._case.calls) == 1:
            lists = ((where, calls) for where, calls in self._lists() if self._shows(calls))
            where, _ = next(lists, (None, ()))
            if where is not None:
                yield where, self._reported

    # Whole builds for the CPU

    def _builds(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """The pipelines that run the passes of the case, with the options that it needs."""
        if self._case.pipeline is not None:
            yield from (
                (name, {}) for name in dict.fromkeys((pipelines.BUILT, self._case.pipeline))
            )
        if len(self._case.calls) != 1:
            return
        (call,) = self._case.calls
        if not self._relax:
            if any(self._lists()):
                yield pipelines.BUILT, {}
            return
        off = availability.current().pipelines
        for name in (pipelines.BUILT, pipelines.FUSING):
            if name not in off and call.name in pipelines.run_by_builds(name):
                yield name, {}
                if call.config:
                    yield name, call.config

    def _built(
        self, where: Where, name: str, options: Mapping[str, Any]
    ) -> Iterator[tuple[Where, Effect]]:
        mod = self._case.mod
        with pass_context(options):
            if options:
                expected, _ = pipeline_values.outcomes(mod, pipelines.BUILT, silent)
                actual = execute(mod, [e.plan() for e in expected], name)
            else:
                expected, actual = pipeline_values.outcomes(mod, name, self._journal)
            if isinstance(actual, ProcessDeath):
                yield where, Effect.DIES
            elif isinstance(actual, Failure):
                if self._is_its(actual, name):
                    yield where, Effect.UNBUILT
            elif actual is not None:
                for e, effect in _wrong(expected, actual):
                    yield where if e.kind in ORDINARY else Where.CONTRIVED, effect

    def _is_its(self, failure: Failure, name: str) -> bool:
        """True if a build fails for this bug: a pass after the blamed one may notice it."""
        if self._failure is FailureKind.VALUES:
            return False
        if self._reported is Effect.UNBUILT:
            return _same_place(self._violation, failure.violation)
        if failure.step == "build":
            refused = pipeline_values.REFUSALS.search(failure.text)
            return not refused or self._failure is FailureKind.FORM
        order = [call.name for call in pipelines.steps(name)]
        broken = along(self._case.mod, steps_of(name), self._journal).broken
        names = {call.name for call in self._case.calls} & set(order)
        if broken is None or broken.step not in order or not names:
            return False
        return order.index(broken.step) >= min(map(order.index, names))

    # Pipelines up to the blamed pass

    def _lists(self) -> Iterator[tuple[Where, Sequence[PassCall]]]:
        """The passes of each pipeline up to the first call of the blamed one."""
        (call,) = self._case.calls
        for where, calls in self._whole_lists():
            places = [i for i, each in enumerate(calls) if each.name == call.name]
            if places:
                calls = calls[: places[0] + 1]
                yield where, calls
                if call.config:
                    yield (
                        Where.PIPELINE,
                        [dataclasses.replace(each, config=call.config) for each in calls],
                    )

    def _whole_lists(self) -> Iterator[tuple[Where, Sequence[PassCall]]]:
        unseen = self._reported is Effect.MEMORY or self._failure is FailureKind.ILL_FORMED
        if self._device is None and self._relax and unseen:
            yield Where.BUILD, pipelines.steps(pipelines.BUILT)
            yield Where.PIPELINE, pipelines.steps(pipelines.FUSING)
        if not self._relax:
            first = Stage.TENSORIR if self._device is None else Stage.REDUCTIONS_LOWERED
            names = [name for each in between(first, chain(first)[-1]) for name in steps(each)]
            yield Where.BUILD, [PassCall(expression(name)) for name in names]
        if RELAX in availability.current().passes:  # this TVM lacks one of its steps
            return
        devices = TARGETS if self._relax and not any(self._builds()) else [self._device]
        yield from ((Where.PIPELINE, steps_for(each)) for each in devices if each is not None)

    def _shows(self, calls: Sequence[PassCall]) -> bool:
        """True if the last of these passes shows the violation on the result of the others."""
        self._journal("pipeline up to the pass")
        if self._reported is not Effect.DIES:
            return self._shown(calls)
        answers, end = in_fork(lambda: iter([self._shown(calls)]))
        return end is not None or answers == [True]

    def _shown(self, calls: Sequence[PassCall]) -> bool:
        """True if the last of these passes shows the violation on arguments that models have."""
        reached = composition.reach(self._case.mod, calls)
        if len(reached) < len(calls):
            return False
        oracle = self._violation.oracle
        asked = (oracle if oracle in ORACLES else crash.ORACLE.name,)
        token = KINDS.set(ORDINARY)
        try:
            found = check(Case(reached[-1], (calls[-1],)), oracles=asked, journal=self._journal)
        finally:
            KINDS.reset(token)
        wanted = identity_of(self._violation, self._case.calls)
        return any(is_alike(identity_of(each, calls[-1:]), wanted) for each in found)

    # The pass alone

    def _alone(self) -> Effect | None:
        if self._reported is not None:
            return self._reported
        if self._failure is FailureKind.UNSTABLE:
            return Effect.NOTHING
        if len(self._case.calls) != 1:
            return None
        (call,) = self._case.calls
        mod = self._case.mod
        runs = PassRuns(mod, (call,), contract_of(call), journal=self._journal, alone=True)
        self._journal("execute the module")
        if self._violation.oracle == mutation.ORACLE.name:
            expected, before = pipeline_values.outcomes(mod, pipelines.BUILT, self._journal)
            others, after = expected, mod if runs.direct.mod else None
        else:
            expected, others = executed.calls(runs)
            before, after = execute(mod, [e.plan() for e in expected]), runs.direct.mod
        if after is None:
            return None
        self._journal("execute the result")
        # TensorIR that this build refuses may be for another device.
        unknown = before is None or (isinstance(before, Failure) and not self._relax)
        actual = None if unknown else execute(after, [e.plan() for e in others])
        if isinstance(before, Failure) and not unknown and not _is_new(actual, before):
            return self._otherwise(known=True)
        called = {e.function for e in expected}
        known = actual is not None and all(str(g.name_hint) in called for g, _ in entries(mod))
        if isinstance(before, list) and isinstance(actual, list):
            expected, actual = _of_the_pass(expected, before, actual)
        return _seen(expected, actual, self._otherwise(known=known))

    def _otherwise(self, *, known: bool) -> Effect:
        """The effect of a result in which builds show nothing.

        Args:
            known: both result and module were built, and all public functions were called.
        """
        if self._failure is FailureKind.ILL_FORMED and not known:
            return Effect.UNBUILT
        return Effect.LESS if self._failure is FailureKind.FORM else Effect.NOTHING


def _same_place(one: Violation, other: Violation) -> bool:
    """True if two exceptions come from the same function and condition of TVM."""
    here, there = (each.trace.functions[-1:] for each in (one, other))
    return bool(here) and (one.trace.condition, here) == (other.trace.condition, there)


def _is_new(outcome: list[Any] | Failure | None, before: Failure) -> bool:
    """True if a result fails in another way than the module before."""
    return isinstance(outcome, Failure) and not (
        outcome.text == before.text or _same_place(outcome.violation, before.violation)
    )


def _of_the_pass(
    expected: Sequence[Expectation], before: Sequence[Any], after: Sequence[Any]
) -> tuple[list[Expectation], list[Any]]:
    """The calls and their results, without those that failed in the same way before the pass."""
    kept = [
        (e, value)
        for e, one, value in zip(expected, before, after, strict=True)
        if not isinstance(one, Failure) or _is_new(value, one)
    ]
    return [e for e, _ in kept], [value for _, value in kept]


def _wrong(
    expected: Sequence[Expectation], actual: Sequence[Any]
) -> Iterator[tuple[Expectation, Effect]]:
    """Yield the calls whose results differ from the expected ones, each with the effect.

    Values that are right except for the last digits have a lesser effect. A result of another type
    than inferred counts as not built, since its users raise.
    """
    for e, value in zip(expected, actual, strict=True):
        wrong = e.differs(value)
        of_values = wrong is not None and wrong.startswith("values")
        if wrong is None or (of_values and not e.promised):
            continue
        if of_values and difference(e.result, value, (), Tolerance()) is None:
            yield e, Effect.LESS
        else:
            yield e, Effect.VALUES if of_values else Effect.UNBUILT


def _seen(
    expected: Sequence[Expectation], actual: list[Any] | Failure | None, otherwise: Effect
) -> Effect:
    """The gravest effect in the results of a build; `otherwise` if nothing is wrong or known."""
    if isinstance(actual, Failure):
        return Effect.DIES if isinstance(actual, ProcessDeath) else Effect.UNBUILT
    if actual is None:
        return otherwise
    wrong = (effect for e, effect in _wrong(expected, actual) if e.kind in ORDINARY)
    return min(wrong, key=list(Effect).index, default=otherwise)
