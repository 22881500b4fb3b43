"""The rule that kept the oracles quiet about a planted fault."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import tvm

from relaxfuzz.oracles.composition import contract_of, documented
from relaxfuzz.oracles.errors import Mismatch, TooLarge, Undefined, Unsupported
from relaxfuzz.oracles.pass_runs import PassRuns
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.values import evaluated
from relaxfuzz.oracles.values.comparison import difference
from relaxfuzz.oracles.values.evaluated import REFUSED, Verdict
from relaxfuzz.oracles.values.expectation import TIGHT, Expectation
from relaxfuzz.oracles.values.sides import sides, tolerance_of

from .mutation import Changes
from .planted import Said

ASKED = {
    Changes.TYPE: ("functions", "signature"),
    Changes.FORM: ("well-formed",),
    Changes.ATTRIBUTE: ("attributes",),
    Changes.EFFECT: ("effects",),
}
"""The oracles that are to see such a change."""


def rule(call: PassCall, mod: tvm.IRModule, changed: str, said: Said) -> str:
    """The rule, by its name or in the oracle's own words."""
    if changed in ASKED:
        reasons = [
            f"{name}: {answer.silent or 'compares something else'}"
            for name in ASKED[Changes(changed)]
            if (answer := said.answers.get(name)) is not None
        ]
        return "; ".join(reasons) or "no oracle is asked"
    runs = PassRuns(mod, (call,), contract_of(call), thorough=True, skips=documented(call))
    return next(_excuses(runs), None) or _abstained(said)


def _abstained(said: Said) -> str:
    answer = said.answers.get("evaluated")
    if answer is None or answer.silent is None:
        return "no arguments that the module accepts show it"
    return f"evaluated: {answer.silent}"


def _excuses(runs: PassRuns) -> Iterator[str]:
    """Why differences do not count, one after the other."""
    tolerance = tolerance_of(runs)
    for e, side in itertools.islice(sides(runs), 40):
        if not _differ(e, side):
            continue
        found = evaluated._compared(e, side, tolerance)
        if found is None:
            yield _excuse(e, side, runs)
            continue
        verdict, why = evaluated.vote(e, side, tolerance)
        if verdict is Verdict.OTHER:
            yield "the VM refutes it"
        elif verdict is Verdict.NONE and not evaluated._certain(found, tolerance):
            yield f"the VM cannot confirm it, and rounding might explain it: {why}"
        else:
            yield f"a second set of arguments does not show it; the VM: {verdict.name} {why}"


def _differ(e: Expectation, side: Expectation) -> bool:
    try:
        return difference(e.result, side.value(), (), TIGHT) is not None
    except (Mismatch, Undefined):
        return True
    except (Unsupported, TooLarge):
        return False


def _excuse(e: Expectation, side: Expectation, runs: PassRuns) -> str:
    tolerance = tolerance_of(runs)
    if e.overflows:
        return "the module overflows"
    if e.arbitrary:
        return "the module's result depends on memory that nothing has been written to"
    if side.result is REFUSED:
        return "the evaluator does not know the result"
    if e.differs(side.result, tolerance) is not None:
        return "only the result overflows, as the simplifier may assume it does not"
    if tolerance is not None:
        return "the pass may lose precision"
    return "rounding by as much is allowed"
