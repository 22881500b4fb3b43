"""Checks of several passes: lists of passes as a Sequential, and TVM's pipelines step by step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tvm

from . import pipelines
from .catalogue import contract_of
from .contract import PassContract
from .oracle import Halves, Oracle
from .pass_runs import Given, PassRuns, given
from .passcall import PassCall, pass_context
from .structural import crash, lowering_complete, sequential, well_formed
from .violation import Case, StepJournal, Violation, silent

BLAMED = "Sequential"
"""Name of the contract of several passes together."""


ASKED = (
    crash.ORACLE,
    well_formed.ORACLE,
    sequential.DETERMINISTIC,
    sequential.REPEATABLE,
    sequential.SEQUENTIAL,
    lowering_complete.ORACLE,
)
"""The oracles that also check several passes at once."""


def check_pipeline(mod: tvm.IRModule, name: str, journal: StepJournal) -> list[Violation]:
    """Violations: calls that stay unlowered, and the first step that crashes or breaks the module.

    Raises:
        UnknownPipeline: no pipeline has the name.
    """
    calls = pipelines.steps_on(mod, name)
    reached, violation = _walk(mod, calls, journal)
    found = [left for _, left in _not_lowered(reached, calls)]
    return found if violation is None else [*found, violation]


def check_list(
    mod: tvm.IRModule, calls: Sequence[PassCall], journal: StepJournal
) -> Violation | None:
    """The violation of the first pass that fails; else the difference that Sequential makes."""
    reached, violation = _walk(mod, calls, journal)
    if violation is not None or len(reached) <= len(calls):
        return violation
    calls = _enabled(calls)
    runs = _subject(mod, calls, journal)
    explained = sequential.explanation(runs)
    if explained is None:
        return None
    oracle, violation = explained
    culprit = _culprit(runs, calls, journal)
    if contract_of(culprit).exemption("chance", mod, culprit):
        return None
    return violation.blame(oracle, culprit.name)


def _enabled(calls: Sequence[PassCall]) -> list[PassCall]:
    """The passes up to the context's opt_level; Sequential documents that it skips the others."""
    most = pass_context(_config(calls)).opt_level
    return [call for call in calls if call.build().info.opt_level <= most]


def halves(case: Case, violation: Violation) -> Halves | None:
    """The two runs of several passes that differ."""
    runs = _subject(case.mod, _enabled(case.calls), silent)
    return sequential.halves(runs, violation)


def step_before(
    mod: tvm.IRModule, calls: Sequence[PassCall], violation: Violation
) -> tuple[tvm.IRModule, PassCall] | None:
    """The module and call at which a walk over `calls` meets this violation."""
    reached, last = _walk(mod, calls, silent)
    found = _not_lowered(reached, calls)
    if last is not None:
        found.append((len(reached) - 1, last))
    for number, each in found:
        wanted = violation.oracle, violation.key, violation.place
        if (each.oracle, each.key, each.place) == wanted:
            return reached[number], calls[number]
    return None


def at_step(oracle: Oracle, runs: PassRuns) -> tuple[Violation, ...] | None:
    """Violations of the first step of a pipeline that breaks the promise.

    Each step gets the result of the steps before it. Empty if a step rejects its input; None if no
    step is to blame.
    """
    if runs.contract.steps is None:
        return None
    mod = runs.given.copy()
    for call in runs.contract.steps(runs.call):
        contract = contract_of(call)
        runs.step(call.name)
        alone = PassRuns(
            *(mod, (call,), contract),
            alone=True,
            thorough=runs.thorough,
            all_kinds=runs.all_kinds,
        )
        # The pipeline runs the pass even on modules that do not meet its conditions.
        if contract.requires(mod) is None and oracle.promised(alone):
            found = oracle.violations(alone)
            if found:
                return tuple(each.blame(oracle.name, call.name) for each in found)
        if (error := alone.direct.error) is not None:
            return () if alone.rejected(error) else None
        assert alone.direct.mod is not None
        mod = alone.direct.mod
    return None


def reach(mod: tvm.IRModule, calls: Sequence[PassCall]) -> list[tvm.IRModule]:
    """The input module of each pass of a list, up to the first pass that raises."""
    config = _config(calls)
    reached = [mod]
    for call in calls[:-1]:
        runs = PassRuns(reached[-1], (call,), contract_of(call), config=config, alone=True)
        if runs.direct.mod is None:
            break
        reached.append(runs.direct.mod)
    return reached


def _config(calls: Sequence[PassCall]) -> dict[str, Any]:
    return {key: value for call in calls for key, value in call.config.items()}


def _walk(
    mod: tvm.IRModule, calls: Sequence[PassCall], journal: StepJournal
) -> tuple[list[tvm.IRModule], Violation | None]:
    """The modules up to a pass that refuses or is wrong, and its violation."""
    config = _config(calls)
    reached = [mod]
    known = given(mod)
    for call in calls:
        contract = contract_of(call)
        if contract.requires(mod) is not None:
            return reached, None
        journal(call.name)
        runs = PassRuns(mod, (call,), contract, config=config, alone=True, known=known)
        for oracle in (crash.ORACLE, well_formed.ORACLE):
            violations = oracle.violations(runs)
            if violations and oracle.promised(runs):
                steps = at_step(oracle, runs)
                for found in violations if steps is None else steps:
                    return reached, found.blame(oracle.name, call.name)
        if runs.direct.mod is None:
            return reached, None
        mod = runs.direct.mod
        mark = runs.direct.mark
        assert isinstance(mark, int)
        known = Given(mod, mark)
        reached.append(mod)
    return reached, None


def _not_lowered(
    reached: Sequence[tvm.IRModule], calls: Sequence[PassCall]
) -> list[tuple[int, Violation]]:
    """Violations for calls that a pass ought to have lowered, each with the index of that pass."""
    for legalizer, call in enumerate(calls):
        if lowering_complete.lowers(contract_of(call), call):
            return [
                (number, left.blame(lowering_complete.ORACLE.name, calls[number].name))
                for number, left in lowering_complete.of_pipeline(reached, calls, legalizer)
            ]
    return []


def _subject(mod: tvm.IRModule, calls: Sequence[PassCall], journal: StepJournal) -> PassRuns:
    contract = PassContract(name=BLAMED, variants=lambda choices, mod: None)
    return PassRuns(mod, calls, contract, journal=journal)


def _culprit(runs: PassRuns, calls: Sequence[PassCall], journal: StepJournal) -> PassCall:
    """The last pass of the shortest prefix of the list that shows a difference."""
    for length in range(1, len(calls)):
        beginning = _subject(runs.given.copy(), calls[:length], journal)
        if sequential.explanation(beginning) or sequential.by_chance(beginning):
            return calls[length - 1]
    return calls[-1]
