"""Well-formed: a pass's result satisfies TVM's checkers and names only functions that it has."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import tvm
import tvm_ffi

from ..catalogue import parts
from ..checkers import (
    INFERENCE,
    OPERANDS,
    RELAX,
    TENSOR_IR,
    calls_flaw,
    flaw,
    names_flaw,
    operands_flaw,
    relax_flaw,
    tensor_ir_flaw,
)
from ..identity import FailureKind
from ..inspect import prim_funcs, relax_functions
from ..oracle import Breach, Oracle
from ..pass_runs import PassRuns
from ..violation import Violation
from .inside import parts_alone


def check(runs: PassRuns) -> Violation | None:
    """Check that the result is well-formed, as the input always is."""
    result = runs.changed_result()
    if result is None:
        return None
    known = _same_prim_funcs(runs.mod, result) and runs.intact
    found = (
        relax_flaw(result)
        or (None if known else tensor_ir_flaw(result) or operands_flaw(result))
        or names_flaw(result, runs.mod if known else None)
        or (calls_flaw(result) if _retyped(runs.mod, result) else None)
    )
    return None if found is None else _inside(runs) or found


def _retyped(before: tvm.IRModule, after: tvm.IRModule) -> bool:
    """True if a Relax function has another type, which its calls and its body must fit."""
    old = {str(gvar.name_hint): func for gvar, func in relax_functions(before)}
    return any(
        (was := old.get(str(gvar.name_hint))) is not None
        and not func.same_as(was)
        and not tvm_ffi.structural_equal(func.ty, was.ty, map_free_vars=True)
        for gvar, func in relax_functions(after)
    )


def _inside(runs: PassRuns) -> Violation | None:
    """The violation of a common inner pass of one of TVM's passes, run alone on the module.

    Inner passes that run after it may have changed the checker's complaint.
    """
    if not runs.call.is_tvms:
        return None
    for name, alone in parts_alone(runs, parts(runs.call.name)):
        result = alone.direct.mod
        wrong = None if result is None else flaw(result)
        if wrong is not None:
            return replace(wrong, pass_name=name)
    return None


def _same_prim_funcs(before: tvm.IRModule, after: tvm.IRModule) -> bool:
    """True if no PrimFunc is new or changed; TensorIR's checker inspects nothing else."""
    old = before.functions
    return all(gvar in old and old[gvar].same_as(func) for gvar, func in prim_funcs(after))


def complaint_text(result: str, what: str) -> Iterator[str]:
    """Python that raises the error of a module.

    Args:
        result: an expression for the module.
        what: the first part of the violation's key.
    """
    if what == RELAX:
        yield f"relax.analysis.well_formed({result})"
    elif what == TENSOR_IR:
        yield f"tvm.s_tir.analysis.verify_well_formed({result})"
    elif what == OPERANDS:
        yield f"result = {result}\n{_OPERANDS}"
    elif "a call" in what or "result contradicts" in what:
        yield f"result = {result}\n{_CALLS}"
    elif "global_symbol" in what:
        yield f"result = {result}\n{_SYMBOLS}"
    else:
        yield f"result = {result}\n{_USES}"


_SYMBOLS = """\
for gvar, func in result.functions_items():
    symbol = (func.attrs or {}).get("global_symbol")
    assert symbol in (None, gvar.name_hint), f"{gvar}: the global_symbol is {symbol!r}"
"""

_CALLS = """\
functions = {g.name_hint: f for g, f in result.functions_items() if isinstance(f, relax.Function)}
check = relax.analysis.type_base_check
for name, func in functions.items():
    assert int(check(func.ret_ty, func.body.body.ty)) != 0, f"{name} returns {func.body.body.ty}"
    calls = []
    tvm_ffi.structural_walk(func, (relax.Call, calls.append))
    for call in calls:
        callee = functions.get(getattr(call.op, "name_hint", None))
        if callee is not None:
            assert len(call.args) == len(callee.params), f"{call.op} has {len(callee.params)}"
            assert int(check(call.ty, callee.ret_ty)) != 0, f"{call.op} is taken for {call.ty}"
"""

_OPERANDS = """\
names = "Add Sub Mul Div Mod FloorDiv FloorMod Min Max EQ NE LT LE GT GE".split()
operators = tuple(getattr(tvm.tirx, name) for name in names)
for func in result.functions.values():
    used = []
    tvm_ffi.structural_walk(func, (operators, used.append))
    for each in used:
        assert each.a.ty == each.b.ty, f"{each.a.ty} and {each.b.ty} in {each}"
"""

_USES = """\
functions = {gvar.name_hint: gvar for gvar in result.functions}
for func in result.functions.values():
    used = []
    tvm_ffi.structural_walk(func, (tvm.ir.GlobalVar, used.append))
    for gvar in used:
        assert functions.get(gvar.name_hint, result).same_as(gvar), f"{gvar} is no function"
"""


def _ill_formed(violation: Violation) -> str:
    return "mod" if violation.pass_name == INFERENCE else "the_pass(mod)"


ORACLE = Oracle(
    name="well-formed",
    breach=Breach(FailureKind.ILL_FORMED),
    tier=1,
    universal=True,
    promise="The result of a pass on a well-formed module is well-formed.",
    source="docstrings of relax.analysis.well_formed and s_tir.analysis.verify_well_formed; "
    "relax.ir.instrument.WellFormedInstrument: 'checks the input/output IRModule of the Pass'; "
    "src/tirx/ir/expr.cc: operands of different types are refused as 'mismatched types'",
    check=check,
    brief=lambda case, violation: complaint_text(_ill_formed(violation), violation.key[0]),
)
