"""Puts a call into a separate function, to observe its behaviour in isolation."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import tvm
from tvm import relax

MAIN = "main"


def with_operands(call: relax.Call, replaced: Callable[[relax.Expr], relax.Expr]) -> relax.Call:
    """The same call on other operands; in tuples, the fields are replaced."""

    def operand(expr: relax.Expr) -> relax.Expr:
        if isinstance(expr, relax.Tuple):
            return relax.Tuple([operand(field) for field in expr.fields])
        return replaced(expr)

    return relax.Call(call.op, [*map(operand, call.args)], call.attrs, call.ty_args)


def module_of(call: relax.Call, params: Sequence[relax.Var]) -> tvm.IRModule:
    """A module whose `main` makes this call and nothing else.

    Raises:
        Exception: type inference refuses the call.
    """
    builder = relax.BlockBuilder()
    with builder.function(MAIN, list(params)):
        builder.emit_func_output(builder.emit(call))
    return builder.get()
