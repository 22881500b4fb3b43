"""Idempotent: a pass can be applied to its own result, and keeps a normal form that it promises."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import tvm

from ...compat.serialization import load_json, save_json
from .. import keys
from ..catalogue import catalogue
from ..contract import Relation
from ..grades.grade import Grade
from ..identity import FailureKind
from ..inspect import bindings_of, public_functions
from ..oracle import Half, Halves, Oracle
from ..pass_runs import PassRuns, attempt
from ..passcall import PassCall
from ..silence import inventory
from ..silence.log import abstain, excused, is_curious, is_loud
from ..text.halves import alike, ran
from ..violation import Case, Violation
from . import checkers
from .canonical import canonical, equivalent
from .well_formed import complaint_text

WHAT = "a second run changes the result"
UNPROMISED = f"no normal form: {WHAT}"
"""Of a pass of the user's, which nobody says to have one."""
RAISES = "a second run raises"
BROKEN = "the result of a second run"

CALLED_AS_BEFORE = frozenset(
    {Relation.SAME, Relation.LOOSE, Relation.ADJOINT, Relation.LOWERED, Relation.WORKSPACE}
)
"""Elsewhere arguments may name parameters that the first run has taken away, or each run adds what
the docstring says."""


def check(runs: PassRuns) -> Violation | None:
    """The second run neither raises nor breaks the module; and p(p(m)) == p(m), up to names of
    private functions, where the contract promises a normal form.

    The contracts of TVM's passes name all such promises. What a second run of another pass
    changes is a hint for its author.
    """
    once = runs.changed_result()
    if once is None:
        return None
    promised = runs.contract.promises_normal_form(runs.mod, runs.call)
    if not promised and runs.contract.relation not in CALLED_AS_BEFORE:
        abstain(inventory.INAPPLICABLE, "the result is called in another way: it is run once")
        return None
    described = _is_described(runs.call)
    if not promised and described and runs.given.fleeting and not runs.sampled:
        abstain(inventory.RUN_ONCE)
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
    if promised or not described:
        return _change(once, again.mod, WHAT if promised else UNPROMISED)
    if is_curious() or is_loud(inventory.NO_NORMAL_FORM):  # else the comparison is too dear
        found = _change(once, again.mod, UNPROMISED)
        if found is None or not excused(inventory.NO_NORMAL_FORM, found.title):
            return found
    abstain(inventory.NO_NORMAL_FORM)
    return None


def _change(once: tvm.IRModule, twice: tvm.IRModule, what: str) -> Violation | None:
    # Renaming and merging of private functions, which is dear to undo, leaves public ones as long.
    if _lengths(once) != _lengths(twice):
        return _difference(once, twice, what)
    if equivalent(once, twice):
        return None
    return _difference(canonical(once), canonical(twice), what)


def _is_described(call: PassCall) -> bool:
    """The catalogue says what the pass promises: it is one of TVM's, or like one."""
    return call.like is not None or (call.factory is None and call.name in catalogue)


def _lengths(mod: tvm.IRModule) -> dict[str, int]:
    return {str(gvar.name_hint): len(bindings_of(func)) for gvar, func in public_functions(mod)}


def _difference(once: tvm.IRModule, twice: tvm.IRModule, what: str) -> Violation | None:
    """What the second run does: where its result first differs follows from that, by accident."""
    found = keys.mismatch(once, twice, what)
    if found is None:
        return None
    functions = len(twice.functions) - len(once.functions)
    bindings = len(bindings_of(twice)) - len(bindings_of(once))
    for name, count in (("functions", functions), ("bindings", bindings)):
        if count:
            title = f"{what}: {'more' if count > 0 else 'fewer'} {name}"
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
    hints=frozenset({UNPROMISED}),
    thorough=True,
    promise="A pass can be applied to its own result, and gives it back if that is a normal form.",
    source="the contract of the pass names where a normal form is promised: its docstring, its "
    "documentation, or its nature (it simplifies, eliminates or legalizes); that any pass takes a "
    "well-formed module, docs/arch/pass_infra.rst: 'All passes are designed in a Module to Module "
    "manner'",
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
