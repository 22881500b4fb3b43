"""Branches."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import tvm
from tvm import relax

from ...compat.ops import relax_op
from ..choices import Choices
from ..ops.record import Op
from ..scope import Scope
from ..traits import Trait
from ..values import Value
from .calls import call_function
from .externs import impure_call
from .kind import ARITHMETIC, SAME_TYPE, Callees, Ops
from .values import applied

Steps = Sequence[Callable[[relax.Expr], relax.Expr]]


RICH = 0.4
"""The share of Ifs whose branches both end with the same arbitrary operator."""
COPIED = 0.25
"""The share of other Ifs whose branches do the same to two values of one type."""
SIZED = 0.3
"""The share of Ifs whose branches use only a symbolic dim, if there are any in scope."""


def branch(c: Choices, s: Scope, ops: Ops, callees: Callees) -> None:
    """An If whose branches compute different things of one type: tensors, tuples of them, or more.

    They may share steps, on the same operand or on an operand of their own that has the same name
    in both, as in a script.
    """
    x = s.tensor(c, dtype=ARITHMETIC)
    symbolic = _symbolic(s)
    if symbolic and c.flag(SIZED):
        _sized(c, s, c.pick(symbolic))
        return
    common = _common(c)
    if s.has(Trait.TUPLES) and c.flag(0.25):
        _if(c, s, lambda: _tuple_body(c, s, x, common))
        return
    pure = [op for op in ops if op.pure]
    if pure and c.flag(RICH):
        # Both branches make the same decisions from shared bytes.
        last, before = c.again(1).pick(pure), s.state()
        result = _if(c, s, lambda: _branch_body(c, s, x, ops, callees, common, last))
        if s.has(Trait.INCOMPLETE_TYPES) or _is_known(result.ty):
            return
        s.restore(before)  # the operator has found other operands in the other branch
    if x.complete and c.flag(COPIED):
        _copies(c, s, x, ops, callees, common)
        return
    _if(c, s, lambda: _branch_body(c, s, x, ops, callees, common))


def _copies(c: Choices, s: Scope, x: Value, ops: Ops, callees: Callees, common: Steps) -> None:
    """An If whose branches make the same decisions for two values, which a pass must tell apart."""
    other = s.tensor(c, dtype=x.dtype, shape=x.shape, where=lambda value: value is not x)
    values = iter((x, other))
    _if(c, s, lambda: _branch_body(c.again(3), s, next(values), ops, callees, common))


def _if(c: Choices, s: Scope, body: Callable[[], relax.SeqExpr]) -> relax.Var:
    decided = condition(c, s)
    renamed = c.flag()
    first = last = s.module.bindings
    branches = []
    for _ in range(2):
        if renamed:
            s.module.bindings = first
        branches.append(body())
        last = max(last, s.module.bindings)
    s.module.bindings = last
    return s.bind(relax.If(decided, *branches))


def _common(c: Choices) -> Steps:
    return [c.pick(SAME_TYPE) for _ in range(c.pick((0, 0, 1, 2)))]


def condition(c: Choices, s: Scope) -> relax.Expr:
    """A scalar in scope, a parameter, or one computed here."""
    if c.flag(0.3):
        x = s.tensor(c, dtype=ARITHMETIC)
        total = s.emit(relax_op.sum(x.expr)).expr
        return s.emit(relax_op.less(total, relax.const(1, x.dtype))).expr
    return s.tensor(c, dtype="bool", ndim=0, fresh_shape=()).expr


def _symbolic(s: Scope) -> list[tvm.ir.Expr]:
    """The symbolic dims in scope: those of the function and of its tensors."""
    shapes = (value.shape or () for value in s.values)
    return [dim for shape in (s.dims, *shapes) for dim in shape if not isinstance(dim, int)]


def _is_known(ty: relax.Type) -> bool:
    """True for tensors of known shape and dtype, and for tuples of them."""
    if isinstance(ty, relax.TupleType):
        return all(map(_is_known, ty.fields))
    return isinstance(ty, relax.TensorType) and ty.shape is not None and ty.dtype is not None


def _filled(c: Choices, s: Scope, dim: tvm.ir.Expr) -> relax.Expr:
    dtype, shape = s.dtypes[0], relax.ShapeExpr([dim, 2])
    kind = c.below(4)
    if kind == 3:
        x = s.emit(relax_op.full(shape, relax.const(2, dtype)))
    else:
        x = s.emit((relax_op.ones if kind == 2 else relax_op.zeros)(shape, dtype))
    if c.flag() and dtype in ARITHMETIC:
        x = s.emit(c.pick(SAME_TYPE)(x.expr))
    return x.expr


def _shape(c: Choices, s: Scope, dim: tvm.ir.Expr) -> relax.Expr:
    shape = relax.ShapeExpr([dim, 2])
    return s.bind(shape) if c.flag() else shape


def _number(c: Choices, s: Scope, dim: tvm.ir.Expr) -> relax.Expr:
    number = relax.prim_value(dim + c.below(2))
    return s.bind(number) if c.flag() else number


_OF_DIMS: tuple[tuple[Trait | None, Callable[[Choices, Scope, tvm.ir.Expr], relax.Expr]], ...] = (
    (None, _filled),
    (Trait.SHAPE_VALUES, _shape),
    (Trait.NUMBERS, _number),
)
"""Expressions of one dim, each with the trait that it needs."""


def _sized(c: Choices, s: Scope, dim: tvm.ir.Expr) -> None:
    """An If whose branches use a dim of the enclosing function, but no tensor that has it."""
    make = c.pick([make for trait, make in _OF_DIMS if trait is None or s.has(trait)])

    def body() -> relax.SeqExpr:
        with s.nested() as inner:
            result = make(c, inner, dim)
            inner.close()
            return relax.SeqExpr(inner.blocks, result)

    _if(c, s, body)


def _tuple_body(c: Choices, s: Scope, x: Value, common: Steps) -> relax.SeqExpr:
    with s.nested() as inner:
        fields = [_steps(c, inner, x, common).expr, x.expr]
        result: relax.Expr = relax.Tuple(fields[::-1] if c.flag() else fields)
        if c.flag():
            result = inner.bind(result)
        inner.close()
        return relax.SeqExpr(inner.blocks, result)


def _branch_body(
    c: Choices,
    s: Scope,
    x: Value,
    ops: Ops,
    callees: Callees,
    common: Steps,
    last: Op | None = None,
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
            within = _common(c)
            deeper = _if(c, inner, lambda: _branch_body(c, inner, y, ops, (), within))
            y = inner.emit(c.pick(SAME_TYPE)(deeper))
        result = y.expr if last is None else inner.bind(applied(last, y, c.again(2), inner))
        inner.close()
        return relax.SeqExpr(inner.blocks, result)


def _steps(c: Choices, s: Scope, x: Value, common: Steps) -> Value:
    """A step of this branch alone, followed by the common steps."""
    y = s.emit(c.pick(SAME_TYPE)(x.expr))
    for step in common:
        y = s.emit(step(y.expr))
    return y
