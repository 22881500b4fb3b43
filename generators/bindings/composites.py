"""Calls of Composite functions, as FuseOpsByPattern leaves them."""

from __future__ import annotations

from tvm import relax

from ...compat.ops import relax_op
from ..choices import Choices
from ..scope import DEFAULT_DTYPE, Scope
from .kind import Callees, Ops, finish

BACKENDS = ("cutlass", "dnnl", "tensorrt")


def composite_calls(c: Choices, s: Scope, ops: Ops, callees: Callees) -> None:
    """Calls of two Composite functions in a row, mostly of one backend.

    Some take the results of several others, some return tuples, and other operators may separate
    them.
    """
    x = s.tensor(c, dtype=DEFAULT_DTYPE, ndim=(2, 1, 3), static=True)
    values = [x.expr, s.tensor(c, dtype=DEFAULT_DTYPE, shape=x.shape).expr]
    ty = relax.TensorType(x.shape, DEFAULT_DTYPE)
    backend = c.pick(BACKENDS)
    backends = c.picks((backend, backend, BACKENDS[0]), 2)
    parts = [_composite(c.part(2), s, ty, each) for each in backends]
    for number in range(2 + c.below(4)):
        recent = values[:2] if number < 2 else values[-2:]  # two results, then a call on both
        a, b, kind = recent[0], c.pick((recent[1], *values)), c.below(8)
        if kind >= 6:
            made = s.bind(c.pick((relax_op.exp, relax_op.negative))(a))
        else:
            made = s.bind(relax.Call(parts[kind % 2], [b, a] if kind == 5 else [a, b]))
        if isinstance(made.ty, relax.TupleType):
            made = s.bind(relax.TupleGetItem(made, c.below(2)))
        values.append(made)


def _composite(c: Choices, s: Scope, ty: relax.Type, backend: str) -> relax.GlobalVar:
    """A Composite function of two tensors, with one result or a tuple of two."""
    f = Scope(s.module, s.dims, s.dtypes)
    x, y = f.param(ty), f.param(ty)
    f.dataflow(True)
    first, last = c.picks((relax_op.add, relax_op.multiply, relax_op.maximum), 2)
    both = f.emit(first(x, y), export=True).expr
    result: relax.Expr = f.emit(last(both, y), export=True).expr
    if c.flag(0.3):
        result = relax.Tuple([result, both])
    attrs = {"Composite": f"{backend}.binary", "Primitive": True}
    return s.module.add("composite", finish(f, result, attrs))
