"""Idempotent: a pass can be applied to its own result, and keeps any normal form it promises."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import tvm

from ...compat.serialization import load_json, save_json
from .. import checkers, keys
from ..catalogue import catalogue
from ..contract import Relation
from ..identity import FailureKind
from ..inspect import bindings_of, public_functions
from ..oracle import Breach, Half, Halves, Oracle
from ..pass_runs import PassRuns, attempt
from ..passcall import PassCall
from ..silence import inventory
from ..silence.log import abstain, excused, is_curious, is_loud
from ..violation import Case, Violation
from .canonical import canonical, equivalent
from .halves import alike, ran
from .inside import same_part
from .well_formed import complaint_text

WHAT = "a second run changes the result"
UNPROMISED = f"no normal form: {WHAT}"
"""Title for a user's pass that changes its own result without promising a normal form."""
RAISES = "a second run raises"
BROKEN = "the result of a second run"

CALLED_AS_BEFORE = frozenset(
    {Relation.SAME, Relation.LOOSE, Relation.ADJOINT, Relation.LOWERED, Relation.WORKSPACE}
)
"""Relations in which a second run makes sense. In others, arguments may name parameters that the
first run removed, or each run adds the documented parts again."""


def check(runs: PassRuns) -> Violation | None:
    """Check that a second run neither raises nor breaks the module.

    If the contract promises a normal form, p(p(m)) == p(m) up to names of private functions. The
    contracts of TVM's passes list all such promises. For other passes, a change by the second run
    is a hint for the author.
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
        abstain(inventory.SAMPLED, "a pass that promises no normal form runs once in most checks")
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
    if not promised and not described and (part := _part(runs, once)) is not None:
        abstain(inventory.NO_NORMAL_FORM, f"{part}, which the pass runs, does the same by itself")
        return None
    if promised or not described:
        return _change(once, again.mod, WHAT if promised else UNPROMISED)
    if is_curious() or is_loud(inventory.NO_NORMAL_FORM):  # the comparison is expensive otherwise
        found = _change(once, again.mod, UNPROMISED)
        if found is None or not excused(inventory.NO_NORMAL_FORM, found.title):
            return found
    abstain(inventory.NO_NORMAL_FORM)
    return None


def _part(runs: PassRuns, once: tvm.IRModule) -> str | None:
    """The pass of TVM that changes the result in the same way, and promises no normal form."""
    return same_part(runs, once, runs.again, shows=lambda others: True)


def _change(once: tvm.IRModule, twice: tvm.IRModule, what: str) -> Violation | None:
    # Renaming and merging private functions does not change the length of public ones. Lengths are
    # compared first, since undoing the renaming is expensive.
    if _lengths(once) != _lengths(twice):
        return _difference(once, twice, what)
    if equivalent(once, twice):
        return None
    return _difference(canonical(once), canonical(twice), what)


def _is_described(call: PassCall) -> bool:
    """True if the catalogue describes the pass's promises: it is TVM's, or declared like one."""
    return call.like is not None or (call.is_tvms and call.name in catalogue)


def _lengths(mod: tvm.IRModule) -> dict[str, int]:
    return {str(gvar.name_hint): len(bindings_of(func)) for gvar, func in public_functions(mod)}


def _difference(once: tvm.IRModule, twice: tvm.IRModule, what: str) -> Violation | None:
    """The change by the second run; the first differing place in it is accidental."""
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
    """Python that shows the error of the second run."""
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
    # Values are compared in any case: a pass may correct its error in the second run.
    breach=Breach(FailureKind.FORM, explains=frozenset()),
    breaches={
        BROKEN: Breach(FailureKind.ILL_FORMED, explains=frozenset()),
        UNPROMISED: Breach(FailureKind.FORM, explains=frozenset(), hint=True),
    },
    tier=1,
    promise="A pass can be applied to its own result, and gives it back if that is a normal form.",
    source="the contract of the pass names where a normal form is promised: its docstring, its "
    "documentation, or its nature (it simplifies, eliminates or legalizes); that any pass takes a "
    "well-formed module, docs/arch/pass_infra.rst: 'All passes are designed in a Module to Module "
    "manner'",
    check=check,
    brief=_brief,
    halves=_halves,
)
