"""Branches."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tvm import relax

from ...compat.ops import relax_op
from ..choices import Choices
from ..scope import Scope
from ..traits import Trait
from ..values import Value
from .calls import call_function
from .externs import impure_call
from .kind import ARITHMETIC, SAME_TYPE, Callees, Ops

Steps = Sequence[Callable[[relax.Expr], relax.Expr]]


def branch(c: Choices, s: Scope, ops: Ops, callees: Callees) -> None:
    """An If whose branches compute different things of one type: tensors, or tuples of them.

    They may have steps in common, on the same operand or on one of their own that has the same name
    in both, as in a script.
    """
    x = s.tensor(c, dtype=ARITHMETIC)
    body = _tuple_body if s.has(Trait.TUPLES) and c.flag(0.25) else _branch_body
    _if(c, s, x, ops, callees, body)


def _if(
    c: Choices, s: Scope, x: Value, ops: Ops, callees: Callees, body: Callable[..., relax.SeqExpr]
) -> relax.Var:
    decided = condition(c, s)
    alike = c.below(8)
    common = [c.pick(SAME_TYPE) for _ in range((0, 0, 1, 2)[alike % 4])]
    first = last = s.module.bindings
    branches = []
    for _ in range(2):
        if alike >= 4:
            s.module.bindings = first
        branches.append(body(c, s, x, ops, callees, common))
        last = max(last, s.module.bindings)
    s.module.bindings = last
    return s.bind(relax.If(decided, *branches))


def condition(c: Choices, s: Scope) -> relax.Expr:
    """A scalar in scope, a parameter, or one computed here."""
    if c.flag(0.3):
        x = s.tensor(c, dtype=ARITHMETIC)
        total = s.emit(relax_op.sum(x.expr)).expr
        return s.emit(relax_op.less(total, relax.const(1, x.dtype))).expr
    return s.tensor(c, dtype="bool", ndim=0, fresh_shape=()).expr


def _tuple_body(
    c: Choices, s: Scope, x: Value, ops: Ops, callees: Callees, common: Steps
) -> relax.SeqExpr:
    with s.nested() as inner:
        fields = [_steps(c, inner, x, common).expr, x.expr]
        result: relax.Expr = relax.Tuple(fields[::-1] if c.flag() else fields)
        if c.flag():
            result = inner.bind(result)
        inner.close()
        return relax.SeqExpr(inner.blocks, result)


def _branch_body(
    c: Choices, s: Scope, x: Value, ops: Ops, callees: Callees, common: Steps
) -> relax.SeqExpr:
    with s.nested() as inner:
        pure = [op for op in ops if op.pure]
        if pure and c.flag(0.3):
            inner.bind(c.pick(pure).call(c, inner))
        if callees and s.has(Trait.FUNCTION_CALLS) and c.flag(0.3):
            call_function(c, inner, ops, callees)
        if s.has(Trait.IMPURE) and c.flag():
            impure_call(c, inner, ops, callees)
        y = _steps(c, inner, x, common)
        if c.flag(0.15) and y.complete:
            y = inner.emit(c.pick(SAME_TYPE)(_if(c, inner, y, ops, (), _branch_body)))
        inner.close()
        return relax.SeqExpr(inner.blocks, y.expr)


def _steps(c: Choices, s: Scope, x: Value, common: Steps) -> Value:
    """Something of this branch alone, and then what both have."""
    y = s.emit(c.pick(SAME_TYPE)(x.expr))
    for step in common:
        y = s.emit(step(y.expr))
    return y
