"""The difference made by a mutation itself, without contract, vote or tolerance."""

from __future__ import annotations

from typing import Any

import tvm
import tvm_ffi
from tvm import tirx

from relaxfuzz.oracles.catalogue import contract_of
from relaxfuzz.oracles.checkers import flaw
from relaxfuzz.oracles.contract import PassContract
from relaxfuzz.oracles.errors import Mismatch, Undefined, Unsupported
from relaxfuzz.oracles.expected.comparison import difference
from relaxfuzz.oracles.expected.expectation import TIGHT, Expectation
from relaxfuzz.oracles.inspect import attr, is_public
from relaxfuzz.oracles.pass_runs import Outcome, PassRuns
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.values.effects import Effects
from relaxfuzz.oracles.values.sides import drawn_again, sides

from .mutation import Changes

EQUAL = "equal on all kinds of arguments, twice"
UNKNOWN = "not evaluated"

_CALL = PassCall("Altered()", factory="altered:Altered")


def truth(mod: tvm.IRModule, call: PassCall, result: tvm.IRModule, altered: tvm.IRModule) -> str:
    """The kind of `Changes` by which the altered result differs; else `EQUAL` or `UNKNOWN`.

    Args:
        mod: the module before the pass. If the result alone does not show how to call it, the
            values of both are compared.
        call: the pass that gives the altered result.
    """
    if flaw(altered) is not None:
        return Changes.FORM
    if _interface(mod, result) != _interface(mod, altered) or not _same_types(mod, result, altered):
        return Changes.TYPE
    contract = PassContract(name="Altered", variants=lambda choices, mod: _CALL)
    seen = Outcome(altered)
    found = _values(PassRuns(result, (_CALL,), contract, thorough=True, seen=seen), effects=True)
    if found == UNKNOWN:
        runs = PassRuns(mod, (call,), contract_of(call), thorough=True, seen=seen)
        found = _values(runs, effects=False)
    if found in (EQUAL, UNKNOWN) and not _same_attributes(mod, result, altered):
        return Changes.ATTRIBUTE
    return found


def _values(runs: PassRuns, *, effects: bool) -> str:
    found = UNKNOWN
    for e, side in sides(runs, partial=True):
        again = drawn_again(runs, e)
        for pair in ((e, side), *([] if again is None else [again])):
            try:
                if (what := _differ(*pair, effects)) is not None:
                    return what
                found = EQUAL
            except Unsupported:
                continue
    return found


def _differ(e: Expectation, side: Expectation, effects: bool) -> Changes | None:
    """The kind of difference between the two sides of a call, with all excuses ignored."""
    try:
        value = side.value()
        if difference(e.result, value, (), TIGHT) is not None:
            return Changes.VALUE
        return Changes.EFFECT if effects and _other_effects(Effects(e), Effects(side)) else None
    except (Mismatch, Undefined):
        return Changes.VALUE


def _other_effects(before: Effects, after: Effects) -> bool:
    names = [[each.function for each in of.all] for of in (before, after)]
    return names[0] != names[1] or difference(before.result, after.result, (), TIGHT) is not None


def _interface(before: tvm.IRModule, mod: tvm.IRModule) -> set[str]:
    """The public functions, except those that a pass makes for a library under arbitrary names."""
    return {
        name
        for gvar, func in mod.functions_items()
        if is_public(func)
        and ((name := str(gvar.name_hint)) in before or attr(func, "Codegen") is None)
    }


def _same_types(mod: tvm.IRModule, a: tvm.IRModule, b: tvm.IRModule) -> bool:
    return all(_same(_type(a[name]), _type(b[name])) for name in _interface(mod, a))


def _type(func: tvm.ir.BaseFunc) -> list[Any]:
    """The types of parameters and result; a PrimFunc's own type may be outdated."""
    if isinstance(func, tirx.PrimFunc):
        return [param.ty for param in func.params]
    return [func.ty]


def _same(a: Any, b: Any) -> bool:
    return bool(tvm_ffi.structural_equal(a, b, map_free_vars=True))


def _same_attributes(mod: tvm.IRModule, a: tvm.IRModule, b: tvm.IRModule) -> bool:
    """Compare attributes; a function made by the pass may have any name."""
    names = {str(gvar.name_hint) for gvar in (*a.functions, *b.functions)}
    both = {name for name in names if name in a and name in b}
    if any(name in mod for name in names - both) or not _same(a.attrs, b.attrs):
        return False
    return all(_same(a[name].attrs, b[name].attrs) for name in both)
