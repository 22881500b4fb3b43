"""One check: every oracle over one module and one pass, a list of passes, or a pipeline."""

from __future__ import annotations

import dataclasses
import functools
import zlib
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TypeAlias

from ..compat import availability
from ..compat.drift import Drift, drift_of
from ..generators.near import did_you_mean
from . import composition, keys, pipelines
from .catalogue import catalogue
from .contract import PARTIAL, PassContract
from .grades.grade import Grade
from .grades.rule import promise
from .identity import FailureKind
from .metamorphic import laws
from .metamorphic.pairs import oracles as pairs
from .oracle import Oracle
from .pass_runs import Given, PassRuns, given
from .passcall import is_users
from .silence import inventory
from .silence.log import abstain, answers, asking, excused, is_loud
from .structural import idempotence, well_formed
from .structural.checkers import INFERENCE, inferred_flaw, sound_form
from .structural.inside import REWRITER, is_of_rewriter
from .tiers import EVALUATED, ORACLES, STRUCTURAL, USUAL
from .values import evaluated, exec_modes, executed, pipeline_values
from .violation import Case, Journal, Violation, silent

__all__ = ["BUILDS", "ORACLES", "VALUES", "UnknownOracle", "check", "narrow", "smaller"]


VALUES = tuple(oracle.name for oracle in EVALUATED)
"""The oracles of values that are cheap enough for every check."""

BUILDS = (
    pipeline_values.ORACLE.name,
    exec_modes.ORACLE.name,
    laws.LAWS_OF_BUILDS.name,
)
"""The oracles of values of whole builds that need no second module."""

NAMED = tuple(name for name in USUAL if ORACLES[name].tier > 1 and not ORACLES[name].of_pipelines)
"""The oracles besides those of tier 1 that are asked of a pass that a user has named."""

OF_PIPELINES = frozenset(oracle.name for oracle in ORACLES.values() if oracle.of_pipelines)
"""The oracles of whole builds, which are not asked of a single pass."""


class UnknownOracle(ValueError):
    """No oracle has the name."""


def validated(contract: PassContract) -> PassContract:
    """The same contract, after its exemptions are checked.

    Raises:
        UnknownOracle: an exemption names neither an oracle nor a part of what one checks.
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

UNCHANGED = 8
"""On a module that the pass leaves as it is, a sampled oracle of tier 2 is asked in one check of so
many."""


def check(
    case: Case,
    *,
    oracles: Collection[str] | None = None,
    besides: Collection[str] = (),
    journal: Journal = silent,
    contract: PassContract | None = None,
    watch: Callable[[PassRuns], None] | None = None,
    all_kinds: bool = False,
) -> list[Violation]:
    """What is wrong, in the order of the oracles; nothing where the case does not apply.

    The passes get the very module of the case: one that mutates its input has mutated it. Of a
    module that TVM's type inference makes ill-formed they get another form, see `sound_form`.

    Args:
        oracles: only these, by name, and without sampling; None: all of tier 1.
        besides: asked about the same runs where the others find nothing wrong; those of tier 2
            mostly where the pass has changed something.
        journal: receives each step before it is taken.
        contract: what the pass promises; None: what the catalogue promises, else everything.
        watch: given the runs of a pass, when the oracles have been asked.
        all_kinds: compare values on all kinds of arguments, not on a sample.

    Raises:
        UnknownOracle: there is no such oracle.
        UnknownPipeline: no such pipeline.
        BadPass: a user's factory gives no pass.
        ValueError: the case names neither passes nor a pipeline.
        Drift: the installed TVM lacks what an oracle needs, and the others find nothing wrong.
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
            thorough=oracles is not None and any(oracle.thorough for oracle in chosen),
            all_kinds=all_kinds,
        )
    off = availability.current().oracles
    asked = tuple(oracle for oracle in (*chosen, *later) if oracle.name not in off)
    return [each for each in _composed(case, asked, journal) if ORACLES[each.oracle] in asked]


def _ill_formed(case: Case, chosen: Sequence[Oracle], again: _Again) -> list[Violation]:
    """The flaw that TVM's type inference makes, and what is wrong with what the module means.

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


def _composed(case: Case, chosen: tuple[Oracle, ...], journal: Journal) -> list[Violation]:
    """What is wrong with a list of passes or a pipeline; no other oracle looks at its values."""
    found = None
    for oracle in chosen:
        asking(oracle.name)
        if oracle not in composition.ASKED and not (oracle.of_pipelines and case.pipeline):
            abstain(inventory.ANOTHER_SUBJECT)
    if any(oracle in STRUCTURAL for oracle in chosen):
        wrong: list[Violation] = []
        with answers():  # what is said of one step says nothing of the whole
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
        if found is not None:
            _pass_over_others(chosen, found.oracle)
    if found is None and case.pipeline is not None and exec_modes.ORACLE in chosen:
        asking(exec_modes.ORACLE.name)
        found = exec_modes.check(case.mod, case.pipeline, journal)
    if found is None and case.pipeline is not None:
        found = pairs.check(case.mod, case.pipeline, chosen, journal)
    return [*([] if found is None else [found]), *_lawless(case, chosen, journal)]


def _lawless(case: Case, chosen: tuple[Oracle, ...], journal: Journal) -> tuple[Violation, ...]:
    """The laws of operators that a build breaks, whatever else is wrong with it."""
    if case.pipeline is None or laws.LAWS_OF_BUILDS not in chosen:
        return ()
    asking(laws.LAWS_OF_BUILDS.name)
    return laws.of_pipeline(case.mod, case.pipeline, journal)


def _one(
    case: Case,
    known: Given,
    chosen: tuple[Oracle, ...],
    later: tuple[Oracle, ...],
    journal: Journal,
    contract: PassContract | None,
    watch: Callable[[PassRuns], None] | None,
    *,
    thorough: bool,
    all_kinds: bool,
) -> list[Violation]:
    (call,) = case.calls
    contract = composition.contract_of(call) if contract is None else validated(contract)
    if contract.requires(case.mod) is not None:
        return []
    runs = PassRuns(
        case.mod,
        case.calls,
        contract,
        journal=journal,
        thorough=thorough,
        all_kinds=all_kinds,
        skips=composition.documented(call),
        known=known,
    )
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
        # All that a user's pass breaks is one row; the first violation gives it its title.
        violations.sort(key=_promise)
    return violations


def _promise(violation: Violation) -> Grade:
    return promise((violation.oracle, violation.pass_name, *violation.key))


def _worthwhile(oracle: Oracle, runs: PassRuns) -> bool:
    """A pass that leaves a module as it is does so to its twins: these are mostly not made."""
    if oracle.tier != 2 or runs.changed:
        return True
    return zlib.crc32(f"{oracle.name} {runs.entropy}".encode()) % UNCHANGED == 0


def _brings_code(runs: PassRuns) -> bool:
    """A backend of the user's own has compiled something: only the VM shows what it computes."""
    after = runs.direct.mod
    return (
        after is not None
        and keys.comparable(after) is not after
        and not composition.documented(runs.call)
    )


def _asked(
    oracles: Sequence[Oracle], runs: PassRuns, explained: dict[int, str]
) -> Iterator[Violation]:
    """What is wrong in the opinion of these oracles.

    Args:
        explained: by tier of oracles that are not asked, the oracle whose violation explains what
            they would report; those that these find are added.
    """
    off = availability.current().oracles
    for oracle in oracles:
        asking(oracle.name)
        explained_away = oracle.tier in explained and not oracle.of_operators
        if explained_away and not is_loud(inventory.EXPLAINED):
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
        if oracle.compares_runs and _left_to_chance(runs, violations):
            continue
        at_step = composition.at_step(oracle, runs) if violations else None
        violations = violations if at_step is None else at_step
        culprit = _culprit(oracle, runs) if violations else ""
        for violation in violations:
            if runs.call.factory is not None and violation.pass_name.startswith("relax."):
                # An operator is blamed for what TVM makes of it, not for what the user's pass does.
                violation = dataclasses.replace(violation, pass_name="")
            yield violation.blame(oracle.name, culprit)
        own = oracle.leaves_values and is_users(runs.call)
        for tier in oracle.explains if violations and not own else ():
            explained.setdefault(tier, oracle.name)


def _left_to_chance(runs: PassRuns, violations: Sequence[Violation]) -> bool:
    """The contract allows that each run gives another result, as these violations say."""
    chance = runs.exemption("chance") if violations else None
    return chance is not None and excused(inventory.EXEMPTION, f"exempt: {chance.reason}")


def _culprit(oracle: Oracle, runs: PassRuns) -> str:
    """The pass, unless what is wrong is what TVM's rewriting by patterns does by itself."""
    mod, outcome = runs.mod, runs.direct
    if oracle is idempotence.ORACLE and runs.direct.mod is not None:
        mod, outcome = runs.direct.mod, runs.again
    elif oracle.failure not in (FailureKind.RAISES, FailureKind.ILL_FORMED):
        return runs.call.name
    return REWRITER if is_of_rewriter(runs, mod, outcome) else runs.call.name


def _pass_over_others(chosen: Sequence[Oracle], first: str) -> None:
    """The oracles of pipelines that are not asked because of what another one has found."""
    for oracle in chosen:
        if oracle.of_pipelines and not oracle.of_operators and oracle.name != first:
            asking(oracle.name)
            _abstain_for(first)


def _abstain_for(first: str) -> None:
    abstain(inventory.EXPLAINED, f"not asked, for '{first}' has found something")


def smaller(case: Case, violation: Violation) -> Case | None:
    """The case of the one call that shows the violation of a pipeline; None: there is none."""
    mod = case.pipeline and pipeline_values.smaller(case.mod, case.pipeline, violation)
    return dataclasses.replace(case, mod=mod) if mod else None


def narrow(case: Case, violation: Violation) -> Case:
    """The one pass and module inside a list or pipeline that show the violation; else the case."""
    calls = case.calls if case.pipeline is None else pipelines.steps(case.pipeline)
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
