"""Branches."""

from __future__ import annotations

from tvm import relax

from ..choices import Choices
from ..scope import Scope, Value
from ..traits import Trait
from .calls import call_function
from .kind import ARITHMETIC, SAME_TYPE, Callees, Ops


def branch(c: Choices, s: Scope, ops: Ops, callees: Callees) -> None:
    """An If whose branches compute different things of one type."""
    cond = s.tensor(c, dtype="bool", ndim=0, fresh_shape=())
    x = s.tensor(c, dtype=ARITHMETIC)
    s.bind(relax.If(cond.expr, *[_branch_body(c, s, x, ops, callees) for _ in range(2)]))


def _branch_body(c: Choices, s: Scope, x: Value, ops: Ops, callees: Callees) -> relax.SeqExpr:
    with s.nested() as inner:
        pure = [op for op in ops if op.pure]
        if pure and c.flag(0.3):
            inner.bind(c.pick(pure).build(c, inner))
        if callees and s.has(Trait.FUNCTION_CALLS) and c.flag(0.2):
            call_function(c, inner, ops, callees)
        y = inner.emit(c.pick(SAME_TYPE)(x.expr))
        if c.flag(0.15) and y.complete:
            branch(c, inner, ops, ())
            y = inner.emit(c.pick(SAME_TYPE)(y.expr))
        inner.close()
        return relax.SeqExpr(inner.blocks, y.expr)
