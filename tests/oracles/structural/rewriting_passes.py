"""Passes that call TVM's rewriting by patterns, its passes and its functions."""

from __future__ import annotations

from typing import Any

import tvm
import tvm_ffi
from tvm import relax, tirx
from tvm.relax.dpl import is_op, rewrite_call, wildcard
from tvm.s_tir import Schedule, dlight
from tvm.s_tir.dlight.base import ScheduleRule

_X = wildcard()


@relax.transform.function_pass(opt_level=0)
def doubles(func: relax.Function, mod: Any, context: Any) -> relax.Function:
    """x + x becomes x * 2."""

    def times_two(call: relax.Call, matched: Any) -> relax.Expr:
        return relax.op.multiply(call.args[0], relax.const(2, str(call.args[0].ty.dtype)))

    return rewrite_call(is_op("relax.add")(_X, _X), times_two, func)


def cleans(mod: Any) -> Any:
    """A function that only calls a pass of TVM."""
    return relax.transform.CanonicalizeBindings()(mod)


def _zeros(func: relax.Function) -> relax.Function:
    """The function gives zeros: as many as its parameter has elements, or two."""
    (size,) = func.params[0].ty.shape
    end = tirx.if_then_else(size > 2, tirx.IntImm("int64", 2), size)
    builder = relax.BlockBuilder()
    with builder.function("main", list(func.params)):
        builder.emit_func_output(builder.emit(relax.op.zeros(relax.ShapeExpr([end]), "float32")))
    return builder.get()["main"]


def copies(mod: Any) -> Any:
    """Every function has variables of its own."""
    return _copied(mod, lambda func: func)


def compares(mod: Any) -> Any:
    """A pass that loses what a function does, and compares before."""
    func = mod["main"]
    if tvm_ffi.structural_equal(func, None):
        return mod
    (x,) = func.params
    body = relax.SeqExpr([], relax.Var("lost", x.ty))
    return tvm.IRModule({"main": relax.Function([x], body, func.ret_ty)})


def shortens(mod: Any) -> Any:
    """Every function gets another body, then variables of its own."""
    return _copied(mod, _zeros)


def schedules() -> Any:
    """The pass of TVM that applies schedule rules, with one rule, which takes roots."""

    class Roots(ScheduleRule):
        def apply(self, func: tirx.PrimFunc, target: Any, tunable: bool) -> Schedule | None:
            schedule = Schedule(func)
            (_, reduced) = schedule.get_loops(schedule.get_sblock("total"))
            if int(schedule.get(reduced).extent) < 3:
                return None
            text = func.script().replace("T.exp(", "T.sqrt(")
            return Schedule(tvm.script.from_source(text))

    return dlight.ApplyDefaultSchedule(Roots())


def _copied(mod: Any, first: Any) -> Any:
    return tvm.IRModule(
        {name: relax.utils.copy_with_new_vars(first(func)) for name, func in mod.functions_items()}
    )
