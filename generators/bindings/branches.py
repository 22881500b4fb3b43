"""Branches."""

from __future__ import annotations

from collections.abc import Callable

from tvm import relax

from ...compat.ops import relax_op
from ..choices import Choices
from ..scope import Scope
from ..traits import Trait
from ..values import Value
from .calls import call_function
from .externs import impure_call
from .kind import ARITHMETIC, SAME_TYPE, Callees, Ops


def branch(c: Choices, s: Scope, ops: Ops, callees: Callees) -> None:
    """An If whose branches compute different things of one type: tensors, or tuples of them."""
    x = s.tensor(c, dtype=ARITHMETIC)
    body = _tuple_body if s.has(Trait.TUPLES) and c.flag(0.25) else _branch_body
    _if(c, s, x, ops, callees, body)


def _if(
    c: Choices, s: Scope, x: Value, ops: Ops, callees: Callees, body: Callable[..., relax.SeqExpr]
) -> relax.Var:
    return s.bind(relax.If(_condition(c, s), *[body(c, s, x, ops, callees) for _ in range(2)]))


def _condition(c: Choices, s: Scope) -> relax.Expr:
    """A scalar in scope, a parameter, or one computed here."""
    if c.flag(0.3):
        x = s.tensor(c, dtype=ARITHMETIC)
        total = s.emit(relax_op.sum(x.expr)).expr
        return s.emit(relax_op.less(total, relax.const(1, x.dtype))).expr
    return s.tensor(c, dtype="bool", ndim=0, fresh_shape=()).expr


def _tuple_body(c: Choices, s: Scope, x: Value, ops: Ops, callees: Callees) -> relax.SeqExpr:
    with s.nested() as inner:
        fields = [inner.emit(c.pick(SAME_TYPE)(x.expr)).expr, x.expr]
        result: relax.Expr = relax.Tuple(fields[::-1] if c.flag() else fields)
        if c.flag():
            result = inner.bind(result)
        inner.close()
        return relax.SeqExpr(inner.blocks, result)


def _branch_body(c: Choices, s: Scope, x: Value, ops: Ops, callees: Callees) -> relax.SeqExpr:
    with s.nested() as inner:
        pure = [op for op in ops if op.pure]
        if pure and c.flag(0.3):
            inner.bind(c.pick(pure).call(c, inner))
        if callees and s.has(Trait.FUNCTION_CALLS) and c.flag(0.2):
            call_function(c, inner, ops, callees)
        if s.has(Trait.IMPURE) and c.flag():
            impure_call(c, inner, ops, callees)
        y = inner.emit(c.pick(SAME_TYPE)(x.expr))
        if c.flag(0.15) and y.complete:
            y = inner.emit(c.pick(SAME_TYPE)(_if(c, inner, y, ops, (), _branch_body)))
        inner.close()
        return relax.SeqExpr(inner.blocks, y.expr)
