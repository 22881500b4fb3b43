"""The two sides of a pass: calls of a module's functions, and the calls of its result that must
give the same."""

from __future__ import annotations

import functools
import itertools
import zlib
from collections.abc import Iterator

import tvm
import tvm_ffi

from ...generators.ops.record import Tolerance
from ..contract import Relation
from ..inspect import entries, is_public
from ..pass_runs import PassRuns
from ..silence import inventory
from ..silence.log import abstain, excused, is_loud
from . import relations
from .expectation import Expectation
from .inputs import EXTREMES, Kind
from .relations import Rule

LOOSE = Tolerance(float16=1e-1, float32=2e-2, float64=1e-3, reason="computes in less precision")


def tolerance_of(runs: PassRuns) -> Tolerance | None:
    """None where the result computes in the same precision."""
    return LOOSE if runs.contract.relation is Relation.LOOSE else None


def rule_of(runs: PassRuns, *, unchanged: bool = False) -> Rule | None:
    """How the result is called; None where its values cannot be compared.

    Args:
        unchanged: even if the pass has left the module as it is.
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
    """Calls of the functions that the pass has changed, or whose callees it has, on both sides.

    All oracles get the same: what the calls of the result give is evaluated by the first that asks.

    Args:
        unchanged: of all functions.
        valueless: calls of which no value is known, too.
        partial: calls that compute something undefined that their results do not depend on, too.
    """
    rule = rule_of(runs, unchanged=unchanged)
    if rule is None:
        return
    after = runs.direct.mod
    assert after is not None
    expected = runs.given.expectations
    kept = set() if unchanged else _kept(runs.mod, after)
    kinds, most = _kinds(runs)
    # A function that becomes private, as it may, is not called from outside any more.
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
        for e in expected.valueless(name, kinds[:most]) if valueless else ():
            found = True
            yield e, _in_result(after, rule, e)
        why = expected.why_not(name) or why
        undefined = undefined or expected.no_arguments(name)
    if not found and undefined is not None:
        abstain(inventory.NO_ARGUMENTS, undefined)
    elif not found:
        abstain(inventory.NOT_CALLED, why)


def _private_functions(mod: tvm.IRModule) -> set[str]:
    """Functions that are not called from outside."""
    return {str(gvar.name_hint) for gvar, func in mod.functions_items() if not is_public(func)}


def drawn_again(runs: PassRuns, e: Expectation) -> tuple[Expectation, Expectation] | None:
    """The two sides of the same call with other numbers of the same kind; None where there are
    none."""
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
    """With less precision, NaN and infinities come and go, extremes and small spreads go lost."""
    if runs.contract.relation is not Relation.LOOSE:
        return True
    plain = e.kind not in (Kind.SPECIAL, Kind.DISTANT, *EXTREMES) and e.finite
    return plain or not excused(inventory.LESS_PRECISE, str(e.kind))


def _in_result(after: tvm.IRModule, rule: Rule, e: Expectation) -> Expectation:
    """What the calls of the result give, which must be the same."""
    plan = functools.partial(rule.plan, e.function)
    return Expectation(after, e.function, e.args, None, e.kind, plan, wraps=True)


def _kinds(runs: PassRuns) -> tuple[list[Kind], int | None]:
    """All kinds of arguments; in the many checks of a campaign two of them, chosen by the module.

    All passes that are checked on a module get the same: its own values are evaluated once.
    """
    kinds = list(Kind)
    if runs.all_kinds:
        return kinds, None
    turn = zlib.crc32(runs.entropy_of_module.encode()) % len(kinds)
    return kinds[turn:] + kinds[:turn], 2


def _kept(before: tvm.IRModule, after: tvm.IRModule) -> set[str]:
    """Names of the functions that are the same in both modules: many passes build equal ones."""
    new = {str(gvar.name_hint): func for gvar, func in after.functions.items()}
    return {
        name
        for gvar, func in before.functions.items()
        if (name := str(gvar.name_hint)) in new
        and (func.same_as(new[name]) or tvm_ffi.structural_equal(func, new[name]))
    }
