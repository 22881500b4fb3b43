"""One check: every oracle over one module and one pass, a list of passes, or a pipeline."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TypeAlias

import tvm

from ..compat import availability
from ..compat.drift import Drift, drift_of
from ..generators.near import did_you_mean
from . import composition, keys, pipelines
from .catalogue import catalogue, contract_of, documented
from .checkers import INFERENCE, inferred_flaw, sound_form
from .contract import PARTIAL, PassContract
from .execute import is_large, unbuilt
from .identity import FailureKind
from .metamorphic import laws
from .oracle import About, Oracle
from .pass_runs import Given, PassRuns, digest, given
from .passcall import PassCall, is_users
from .silence import inventory
from .silence.log import abstain, answers, asking, excused, is_loud, reported
from .structural import crash, idempotence, lowering_complete, mutation, well_formed
from .structural.inside import (
    REWRITER,
    class_of,
    is_of_rewriter,
    same_function,
    same_helper,
    same_part,
)
from .tiers import EVALUATED, ORACLES, STRUCTURAL, USUAL
from .values import evaluated, executed, pipeline_values
from .violation import Case, StepJournal, Violation, silent

__all__ = [
    "BUILDS",
    "ORACLES",
    "STEPS_OF_BUILDS",
    "VALUES",
    "UnknownOracle",
    "check",
    "narrow",
    "smaller",
]


VALUES = tuple(oracle.name for oracle in EVALUATED)
"""The oracles of values that are cheap enough for every check."""

BUILDS = (pipeline_values.ORACLE.name, laws.ORACLE.name)
"""The oracles of values of whole builds."""

STEPS_OF_BUILDS = (crash.ORACLE.name, well_formed.ORACLE.name, lowering_complete.ORACLE.name)
"""The oracles of the steps of whole builds: a step that fails leaves no values to compare."""

OF_PIPELINES = frozenset(name for name, oracle in ORACLES.items() if oracle.check is None)
"""The oracles of whole builds; they do not apply to a single pass."""

NAMED = tuple(name for name in USUAL if ORACLES[name].tier > 1 and name not in OF_PIPELINES)
"""The oracles above tier 1 that check a pass that a user has named."""


class UnknownOracle(ValueError):
    """No oracle has this name."""


def validated(contract: PassContract) -> PassContract:
    """The contract itself, after a check of its exemptions.

    Raises:
        UnknownOracle: an exemption names neither an oracle nor a part of an oracle's promise.
    """
    for exemption in contract.exemptions:
        if exemption.oracle not in ORACLES and exemption.oracle not in PARTIAL:
            raise UnknownOracle(
                f"Contract of {contract.name!r}: exemption from {exemption.oracle!r}, which is no "
                f"oracle{did_you_mean(exemption.oracle, (*ORACLES, *PARTIAL))}"
            )
    return contract


for _contract in catalogue.values():
    validated(_contract)


_Again: TypeAlias = Callable[[Case], list[Violation]]

CALLS = 3
"""Calls of an operator to try on their own, to find the one that shows a violation."""

CALLS_OF_STEP = 64
"""Calls of any operator to try if a step of a pipeline raises, or a pass fails on a large module;
each takes milliseconds."""

UNCHANGED = 8
"""A sampled oracle of tier 2 runs in one of this many checks whose pass changes nothing."""


def check(
    case: Case,
    *,
    oracles: Collection[str] | None = None,
    besides: Collection[str] = (),
    journal: StepJournal = silent,
    contract: PassContract | None = None,
    watch: Callable[[PassRuns], None] | None = None,
    all_kinds: bool = False,
) -> list[Violation]:
    """Check one case: the violations in the order of the oracles; none if the case does not apply.

    The passes get the module of the case itself, not a copy, so a pass may mutate it. If TVM's type
    inference has made the module ill-formed, they get another form of it, see `sound_form`.

    Args:
        oracles: only these, by name, and without sampling; None: all of tier 1.
        besides: further oracles for the same runs, asked if the others find nothing wrong; those of
            tier 2 mostly if the pass has changed something.
        journal: receives each step before it is taken.
        contract: the promises of the pass; None: those in the catalogue, else all.
        watch: called with the runs of a pass after the oracles have been asked.
        all_kinds: compare values on all kinds of arguments, not on a sample.

    Raises:
        UnknownOracle: no oracle has one of the names.
        UnknownPipeline: no pipeline has the name.
        BadPass: a user's factory gives no pass.
        ValueError: the case names neither passes nor a pipeline.
        Drift: the installed TVM lacks something that an oracle needs, and the others find nothing.
    """
    chosen = STRUCTURAL if oracles is None else _chosen(oracles)
    later = _chosen(besides)
    if not case.calls and case.pipeline is None:
        raise ValueError(f"Expected calls or a pipeline but got {case.calls=} and {case.pipeline=}")
    journal("given")
    known = given(case.mod)
    if known.flaw is not None:
        again = functools.partial(
            check,
            oracles=oracles,
            besides=besides,
            journal=journal,
            contract=contract,
            watch=watch,
            all_kinds=all_kinds,
        )
        return _ill_formed(case, chosen, again)
    if len(case.calls) == 1:
        return _one(
            *(case, known, chosen, later, journal, contract, watch),
            thorough=oracles is not None,
            all_kinds=all_kinds,
        )
    off = availability.current().oracles
    asked = tuple(oracle for oracle in (*chosen, *later) if oracle.name not in off)
    return [each for each in _composed(case, asked, journal) if ORACLES[each.oracle] in asked]


def _ill_formed(case: Case, chosen: Sequence[Oracle], again: _Again) -> list[Violation]:
    """The flaw that TVM's type inference introduces, and violations on the module's sound form.

    Nothing is promised for a module that its author has made ill-formed.
    """
    found = inferred_flaw(case.mod)
    if found is None:
        return []
    sound = sound_form(case.mod)
    wrong = [] if sound is None else again(dataclasses.replace(case, mod=sound))
    own = well_formed.ORACLE
    if own not in chosen:
        return wrong
    asking(own.name)
    return [found.blame(own.name, INFERENCE), *wrong]


def _composed(case: Case, chosen: tuple[Oracle, ...], journal: StepJournal) -> list[Violation]:
    """The violations of a list of passes or of a pipeline.

    After the first finding, no other oracle compares its values.
    """
    found = None
    for oracle in chosen:
        asking(oracle.name)
        if oracle not in composition.ASKED and (
            case.pipeline is None or oracle.name not in OF_PIPELINES
        ):
            abstain(inventory.ANOTHER_SUBJECT)
    if any(oracle in STRUCTURAL for oracle in chosen):
        wrong: list[Violation] = []
        with answers():  # answers about one step do not apply to the whole
            if case.calls:
                found = composition.check_list(case.mod, case.calls, journal)
            else:
                assert case.pipeline is not None
                wrong = composition.check_pipeline(case.mod, case.pipeline, journal)
        if wrong:
            _pass_over_others(chosen, wrong[-1].oracle)
            return [*wrong, *_lawless(case, chosen, journal)]
    if found is None and case.pipeline is not None and pipeline_values.ORACLE in chosen:
        asking(pipeline_values.ORACLE.name)
        found = pipeline_values.check(case.mod, case.pipeline, journal)
    return [*([] if found is None else [found]), *_lawless(case, chosen, journal)]


def _lawless(case: Case, chosen: tuple[Oracle, ...], journal: StepJournal) -> tuple[Violation, ...]:
    """The laws of operators that a build breaks, whatever other errors it has."""
    if case.pipeline is None or laws.ORACLE not in chosen:
        return ()
    asking(laws.ORACLE.name)
    return laws.check(case.mod, case.pipeline, journal)


def _one(
    case: Case,
    known: Given,
    chosen: tuple[Oracle, ...],
    later: tuple[Oracle, ...],
    journal: StepJournal,
    contract: PassContract | None,
    watch: Callable[[PassRuns], None] | None,
    *,
    thorough: bool,
    all_kinds: bool,
) -> list[Violation]:
    (call,) = case.calls
    contract = contract_of(call) if contract is None else validated(contract)
    if contract.requires(case.mod) is not None:
        return []
    runs = PassRuns(
        case.mod,
        case.calls,
        contract,
        journal=journal,
        thorough=thorough,
        all_kinds=all_kinds,
        skips=documented(call),
        known=known,
    )
    # A finding behind a change of the input is confirmed without the oracle of such changes.
    behind = mutation.ORACLE.breach.explains
    if not any(each is mutation.ORACLE or each.tier in behind for each in (*chosen, *later)):
        _set_apart(runs)
    explained: dict[int, str] = {}
    violations = list(_asked(chosen, runs, explained))
    violations += _asked([each for each in later if _worthwhile(each, runs)], runs, explained)
    if evaluated.ORACLE in later and executed.ORACLE not in later and _brings_code(runs):
        violations += _asked((executed.ORACLE,), runs, explained)
    if watch is not None:
        watch(runs)
    if runs.lacking and not violations:
        raise Drift(runs.lacking[0])
    if is_users(call):
        # All violations of a user's pass share one row; the first one gives its title.
        violations.sort(key=_class_of)
    return violations


def _set_apart(runs: PassRuns) -> None:
    """Restore the module if the pass changes it in place, so that both sides can be compared."""
    try:
        if not runs.intact:
            runs.set_apart()
    except Exception as error:
        if drift_of(error) is None:
            raise  # otherwise the oracles meet it again, and say that this TVM lacks something


def _class_of(violation: Violation) -> int:
    """The rank of the violation's failure; failures that are easy to see come first."""
    return list(FailureKind).index(ORACLES[violation.oracle].breach_of(violation.key).failure)


def _worthwhile(oracle: Oracle, runs: PassRuns) -> bool:
    """False for most checks whose pass changes nothing, since it leaves the twins unchanged too."""
    if oracle.tier != 2 or runs.changed:
        return True
    return zlib.crc32(f"{oracle.name} {runs.entropy}".encode()) % UNCHANGED == 0


def _brings_code(runs: PassRuns) -> bool:
    """True if a user's own backend compiled code; only the VM shows what that code computes."""
    after = runs.direct.mod
    return after is not None and keys.comparable(after) is not after and not documented(runs.call)


def _asked(
    oracles: Sequence[Oracle], runs: PassRuns, explained: dict[int, str]
) -> Iterator[Violation]:
    """The violations that these oracles report.

    Args:
        explained: for each tier that is not asked, the oracle whose violation explains the reports
            of that tier; oracles that find something here are added.
    """
    off = availability.current().oracles
    for oracle in oracles:
        asking(oracle.name)
        if oracle.tier in explained and not is_loud(inventory.EXPLAINED):
            _abstain_for(explained[oracle.tier])
            continue
        if oracle.name in off:
            abstain(inventory.NOT_AVAILABLE, off[oracle.name])
            continue
        if not oracle.promised(runs):
            continue
        runs.asked.append(oracle.name)
        try:
            violations = oracle.violations(runs)
        except Exception as error:
            if (lacking := drift_of(error)) is None:
                raise
            runs.lacking.append(lacking)
            abstain(inventory.NOT_AVAILABLE, lacking)
            continue
        if oracle.about is About.RUNS and _left_to_chance(runs, violations):
            continue
        at_step = composition.at_step(oracle, runs) if violations else None
        violations = violations if at_step is None else at_step
        if oracle is mutation.ORACLE and violations and not runs.intact:
            runs.set_apart()
        culprit = _culprit(oracle, runs, violations) if violations else ""
        if violations:
            reported()
        for violation in violations:
            if not runs.call.is_tvms and violation.pass_name.startswith("relax."):
                # An operator is blamed for TVM's code for it, not for errors of the user's pass.
                violation = dataclasses.replace(violation, pass_name="")
            yield violation.blame(oracle.name, culprit)
        for tier in _explained_by(oracle, violations, runs.call):
            explained.setdefault(tier, oracle.name)


def _explained_by(
    oracle: Oracle, violations: Sequence[Violation], call: PassCall
) -> frozenset[int]:
    """The tiers whose oracles would report consequences of these violations.

    A user's pass has one row for all errors in its result. So that the row includes the findings of
    other oracles, its violations explain only tiers that every breach of the promise explains.
    """
    breaches = [oracle.breach_of(each.key) for each in violations]
    if not breaches:
        return frozenset()
    if is_users(call):
        every = (oracle.breach, *oracle.breaches.values())
        return frozenset.intersection(*(each.explains for each in every))
    return frozenset().union(*(each.explains for each in breaches))


def _left_to_chance(runs: PassRuns, violations: Sequence[Violation]) -> bool:
    """True if the contract excuses the violations because each run may give another result."""
    chance = runs.exemption("chance") if violations else None
    return chance is not None and excused(inventory.EXEMPTION, f"exempt: {chance.reason}")


def _culprit(oracle: Oracle, runs: PassRuns, violations: Sequence[Violation]) -> str:
    """The pass to blame: `REWRITER`, or another pass or function of TVM that the user's pass runs,
    if it alone does the same."""
    mod, outcome = runs.mod, runs.direct
    is_again = oracle is idempotence.ORACLE and runs.direct.mod is not None
    if is_again:
        mod, outcome = runs.direct.mod, runs.again
    keys = {violation.key for violation in violations}

    def shows(others: PassRuns) -> bool:
        """Return whether these runs break the promise in the same ways."""
        if not oracle.promised(others):
            return False
        return keys <= {violation.key for violation in oracle.violations(others)}

    def breaks(others: PassRuns) -> bool:
        """Return whether the result of these runs is ill-formed in the same ways."""
        return oracle.breach.failure is FailureKind.ILL_FORMED and shows(others)

    of_rewriting = is_again or oracle.breach.failure in (FailureKind.RAISES, FailureKind.ILL_FORMED)
    blamed: str | None = None
    if of_rewriting:
        alike = is_of_rewriter(runs, mod, outcome, breaks)
        blamed = REWRITER if alike else same_function(runs, mod, outcome, breaks)
    elif oracle.breach.failure is FailureKind.VALUES:
        blamed = same_helper(runs, mod, shows)
    elif oracle.breach.failure is FailureKind.MUTATES:
        blamed = class_of(runs)
    return blamed or same_part(runs, mod, outcome, shows) or runs.call.name


def _pass_over_others(chosen: Sequence[Oracle], first: str) -> None:
    """Let the other oracles of pipelines abstain, since `first` has found something."""
    for oracle in chosen:
        if oracle.name in OF_PIPELINES - {first} and oracle.about is not About.OPERATORS:
            asking(oracle.name)
            _abstain_for(first)


def _abstain_for(first: str) -> None:
    abstain(inventory.EXPLAINED, f"not asked, for '{first}' has found something")


def smaller(case: Case, violation: Violation) -> Iterator[unbuilt.Single]:
    """Calls of the module, each alone; the first that shows the violation may replace the case."""
    if case.pipeline is not None and violation.pass_name == pipeline_values.CODE_GENERATION:
        found = pipeline_values.culprit(case.mod, case.pipeline)
        yield from () if found is None else (found,)
    elif case.pipeline is not None and violation.oracle == crash.ORACLE.name:
        yield from itertools.islice(_in_turn(case.mod), CALLS_OF_STEP)
    elif violation.pass_name.startswith("relax."):
        yield from itertools.islice(unbuilt.singles_of(case.mod, violation.pass_name), CALLS)
    elif case.calls and is_large(case.mod):
        yield from itertools.islice(_in_turn(case.mod), CALLS_OF_STEP)


def _in_turn(mod: tvm.IRModule) -> list[unbuilt.Single]:
    """The different calls of the module: first one of each operator, then their second calls."""
    seen: Counter[str] = Counter()
    turns: list[tuple[int, unbuilt.Single]] = []
    for single in unbuilt.singles_of(mod):
        turns.append((seen[single.op], single))
        seen[single.op] += 1
    return [single for _, single in sorted(turns, key=lambda each: each[0])]


def hides(violation: Violation) -> bool:
    """True if the violation may hide others of the same module: results were not compared by value,
    or only up to the first difference. Builds are left out, since they take long."""
    oracle = ORACLES.get(violation.oracle)
    if oracle is None or oracle is pipeline_values.ORACLE:
        return False
    return oracle.tier < 4 and 3 in oracle.breach_of(violation.key).explains


def still_shows(case: Case, violation: Violation, contract: PassContract | None = None) -> bool:
    """True if one run shows a violation that `hides` others on this module, too.

    The module is not checked for well-formedness.
    """
    wanted = violation.key, violation.trace
    if case.pipeline is not None:
        found = composition.check_pipeline(case.mod, case.pipeline, silent)
    else:
        (call,) = case.calls
        contract = contract_of(call) if contract is None else contract
        if contract.requires(case.mod) is not None:
            return False
        known = Given(case.mod, digest(case.mod), lambda: case.mod)
        runs = PassRuns(case.mod, case.calls, contract, alone=True, known=known)
        oracle = ORACLES[violation.oracle]
        found = list(oracle.violations(runs)) if oracle.promised(runs) else []
        steps = composition.at_step(oracle, runs) if found else None
        found = found if steps is None else list(steps)
    return wanted in ((each.key, each.trace) for each in found)


def acts(case: Case, contract: PassContract) -> bool:
    """True if one run of a pass changes this module, or raises."""
    known = Given(case.mod, digest(case.mod), lambda: case.mod)
    runs = PassRuns(case.mod, case.calls, contract, alone=True, known=known)
    return runs.direct.error is not None or runs.changed


def narrow(case: Case, violation: Violation) -> Case:
    """The case of the one pass in a list or pipeline that shows the violation; else this case."""
    calls = case.calls if case.pipeline is None else pipelines.steps_on(case.mod, case.pipeline)
    if len(calls) < 2:
        return case
    step = composition.step_before(case.mod, calls, violation)
    if step is None:
        return case
    return dataclasses.replace(case, mod=step[0], calls=(step[1],), pipeline=None)


def _chosen(names: Collection[str]) -> tuple[Oracle, ...]:
    for name in names:
        if name not in ORACLES:
            raise UnknownOracle(
                f"Expected oracles among {', '.join(ORACLES)} but got {name!r}"
                f"{did_you_mean(name, ORACLES)}"
            )
    return tuple(oracle for name, oracle in ORACLES.items() if name in names)
