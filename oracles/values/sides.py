"""The two sides of a pass: calls of the original functions, and the calls of the pass's result that
must give the same."""

from __future__ import annotations

import functools
import itertools
import zlib
from collections.abc import Iterator
from contextvars import ContextVar

import tvm
import tvm_ffi

from ...generators.ops.record import Tolerance
from ..contract import Relation
from ..expected import relations
from ..expected.comparison import finite
from ..expected.expectation import Expectation
from ..expected.inputs import EXTREMES, InputKind
from ..expected.relations import CallRelation
from ..inspect import entries, is_public
from ..pass_runs import PassRuns
from ..silence import inventory
from ..silence.log import abstain, excused, is_loud

KINDS = ContextVar("KINDS", default=frozenset(InputKind))
"""The kinds of arguments for calls."""

LOOSE = Tolerance(float16=1e-1, float32=2e-2, float64=1e-3, reason="computes in less precision")


def tolerance_of(runs: PassRuns) -> Tolerance | None:
    """The tolerance for the result; None if it computes in the same precision."""
    return LOOSE if runs.contract.relation is Relation.LOOSE else None


def rule_of(runs: PassRuns, *, unchanged: bool = False) -> CallRelation | None:
    """The rule for calls of the result; None if its values cannot be compared.

    Args:
        unchanged: give the rule even if the pass did not change the module.
    """
    after = runs.result() if unchanged else runs.changed_result()
    if after is None:
        return None
    exemption = runs.exemption("values")
    if exemption is not None and not is_loud(inventory.EXEMPTION):
        abstain(inventory.EXEMPTION, f"exempt: {exemption.reason}")
        return None
    rule = relations.rule(runs.contract.relation, runs.mod, after, runs.call)
    if rule is None:
        abstain(inventory.NOT_CALLED, "how the result is to be called is not known")
    return rule


def sides(
    runs: PassRuns, *, unchanged: bool = False, valueless: bool = False, partial: bool = False
) -> Iterator[tuple[Expectation, Expectation]]:
    """Yields both sides of calls of functions that the pass changed, directly or in a callee.

    All oracles get the same objects, so the first one to ask evaluates the calls of the result.

    Args:
        unchanged: yield calls of all functions.
        valueless: also yield calls without a known value.
        partial: also yield calls with a value that is not promised; see `Expectations.of`.
    """
    rule = rule_of(runs, unchanged=unchanged)
    if rule is None:
        return
    after = runs.direct.mod
    assert after is not None
    expected = runs.given.expectations
    kept = set() if unchanged else _kept(runs.mod, after)
    if not unchanged and len(kept) == len(runs.mod.functions):
        abstain(inventory.UNCHANGED, "the pass leaves the functions as they are")
        return
    kinds, most = _kinds(runs)
    # A function that becomes private, if that is allowed, is no longer called from outside.
    uncalled = _private_functions(after) if runs.exempt("functions") else set()
    why = "no public function of the module computes something that the pass has changed"
    undefined: str | None = None
    found = False
    for gvar, _ in entries(runs.mod):
        name = str(gvar.name_hint)
        if not rule.applies(name) or name in uncalled or expected.reached(name) <= kept:
            continue
        calls = expected.of(name, rule, kinds, runs.step, partial=partial)
        for e in itertools.islice(calls, most):
            if _comparable(runs, e):
                found = True
                runs.step("evaluate the result")
                if e not in runs.other_sides:
                    runs.other_sides[e] = _in_result(after, rule, e)
                yield e, runs.other_sides[e]
        for e in _near_constants(runs, name, rule):
            found = True
            yield e, runs.other_sides[e]
        for e in expected.valueless(name, kinds[:most]) if valueless else ():
            found = True
            yield e, _in_result(after, rule, e)
        why = expected.why_not(name) or why
        undefined = undefined or expected.no_arguments(name)
    if not found and undefined is not None:
        abstain(inventory.NO_ARGUMENTS, undefined)
    elif not found:
        abstain(inventory.NOT_CALLED, why)


def _near_constants(runs: PassRuns, name: str, rule: CallRelation) -> list[Expectation]:
    """Calls next to constants of the function; see `expected.near_constants`."""
    after = runs.direct.mod
    if after is None or InputKind.WHOLE not in KINDS.get():
        return []
    if name not in runs.near_constants:
        runs.step("evaluate next to constants")
        found = runs.given.expectations.near_constants(name, rule, after)
        runs.near_constants[name] = [e for e in found if _comparable(runs, e)]
        runs.other_sides |= {e: _in_result(after, rule, e) for e in runs.near_constants[name]}
    return runs.near_constants[name]


def _private_functions(mod: tvm.IRModule) -> set[str]:
    """The names of functions that are not called from outside."""
    return {str(gvar.name_hint) for gvar, func in mod.functions_items() if not is_public(func)}


def drawn_again(runs: PassRuns, e: Expectation) -> tuple[Expectation, Expectation] | None:
    """Both sides of the same call with other numbers of the same kind; None if there are none."""
    rule, after = rule_of(runs), runs.direct.mod
    if rule is None or after is None:
        return None
    runs.step("evaluate again")
    other = runs.given.expectations.again(e.function, rule, e.kind)
    if other is None or not _comparable(runs, other):
        return None
    runs.step("evaluate the result")
    return other, _in_result(after, rule, other)


def _comparable(runs: PassRuns, e: Expectation) -> bool:
    """True if comparable: less precision changes non-finite values, and loses extremes and spreads.

    Infinite operands of a finite result are those of masks, which float16 preserves.
    """
    if runs.contract.relation is not Relation.LOOSE:
        return True
    plain = e.kind not in (InputKind.SPECIAL, InputKind.DISTANT, *EXTREMES) and finite(e.result)
    return plain or not excused(inventory.LESS_PRECISE, str(e.kind))


def _in_result(after: tvm.IRModule, rule: CallRelation, e: Expectation) -> Expectation:
    """The calls of the result whose values must equal those of the call `e`."""
    plan = functools.partial(rule.plan, e.function)
    side = Expectation(after, e.function, e.args, None, e.kind, plan, wraps=True)
    side.converts, side.foreign, side.promised = e.converts, set(), e.promised
    return side


def _kinds(runs: PassRuns) -> tuple[list[InputKind], int | None]:
    """The kinds of arguments in the order to try, and the limit of calls; None: no limit.

    Checks in a campaign make only two calls, and the module determines the order. All passes
    checked on a module get the same kinds, so the module's values are evaluated once.
    """
    kinds = [each for each in InputKind if each in KINDS.get()]
    if runs.all_kinds:
        return kinds, None
    turn = zlib.crc32(runs.entropy_of_module.encode()) % len(kinds)
    return kinds[turn:] + kinds[:turn], 2


def _kept(before: tvm.IRModule, after: tvm.IRModule) -> set[str]:
    """Names of the functions that are equal in both modules, though perhaps rebuilt."""
    new = {str(gvar.name_hint): func for gvar, func in after.functions.items()}
    return {
        name
        for gvar, func in before.functions.items()
        if (name := str(gvar.name_hint)) in new
        and (func.same_as(new[name]) or tvm_ffi.structural_equal(func, new[name]))
    }
