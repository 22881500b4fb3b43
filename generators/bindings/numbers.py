"""Numbers as values: primitive scalars in variables, operands, dims and conditions."""

from __future__ import annotations

from collections.abc import Callable

from tvm import relax
from tvm.ir import PrimType

from ...compat.ops import relax_op
from .. import tensorir
from ..choices import Choices
from ..scope import Scope
from ..traits import Trait
from .kind import ARITHMETIC, SAME_TYPE, Callees, Ops, finish

INT = PrimType("int64")


def number(c: Choices, s: Scope, ops: Ops, callees: Callees) -> None:
    """A number in a variable, and one or two bindings that use it."""
    known = [use for trait, use in _USES if trait is None or s.has(trait)]
    uses = [c.pick(known) for _ in range(1 + c.flag(0.4))]
    if _condition in uses:
        s.dataflow(False)
    kind = c.below(4 if s.has(Trait.MATCH_CAST) else 3)
    value: relax.Expr
    if kind == 0:
        value = s.bind(relax.prim_value(c.pick((2, 3))))
    elif kind == 1:
        value = s.param(INT, "number")
    elif kind == 2:
        value = s.bind(relax.prim_value(c.pick(s.dims)))
    else:
        value = s.match_cast(s.param(INT, "number"), INT)
    for use in uses:
        use(c, s, value)


def _size(c: Choices, s: Scope, value: relax.Expr) -> None:
    dims = relax.ShapeExpr([value, c.pick((2, 3))])
    s.emit(relax_op.zeros(dims, c.pick(s.dtypes)))


def _kernel(c: Choices, s: Scope, value: relax.Expr) -> None:
    x = s.tensor(c, dtype=ARITHMETIC, ndim=(2, 1, 3))
    func = tensorir.prim_func(tensorir.SCALED, x.shape or (), x.dtype or "")
    gvar = s.module.add(tensorir.SCALED.name, func)
    s.emit(relax.call_tir(gvar, relax.Tuple([x.expr, value]), x.expr.ty))


def _function(c: Choices, s: Scope, value: relax.Expr) -> None:
    """A private function of a number, which is a dim of its result."""
    f = Scope(s.module, s.dims, s.dtypes)
    taken = f.param(INT, "count")
    result = f.emit(relax_op.ones(relax.ShapeExpr([taken, 2]), c.pick(s.dtypes)))
    gvar = s.module.add("counted", finish(f, result.expr))
    s.bind(relax.Call(gvar, [relax.prim_value(3) if c.flag(0.3) else value]))


def _condition(c: Choices, s: Scope, value: relax.Expr) -> None:
    """An If of a comparison of numbers."""
    x = s.tensor(c, dtype=ARITHMETIC).expr
    branches = []
    for _ in range(2):
        with s.nested() as inner:
            y = inner.emit(c.pick(SAME_TYPE)(x))
            inner.close()
            branches.append(relax.SeqExpr(inner.blocks, y.expr))
    s.bind(relax.If(relax.prim_value(value > 2), *branches))


def _tuple(c: Choices, s: Scope, value: relax.Expr) -> None:
    """A tuple with the number as a field, which is then used."""
    pair = s.bind(relax.Tuple([value, s.tensor(c).expr]))
    _size(c, s, s.bind(relax.TupleGetItem(pair, 0)))


_USES: tuple[tuple[Trait | None, Callable[[Choices, Scope, relax.Expr], None]], ...] = (
    (None, _size),
    (Trait.CALL_TIR, _kernel),
    (Trait.SEVERAL_FUNCTIONS, _function),
    (Trait.IF, _condition),
    (Trait.TUPLES, _tuple),
)
"""Uses of a number, with the trait of modules that each needs."""
