"""Idempotent: a pass has nothing left to do on its own result."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import tvm

from ...compat.serialization import load_json, save_json
from .. import keys
from ..grades.grade import Grade
from ..identity import FailureKind
from ..inspect import bindings_of, public_functions
from ..oracle import Half, Halves, Oracle
from ..pass_runs import PassRuns, attempt
from ..silence import inventory
from ..silence.log import abstain, excused
from ..text.halves import alike, ran
from ..violation import Case, Violation
from . import checkers
from .canonical import canonical, equivalent
from .well_formed import complaint_text

WHAT = "a second run changes the result"
RAISES = "a second run raises"
BROKEN = "the result of a second run"


def check(runs: PassRuns) -> Violation | None:
    """p(p(m)) == p(m) up to names of private functions; and the second run does not break.

    A pass that promises no normal form is exempt from "fixpoint": only that its second run neither
    raises nor breaks the module is asked of it.
    """
    once = runs.changed_result()
    if once is None:
        return None
    if (reason := runs.contract.requires(once)) is not None:
        abstain(inventory.INAPPLICABLE, f"the pass does not apply to its result: {reason}")
        return None
    again = runs.again
    if again.error is not None:
        raised = keys.exception(again.error)
        if runs.rejected(again.error, once) and excused(inventory.REJECTION, raised.title):
            return None
        return _of_second_run(RAISES, raised)
    assert again.mod is not None
    if again.mod.same_as(once) or again.mark == runs.direct.mark:
        return None
    broken = checkers.flaw(again.mod)
    if broken is not None:
        return _of_second_run(BROKEN, broken)
    if runs.exempt("fixpoint"):
        return None
    # Renaming and merging of private functions, which is dear to undo, leaves public ones as long.
    if _lengths(once) != _lengths(again.mod):
        return _difference(once, again.mod)
    if equivalent(once, again.mod):
        return None
    return _difference(canonical(once), canonical(again.mod))


def _lengths(mod: tvm.IRModule) -> dict[str, int]:
    return {str(gvar.name_hint): len(bindings_of(func)) for gvar, func in public_functions(mod)}


def _difference(once: tvm.IRModule, twice: tvm.IRModule) -> Violation | None:
    """What the second run does: where its result first differs follows from that, by accident."""
    found = keys.mismatch(once, twice, WHAT)
    if found is None:
        return None
    functions = len(twice.functions) - len(once.functions)
    bindings = len(bindings_of(twice)) - len(bindings_of(once))
    for name, count in (("functions", functions), ("bindings", bindings)):
        if count:
            title = f"{WHAT}: {'more' if count > 0 else 'fewer'} {name}"
            return dataclasses.replace(found, title=title)
    return found


def _of_second_run(what: str, violation: Violation) -> Violation:
    return violation.under(what, detail=f"{what}\n{violation.detail}")


def _brief(case: Case, violation: Violation) -> Iterator[str]:
    """What the second run does."""
    match violation.key:
        case (first, *_) if first == RAISES:
            yield "once = the_pass(mod)\nthe_pass(once)"
        case (first, checker, *_) if first == BROKEN:
            yield from complaint_text("the_pass(the_pass(mod))", checker)
        case _:
            yield (
                "once = the_pass(mod)\ntwice = the_pass(once)\n"
                "tvm.ir.assert_structural_equal(twice, once, map_free_vars=True)"
            )


def _halves(case: Case, violation: Violation) -> Halves:
    (call,) = case.calls
    once = call.run(case.mod)
    twice = attempt(call.run, load_json(save_json(keys.comparable(once))))
    label = f"after {call.name}"
    return alike(Half(label, once), ran(twice, f"{label} twice", f"a second run of {call.name}"))


ORACLE = Oracle(
    name="idempotent",
    failure=FailureKind.FORM,
    tier=1,
    grade=Grade.C,
    grade_of={RAISES: Grade.B, BROKEN: Grade.B},
    failure_of={BROKEN: FailureKind.ILL_FORMED},
    promise="A pass that is applied to its own result gives it back.",
    source="the strict contract: a pass that has done what its docstring says has nothing left to "
    "do; passes that say otherwise are exempt",
    check=check,
    snippet="""\
once = apply(mod)
twice = apply(once)
relax.analysis.well_formed(twice)
tvm.ir.assert_structural_equal(once, twice, map_free_vars=True)
""",
    brief=_brief,
    halves=_halves,
    # Values are compared all the same: a pass may undo in its second run what it does wrong.
    explains=frozenset(),
)
