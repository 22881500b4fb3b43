"""Checks of several passes: lists of passes as a Sequential, and TVM's pipelines step by step."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import tvm

from . import keys, pipelines
from .catalogue import catalogue
from .catalogue import contract_of as contract_of_tvms
from .catalogue.memory import killed
from .contract import Exemption, PassContract
from .oracle import Halves, Oracle
from .pass_runs import Given, Outcome, PassRuns, given
from .passcall import PassCall, pass_context
from .structural import crash, lowering_complete, sequential, well_formed
from .text.halves import both
from .violation import Case, Journal, Violation, silent

BLAMED = "Sequential"
"""Who is blamed where each pass by itself is right, and their composition is not."""

UNKNOWN = (
    Exemption(
        "values",
        "what is rewritten may use a variable after what was its last use, and so after its kill",
        "docstring of KillAfterLastUse: 'Drop all tensor/storage objects after last use'",
        killed,
    ),
)
"""What a pass need not promise of which nothing is known."""

NESTED = "a Sequential inside a Sequential does not do what its passes do"
DISABLED = "Sequential does not leave out exactly the passes that the context disables"


def contract_of(call: PassCall) -> PassContract:
    """The catalogue's contract of the pass, or of the one it is like.

    Of other passes of TVM nothing is known; a user's own pass keeps the strict contract.
    """
    if call.like is not None:
        return dataclasses.replace(
            catalogue[call.like], name=call.name, variants=lambda choices, mod: call
        )
    known = None if call.factory else contract_of_tvms(call.name)
    return known or PassContract(
        name=call.name, variants=lambda choices, mod: call, exemptions=UNKNOWN
    )


def documented(call: PassCall) -> bool:
    """The pass is one of TVM's own, which the catalogue describes."""
    return call.factory is None and call.name in catalogue


ASKED = (
    crash.ORACLE,
    well_formed.ORACLE,
    sequential.DETERMINISTIC,
    sequential.REPEATABLE,
    sequential.SEQUENTIAL,
    lowering_complete.ORACLE,
)
"""The oracles that look at several passes, too."""


def check_pipeline(mod: tvm.IRModule, name: str, journal: Journal) -> list[Violation]:
    """The first step of a pipeline that crashes or breaks the module; what is not lowered.

    Raises:
        UnknownPipeline: no such pipeline.
    """
    calls = pipelines.steps(name)
    reached, violation = _walk(mod, calls, journal)
    found = [left for _, left in _not_lowered(reached, calls)]
    return found if violation is None else [*found, violation]


def check_list(mod: tvm.IRModule, calls: Sequence[PassCall], journal: Journal) -> Violation | None:
    """The first pass that fails on its way; else the difference that Sequential makes."""
    reached, violation = _walk(mod, calls, journal)
    if violation is not None or len(reached) <= len(calls):
        return violation
    calls = _enabled(calls)
    runs = _subject(mod, calls, journal)
    explained = sequential.explanation(runs)
    if explained is None:
        if runs.given.mark & 2:
            difference = _unlike(runs.direct, _nest(runs), NESTED)
        else:
            difference = _unlike(*_disable(runs), DISABLED)
        if difference is None:
            return None
        explained = sequential.by_chance(runs)
        if explained is None:
            return difference.blame("sequential", BLAMED)
    oracle, violation = explained
    culprit = _culprit(runs, calls, journal)
    if contract_of(culprit).exemption("chance", mod, culprit):
        return None
    return violation.blame(oracle, culprit.name)


def _enabled(calls: Sequence[PassCall]) -> list[PassCall]:
    """Sequential leaves out what is above the context's opt_level, and documents that."""
    most = pass_context(_config(calls)).opt_level
    return [call for call in calls if call.build().info.opt_level <= most]


def halves(case: Case, violation: Violation) -> Halves | None:
    """The two runs of several passes that differ."""
    runs = _subject(case.mod, _enabled(case.calls), silent)
    if violation.title.startswith(NESTED):
        return both(runs.direct, "one pass after the other", _nest(runs), "nested Sequential")
    if violation.title.startswith(DISABLED):
        without, disabled = _disable(runs)
        return both(without, "without the pass", disabled, "with the pass disabled")
    return sequential.halves(runs, violation)


def step_before(
    mod: tvm.IRModule, calls: Sequence[PassCall], violation: Violation
) -> tuple[tvm.IRModule, PassCall] | None:
    """The module and the call at which the walk over `calls` meets this violation."""
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
    """What is wrong with the first step of a pipeline that breaks the promise on what the ones
    before it give; nothing where a step may refuse that. None: no step is to blame.
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
        # The pipeline runs the pass on what does not meet its conditions, too.
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
    """The module that each pass of a list is given, up to the first pass that raises."""
    config = _config(calls)
    reached = [mod]
    for call in calls[:-1]:
        runs = PassRuns(reached[-1], (call,), contract_of(call), config=config, alone=True)
        if runs.direct.mod is None:
            break
        reached.append(runs.direct.mod)
    return reached


def first_fault(mod: tvm.IRModule, calls: Sequence[PassCall], journal: Journal) -> Violation | None:
    """What the first of the passes one after the other does that breaks its own contract."""
    return _walk(mod, calls, journal)[1]


def _config(calls: Sequence[PassCall]) -> dict[str, Any]:
    return {key: value for call in calls for key, value in call.config.items()}


def _walk(
    mod: tvm.IRModule, calls: Sequence[PassCall], journal: Journal
) -> tuple[list[tvm.IRModule], Violation | None]:
    """The modules up to a pass that refuses or is wrong, and what is wrong with it."""
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
    """Calls that a pass ought to have lowered, with the number of the pass that is blamed."""
    for legalizer, call in enumerate(calls):
        if lowering_complete.lowers(contract_of(call), call):
            return [
                (number, left.blame(lowering_complete.ORACLE.name, calls[number].name))
                for number, left in lowering_complete.of_pipeline(reached, calls, legalizer)
            ]
    return []


def _subject(mod: tvm.IRModule, calls: Sequence[PassCall], journal: Journal) -> PassRuns:
    contract = PassContract(name=BLAMED, variants=lambda choices, mod: None)
    return PassRuns(mod, calls, contract, journal=journal)


def _culprit(runs: PassRuns, calls: Sequence[PassCall], journal: Journal) -> PassCall:
    """The last pass of the shortest beginning of the list that shows a difference."""
    for length in range(1, len(calls)):
        beginning = _subject(runs.given.copy(), calls[:length], journal)
        if sequential.explanation(beginning) or sequential.by_chance(beginning):
            return calls[length - 1]
    return calls[-1]


def _nest(runs: PassRuns) -> Outcome:
    """[p, [q, r]], which must do what [p, q, r] does."""
    passes = runs.passes
    nested = tvm.transform.Sequential([*passes[:1], tvm.transform.Sequential(passes[1:])])
    return runs.attempt("nested Sequential", runs.under(nested), runs.mod)


def _disable(runs: PassRuns) -> tuple[Outcome, Outcome]:
    """[q, r], and [p, q, p, r] with p disabled, which must do the same."""
    names = [str(pass_.info.name) for pass_ in runs.passes]
    disabled = names[(runs.given.mark >> 2) % len(names)]

    def kept(mod: tvm.IRModule) -> tvm.IRModule:
        for call, pass_, name in zip(runs.calls, runs.passes, names, strict=True):
            if name != disabled:
                # It is given another module than on the walk: if it dies of that, it is to blame.
                runs.step(call.name)
                # Some passes are a Sequential inside, which leaves out what is disabled, too.
                mod = runs.under(pass_, disabled_pass=[disabled])(mod)
        return mod

    expected = runs.attempt("without a pass", kept, runs.mod)
    whole = runs.under(tvm.transform.Sequential(runs.passes), disabled_pass=[disabled])
    return expected, runs.attempt("disabled pass", whole, runs.mod)


def _unlike(expected: Outcome, actual: Outcome, what: str) -> Violation | None:
    if expected.mod is not None and actual.mod is not None:
        return keys.mismatch(expected.mod, actual.mod, what)
    return None if expected.mark == actual.mark else Violation.titled(what)
