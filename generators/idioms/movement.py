"""Reshapes, transposes, slices and views that passes merge, reorder or remove."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from tvm import relax

from ...compat.ops import registered, relax_op
from ..choices import Choices
from ..ops.operands import ints, nonempty
from ..ops.record import FLOATS
from ..scope import Scope, Value
from .arithmetic import _BINARY, _UNARY, _elementwise


def reshapes(c: Choices, s: Scope) -> None:
    """Reshape after reshape, or to the shape at hand."""
    # A 0 in the new shape stands for the dim of the old one.
    x = s.tensor(c, ndim=(2, 1, 3), static=True, where=nonempty, fresh_shape=(2, 3))
    shape = ints(x.shape)
    flat = s.emit(relax_op.reshape(x.expr, s.shape_expr(c, [int(np.prod(shape))])))
    s.emit(relax_op.reshape(flat.expr, s.shape_expr(c, c.pick((shape, shape[::-1])))))


def concat_of_transposes(c: Choices, s: Scope) -> None:
    """concat of permute_dims of several tensors."""
    x = s.tensor(c, ndim=(2, 3), static=True)
    y = s.tensor(c, dtype=x.dtype, shape=x.shape)
    axes = list(reversed(range(x.ndim)))
    parts = [s.emit(relax_op.permute_dims(t.expr, axes)).expr for t in (x, y)]
    s.emit(relax_op.concat(parts, axis=c.below(x.ndim)))


def split_and_concat(c: Choices, s: Scope) -> None:
    """split, then concat of the parts."""
    x = s.tensor(c, ndim=(2, 1), static=True, fresh_shape=(4, 2))
    parts = s.bind(relax_op.split(x.expr, 2, axis=0))
    if isinstance(parts.ty, relax.TupleType):
        fields = [s.bind(relax.TupleGetItem(parts, i)) for i in range(len(parts.ty.fields))]
        s.emit(relax_op.concat(fields, axis=0))


def neighbouring_slices(c: Choices, s: Scope) -> None:
    """Slices that lie side by side, put together again or added."""
    x = s.tensor(
        c,
        ndim=(2, 1, 3),
        static=True,
        where=lambda v: v.shape is not None and int(v.shape[0]) >= 2,
        fresh_shape=(4, 3),
    )
    size = ints(x.shape)[0]
    middle = size // 2 if c.flag() else 1
    parts = [
        s.emit(relax_op.strided_slice(x.expr, [0], [low], [high])).expr
        for low, high in ((0, middle), (middle, size))
    ]
    s.emit(relax_op.concat(parts, axis=0))


def permuted_along_an_axis(c: Choices, s: Scope) -> None:
    """permute_dims, and an operator along one axis of the result."""
    x = s.tensor(c, dtype=FLOATS, ndim=(2, 3), where=nonempty, fresh_shape=(2, 3))
    y = s.emit(relax_op.permute_dims(x.expr, [None, [*range(1, x.ndim), 0]][c.below(2)])).expr
    axis = c.pick((-1, 0, 1, -2))
    along: tuple[_Step, ...] = (
        lambda v: relax_op.nn.softmax(v, axis),
        lambda v: relax_op.sum(v, [axis]),
        lambda v: relax_op.cumsum(v, axis),
        lambda v: relax_op.max(v, [axis], True),
        lambda v: relax_op.nn.log_softmax(v, axis),
    )
    s.emit(c.pick(along)(y))


def view_and_origin(c: Choices, s: Scope) -> None:
    """A fresh value and a view of it, by an alias or a tuple sometimes, both used later."""
    x = s.tensor(c, dtype=FLOATS, ndim=(2, 1, 3), static=True, where=nonempty, fresh_shape=(2, 3))
    y = s.emit(c.pick(_UNARY)(x.expr))
    view = s.emit(relax_op.reshape(y.expr, [int(np.prod(ints(y.shape)))])).expr
    kind = c.below(3)
    if kind == 1:
        view = s.emit(view).expr
    elif kind == 2:
        view = s.emit(relax.TupleGetItem(s.bind(relax.Tuple([view, y.expr])), 0)).expr
    s.emit(c.pick(_UNARY)(y.expr))
    s.emit(c.pick(_UNARY)(view))


def read_by_other_names(c: Choices, s: Scope) -> None:
    """A fresh value that an operator reads last by its name; an alias or a tuple lives longer."""
    x = s.tensor(c, dtype=FLOATS)
    exporting, s.exporting = s.exporting, False
    y = _elementwise(c, s, x)
    in_tuple = c.flag(0.6)
    other_name = s.bind(relax.Tuple([y.expr, x.expr]) if in_tuple else y.expr)
    z = _elementwise(c, s, y)
    for _ in range(c.below(3)):
        z = _elementwise(c, s, z)
    other = s.emit(relax.TupleGetItem(other_name, 0)).expr if in_tuple else other_name
    s.exporting = exporting
    s.emit(c.pick(_BINARY)(z.expr, other))


def reshapes_alike(c: Choices, s: Scope) -> None:
    """Several tensors reshaped by one ShapeExpr node, as queries, keys and values are.

    Some have the shape already.
    """
    shape = (c.pick((2, 3, 4)), c.pick((3, 4)))
    node, dtype = s.shape_expr(c, shape), c.pick(s.dtypes)
    flat, turned = (shape[0] * shape[1],), (1, *reversed(shape))
    for _ in range(2 + c.below(2)):
        x = s.tensor(c, dtype=dtype, shape=c.pick((shape, flat, turned)))
        # relax.op.reshape would copy the node.
        s.emit(relax.Call(registered("relax.reshape"), [x.expr, node]))


def there_and_back(c: Choices, s: Scope) -> None:
    """An operator and its inverse, sometimes with another between; the origin stays in use."""
    x = s.tensor(c, dtype=FLOATS, ndim=(2, 3, 1), static=True)
    axes = [*range(1, x.ndim), 0]
    there, back = c.pick(_inverses(x, axes))
    y = s.emit(there(x.expr)).expr
    if c.flag(0.3):
        y = s.emit(c.pick(_UNARY)(y)).expr
    z = s.emit(back(y)).expr
    if c.flag():
        s.emit(c.pick(_BINARY)(z, x.expr))


_Step = Callable[[relax.Expr], relax.Expr]


def _inverses(x: Value, axes: list[int]) -> list[tuple[_Step, _Step]]:
    shape, dtype = ints(x.shape), x.dtype or "float32"
    back = [axes.index(axis) for axis in range(len(axes))]
    pairs: list[tuple[_Step, _Step]] = [
        (relax_op.negative, relax_op.negative),
        (lambda v: relax_op.permute_dims(v, axes), lambda v: relax_op.permute_dims(v, back)),
        (relax_op.permute_dims, relax_op.permute_dims),
        (lambda v: relax_op.expand_dims(v, 0), lambda v: relax_op.squeeze(v, [0])),
        (lambda v: relax_op.flip(v, 0), lambda v: relax_op.flip(v, 0)),
        *(
            (lambda v, d=d: relax_op.astype(v, d), lambda v: relax_op.astype(v, dtype))
            for d in FLOATS
            if d != dtype
        ),
    ]
    if 0 not in shape:
        size = int(np.prod(shape))
        pairs.append((lambda v: relax_op.reshape(v, (size,)), lambda v: relax_op.reshape(v, shape)))
    return pairs


def filled(c: Choices, s: Scope) -> None:
    """Zeros and ones of one type, as masks are made of."""
    x = s.tensor(c, dtype=("float32", "int32", "float16"), static=True)
    shape, dtype = s.shape_expr(c, ints(x.shape)), x.dtype or "float32"
    makers: tuple[_Step, ...] = (
        lambda v: relax_op.zeros(shape, dtype),
        lambda v: relax_op.ones(shape, dtype),
        relax_op.zeros_like,
        relax_op.ones_like,
    )
    a, b = (s.emit(makers[at + 2 * c.below(2)](x.expr)).expr for at in (0, 1))
    kind = c.below(3)
    if kind == 2:
        s.emit(relax_op.where(s.emit(relax_op.greater(x.expr, a)).expr, b, a))
    else:
        s.emit(relax_op.add(x.expr, s.emit(_BINARY[kind](a, b)).expr))


def layout_transforms(c: Choices, s: Scope) -> None:
    """A layout_transform and its inverse, sometimes with an operator between."""
    x = s.tensor(c, dtype=FLOATS, ndim=2, static=True).expr
    there = s.emit(relax_op.layout_transform(x, lambda i, j: (j, i))).expr
    if c.flag():
        there = s.emit(relax_op.nn.relu(there)).expr
    s.emit(relax_op.layout_transform(there, lambda i, j: (j, i)))
