"""Idioms whose calls depend on one another's attributes more than records allow."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from tvm import relax

from ...compat.ops import registered, relax_op
from .. import tensorir
from ..choices import Choices
from ..ops import table
from ..ops.operands import ints, nonempty
from ..ops.record import FLOATS
from ..scope import Scope
from ..traits import Trait
from ..values import Dim, Value, value_of

_Step = Callable[[relax.Expr], relax.Expr]


def neighbouring_slices(c: Choices, s: Scope) -> None:
    """Slices that lie side by side along an axis, put together again."""
    x = s.tensor(
        c,
        ndim=(2, 1, 3),
        static=True,
        where=lambda v: max(ints(v.shape)) >= 2,
        fresh_shape=(4, 3),
    )
    sizes = ints(x.shape)
    axis = c.pick([axis for axis, size in enumerate(sizes) if size >= 2])
    middle = sizes[axis] // 2 if c.flag() else 1
    parts = [
        s.emit(relax_op.strided_slice(x.expr, [axis], [low], [high])).expr
        for low, high in ((0, middle), (middle, sizes[axis]))
    ]
    s.emit(relax_op.concat(parts[::-1] if c.flag(0.2) else parts, axis=axis))


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
    """An operator and its inverse, perhaps with another between; the original stays in use."""
    x = s.tensor(c, dtype=FLOATS, ndim=(2, 3, 1), static=True, where=nonempty, fresh_shape=(2, 3))
    there, back = c.pick(_inverses(x))
    y = s.emit(there(x.expr)).expr
    if c.flag(0.3):
        y = s.emit(relax_op.nn.relu(y)).expr
    z = s.emit(back(y)).expr
    if c.flag():
        s.emit(relax_op.add(z, x.expr))


def _inverses(x: Value) -> list[tuple[_Step, _Step]]:
    shape, axes = ints(x.shape), [*range(1, x.ndim), 0]
    back = [axes.index(axis) for axis in range(len(axes))]
    flat = int(np.prod(shape))
    return [
        (lambda v: relax_op.permute_dims(v, axes), lambda v: relax_op.permute_dims(v, back)),
        (relax_op.permute_dims, relax_op.permute_dims),
        (lambda v: relax_op.expand_dims(v, 0), lambda v: relax_op.squeeze(v, [0])),
        (lambda v: relax_op.flip(v, 0), lambda v: relax_op.flip(v, 0)),
        (lambda v: relax_op.reshape(v, (flat,)), lambda v: relax_op.reshape(v, shape)),
    ]


def read_by_other_names(c: Choices, s: Scope) -> None:
    """A fresh value whose last use is by its own name; an alias or a tuple of it lives longer."""
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
    s.emit(relax_op.add(z.expr, other))


def _elementwise(c: Choices, s: Scope, x: Value) -> Value:
    """An operator on one value, or sometimes a kernel, if the module has calls of kernels."""
    if s.has(Trait.CALL_TIR) and x.shape and c.flag(0.4):
        template = c.pick(tensorir.TEMPLATES[:2])
        gvar = s.module.add(template.name, tensorir.prim_func(template, x.shape, x.dtype or ""))
        return s.emit(relax.call_tir(gvar, (x.expr,), x.expr.ty))
    return s.emit(c.pick((relax_op.nn.relu, relax_op.negative, relax_op.abs))(x.expr))


def broadcast_to_a_later_size(c: Choices, s: Scope) -> None:
    """A value that is broadcast to a size found after it, at run time if the module allows that.

    Only the types of calls name this size: a pass that moves calls together must look there.
    """
    y = _elementwise(c, s, s.tensor(c, dtype=FLOATS, ndim=(1, 0, 2), static=True))
    rows: Dim = 2
    if s.has(Trait.SHAPE_VALUES) and s.has(Trait.MATCH_CAST):
        rows = s.fresh_dim()
        s.match_cast(s.param(relax.ShapeType(ndim=1), "shape"), relax.ShapeType([rows]))
    z = s.emit(relax_op.broadcast_to(y.expr, relax.ShapeExpr([rows, *(y.shape or ())])))
    if c.flag():
        _elementwise(c, s, z)


def attention_of_parts(c: Choices, s: Scope) -> None:
    """Attention whose queries, keys and values are parts of one tensor, as backends look for it."""
    batch, length, heads, size = c.pick((1, 2)), c.pick((2, 3)), c.pick((2, 1)), c.pick((4, 2))
    width = heads * size
    dtype = c.pick(("float32", "float16"))
    turned = c.flag(0.3)  # the length before the batch
    lead = (length, batch) if turned else (batch, length)
    stacked = s.tensor(c, dtype=dtype, shape=(*lead, 3 * width)).expr
    if c.flag(0.6):
        both = s.bind(relax_op.split(stacked, c.pick((3, [width, 2 * width])), c.pick((2, -1))))
        parts: list[relax.Expr] = [s.bind(relax.TupleGetItem(both, at)) for at in range(3)]
    else:
        parts = [
            s.emit(relax_op.strided_slice(stacked, [2], [at * width], [(at + 1) * width])).expr
            for at in range(3)
        ]
    heads_apart = [s.emit(relax_op.reshape(part, (*lead, heads, size))).expr for part in parts]
    if turned:
        swap = [1, 0, 2, 3]
        heads_apart = [s.emit(relax_op.permute_dims(part, swap)).expr for part in heads_apart]
    if c.flag(0.3):
        bias = s.tensor(c, dtype=dtype, shape=(batch, heads, length, length)).expr
        result = s.emit(relax_op.nn.attention(*heads_apart, bias))
    else:
        result = s.emit(relax_op.nn.attention(*heads_apart))
    if c.flag():
        s.emit(relax_op.reshape(result.expr, (batch, length, width)))


def convolution_cast(c: Choices, s: Scope) -> None:
    """A convolution, a match_cast that renames the dims of its result, and a use of that."""
    conv = table[c.pick(("nn.conv2d", "nn.conv1d", "nn.conv2d_transpose", "nn.conv3d"))]
    x = value_of(s.bind(conv.build(c.part(12), s)))
    if x is not None and x.shape is not None and s.has(Trait.MATCH_CAST):
        dims = [s.fresh_dim(dim) if c.flag() else dim for dim in x.shape]
        x = value_of(s.match_cast(x.expr, relax.TensorType(relax.ShapeExpr(dims), x.dtype)))
    if x is not None:
        _elementwise(c, s, x)


SPECIAL: tuple[Callable[[Choices, Scope], None], ...] = (
    neighbouring_slices,
    reshapes_alike,
    there_and_back,
    read_by_other_names,
    attention_of_parts,
    convolution_cast,
    broadcast_to_a_later_size,
)
