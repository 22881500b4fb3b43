"""Operators that move elements about: shapes, joining, splitting, repeating."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from tvm import relax, tirx

from ...compat import ir
from ...compat.ops import relax_op
from ..choices import Choices
from ..scope import Scope
from ..values import Dim, Value
from . import undefined
from .operands import in_single, ints, nonempty_tensor, one_axis, quiet, some_axes
from .record import ALL as USUAL
from .record import BRAIN, NUMBERS, Op, moving
from .variation import RARE

__all__ = ["OPS"]

ALL = (*USUAL, *BRAIN)


def _product(dims: Sequence[Dim]) -> Dim:
    """The product of the dims; 1 if there are none."""
    product: Dim = 1
    for dim in dims:
        product = dim if isinstance(product, int) and product == 1 else product * dim
    return product


def _reshaped(c: Choices, shape: Sequence[Dim]) -> list[Dim]:
    """Another shape with as many elements, by a change that needs no proof of divisibility."""
    dims = list(shape)
    if 0 in ints(shape):
        # A 0 in the new shape means "copy this dim", so zeros must stay in place.
        return [*dims, 1]
    kind = c.below(6)
    if kind == 0 or not dims:
        return [_product(dims)]
    at = c.below(len(dims))
    rest = dims[at + 1 :]
    size = dims[at]
    if kind == 1 and rest:
        return [*dims[:at], _product((size, rest[0])), *rest[1:]]
    if kind == 2 and isinstance(size, int):
        factor = c.pick([f for f in (2, 3, 1) if size % f == 0])
        return [*dims[:at], size // factor, factor, *rest]
    if kind == 3:
        return [*dims[:at], 1, *dims[at:]]
    if kind == 4:
        return [*dims[:at], -1, *rest]
    return dims[::-1]


def _build_reshape(c: Choices, s: Scope) -> relax.Expr:
    x = s.tensor(c, dtype=ALL, complete=not c.flag(0.15))
    if x.shape is None:
        return relax_op.reshape(x.expr, s.bind(relax_op.shape_of(x.expr)))
    dims = _reshaped(c, x.shape)
    if -1 in ints(dims):
        return relax_op.reshape(x.expr, dims)
    return relax_op.reshape(x.expr, s.shape_expr(c, dims))


def _build_permute_dims(c: Choices, s: Scope) -> relax.Expr:
    x = s.tensor(c, dtype=ALL, complete=False)
    if x.ndim < 1 or c.flag(0.4):
        return relax_op.permute_dims(x.expr)
    left = list(range(x.ndim))
    axes = [left.pop(c.below(len(left))) for _ in range(x.ndim)]
    return relax_op.permute_dims(x.expr, [a - x.ndim if c.flag(0.1) else a for a in axes])


def _permute_dims(args: Sequence[Any], attrs: Any) -> Any:
    return np.transpose(args[0], None if attrs.axes is None else [int(axis) for axis in attrs.axes])


MANY = 13
"""The most operands of one call, more than TVM's templates and backends usually meet."""


def _build_concat(c: Choices, s: Scope) -> relax.Expr:
    x = s.tensor(c, dtype=ALL, ndim=(2, 1, 3, 4))
    assert x.shape is not None
    axis = one_axis(c, x.ndim)
    at = axis % x.ndim
    parts = [x.expr]
    for _ in range(MANY if c.flag(0.04) else c.pick((1, 2, 0, 3))):
        shape = list(x.shape)
        if c.flag(0.4):
            shape[at] = c.pick((1, 2, 3))
        parts.append(s.tensor(c, dtype=x.dtype, shape=shape).expr)
    if c.flag(0.2):
        parts.reverse()
    return relax_op.concat(parts, None if x.ndim == 1 and c.flag(0.2) else axis)


def _concat(args: Sequence[Any], attrs: Any) -> Any:
    return np.concatenate(args[0], axis=0 if attrs.axis is None else int(attrs.axis))


def _build_split(c: Choices, s: Scope) -> relax.Expr:
    x = s.tensor(c, dtype=ALL, ndim=(2, 1, 3, 4), where=_has_static_dim, fresh_shape=(2, 4))
    assert x.shape is not None
    at = c.pick([axis for axis, dim in enumerate(x.shape) if isinstance(dim, int)])
    size = x.shape[at]
    assert isinstance(size, int)
    axis = at - x.ndim if c.flag(0.25) else at
    if size >= 2 and c.flag(0.5):
        # Mostly no empty part: TVM's legalization takes equal cuts for unsorted ones.
        cuts = sorted({1 + c.below(size - 1) for _ in range(1 + c.below(2))})
        if c.flag(RARE):
            cuts = [cut + c.below(size) for cut in cuts[::-1]]
        return relax_op.split(x.expr, cuts, axis)
    # "Last section will be smaller", but TVM infers a negative size if an earlier one is cut.
    sections = [n for n in (2, 3, 4, 1) if -(-size // n) * (n - 1) <= size]
    return relax_op.split(x.expr, c.pick(sections), axis)


def _has_static_dim(x: Value) -> bool:
    return bool(ints(x.shape))


def _split(args: Sequence[Any], attrs: Any) -> Any:
    """One section is the tensor itself, not a tuple of one."""
    x, axis, how = args[0], int(attrs.axis), attrs.indices_or_sections
    if hasattr(how, "__len__"):
        return tuple(np.split(x, [int(cut) for cut in how], axis=axis))
    step = -(-x.shape[axis] // int(how))
    cuts = [step * i for i in range(1, int(how))]
    return tuple(np.split(x, cuts, axis=axis)) if cuts else x


def _units(x: Value) -> list[int]:
    return [axis for axis, dim in enumerate(x.shape or ()) if isinstance(dim, int) and dim == 1]


def _build_squeeze(c: Choices, s: Scope) -> relax.Expr:
    fresh = list(s.shape(c, c.pick((2, 1, 3))))
    fresh[c.below(len(fresh))] = 1
    x = s.tensor(c, dtype=ALL, where=lambda x: bool(_units(x)), fresh_shape=fresh)
    if x.static and c.flag(0.3):
        return relax_op.squeeze(x.expr)
    units = _units(x)
    axes = [axis for axis in units if c.flag()] or units[:1]
    axes = [axis - x.ndim if c.flag(0.2) else axis for axis in axes]
    return relax_op.squeeze(x.expr, axes[0] if len(axes) == 1 and c.flag() else axes)


def _squeeze(args: Sequence[Any], attrs: Any) -> Any:
    axes = None if attrs.axis is None else tuple(int(axis) for axis in attrs.axis)
    return np.squeeze(args[0], axes)


def _build_expand_dims(c: Choices, s: Scope) -> relax.Expr:
    x = s.tensor(c, dtype=ALL, ndim=(2, 1, 3, 0), complete=False)
    count = 1 + c.below(2)
    axes = some_axes(c, x.ndim + count)[:count]
    if len(axes) < count:
        axes = list(range(count))
    return relax_op.expand_dims(x.expr, axes[0] if count == 1 else axes)


def _build_broadcast_to(c: Choices, s: Scope) -> relax.Expr:
    x = s.tensor(c, dtype=ALL, ndim=(2, 1, 0, 3))
    assert x.shape is not None
    shape = [c.pick((3, 2, 1)) if isinstance(dim, int) and dim == 1 else dim for dim in x.shape]
    return relax_op.broadcast_to(x.expr, s.shape_expr(c, (*s.shape(c, c.pick((1, 0, 2))), *shape)))


def _build_collapse_sum(c: Choices, s: Scope) -> tuple[relax.Expr, str, list[Dim]]:
    x = nonempty_tensor(c, s, NUMBERS)
    assert x.shape is not None
    assert x.dtype is not None
    return x.expr, x.dtype, [1 if c.flag(0.4) else dim for dim in x.shape[c.below(x.ndim + 1) :]]


def _build_collapse_sum_to(c: Choices, s: Scope) -> relax.Expr:
    x, _, shape = _build_collapse_sum(c, s)
    return relax_op.collapse_sum_to(x, s.shape_expr(c, shape))


def _build_collapse_sum_like(c: Choices, s: Scope) -> relax.Expr:
    x, dtype, shape = _build_collapse_sum(c, s)
    return relax_op.collapse_sum_like(x, s.tensor(c, dtype=dtype, shape=shape).expr)


def _collapse_sum(args: Sequence[Any], attrs: Any) -> Any:
    x, target = args
    shape = target if isinstance(target, tuple) else target.shape
    x = x.sum(axis=tuple(range(x.ndim - len(shape))), dtype=x.dtype)
    ones = tuple(axis for axis, dim in enumerate(shape) if dim == 1)
    return x.sum(axis=ones, keepdims=True, dtype=x.dtype)


def _build_tile(c: Choices, s: Scope) -> relax.Expr:
    x = s.tensor(c, dtype=ALL, ndim=(2, 1, 3))
    repeats = [c.pick((2, 1, 3)) for _ in range(c.pick((x.ndim, 1, x.ndim + 1)))]
    return relax_op.tile(x.expr, repeats[0] if len(repeats) == 1 and c.flag() else repeats)


def _build_repeat(c: Choices, s: Scope) -> relax.Expr:
    x = s.tensor(c, dtype=ALL, ndim=(2, 1, 3))
    axis = None if c.flag(0.25) else one_axis(c, x.ndim)
    return relax_op.repeat(x.expr, c.pick((2, 1, 3)), axis)


def _repeat(args: Sequence[Any], attrs: Any) -> Any:
    axis = None if attrs.axis is None else int(attrs.axis)
    return np.repeat(args[0], int(attrs.repeats), axis)


def _build_flip(c: Choices, s: Scope) -> relax.Expr:
    x = s.tensor(c, dtype=ALL, ndim=(2, 1, 3, 4))
    return relax_op.flip(x.expr, one_axis(c, x.ndim))


def _build_stack(c: Choices, s: Scope) -> relax.Expr:
    x = s.tensor(c, dtype=ALL, ndim=(2, 1, 3, 0))
    parts = [x.expr]
    parts += [s.tensor(c, dtype=x.dtype, shape=x.shape).expr for _ in range(c.pick((1, 2, 0)))]
    return relax_op.stack(parts, one_axis(c, x.ndim + 1))


def _build_meshgrid(c: Choices, s: Scope) -> relax.Expr:
    x = s.tensor(c, dtype=ALL, ndim=1)
    others = [s.tensor(c, dtype=x.dtype, ndim=1).expr for _ in range(1 + c.below(2))]
    return relax_op.meshgrid([x.expr, *others], c.pick(("ij", "ij", "xy")))


def _meshgrid(args: Sequence[Any], attrs: Any) -> Any:
    return tuple(np.meshgrid(*args[0], indexing="xy" if attrs.indexing == "xy" else "ij"))


_MAPS = {
    2: (lambda i, j: (j, i), lambda i, j: (i // 2, j, i % 2)),
    3: (lambda i, j, k: (i, k, j), lambda i, j, k: (i // 2, j, k, i % 2)),
    4: (lambda n, ch, h, w: (n, h, w, ch), lambda n, ch, h, w: (n // 2, ch, h, w, n % 2)),
}
"""By rank: a transposition, and one that packs pairs of the first axis into the last."""


def _build_layout_transform(c: Choices, s: Scope) -> relax.Expr:
    x = nonempty_tensor(c, s, NUMBERS, (2, 3, 4), static=True)
    transpose, pack = _MAPS[x.ndim]
    if not c.flag():
        return relax_op.layout_transform(x.expr, transpose)
    # Half of a pair is padded.
    odd = ints(x.shape)[0] % 2 == 1
    value = relax.prim_value(tirx.const(c.pick((0, 1)), x.dtype)) if odd else None
    return relax_op.layout_transform(x.expr, pack, value)


def _layout_transform(args: Sequence[Any], attrs: Any) -> Any:
    x, moved = args[0], attrs.index_map
    shape = [int(dim) for dim in moved.map_shape(list(x.shape))]
    if attrs.pad_value is None and math.prod(shape) > x.size:
        raise ValueError("padding by any value")
    out = np.full(shape, 0 if attrs.pad_value is None else attrs.pad_value.value, x.dtype)
    places = dict(zip(moved.initial_indices, np.indices(x.shape, sparse=True), strict=True))
    indices = [_index(each, places) for each in moved.final_indices]
    out[tuple(np.broadcast_to(each, x.shape) for each in indices)] = x
    return out


def _index(expr: Any, places: Mapping[tirx.Var, Any]) -> Any:
    """An index of an index map, for all places at once."""
    kind = type(expr)
    if kind is tirx.IntImm:
        return int(expr.value)
    if kind is ir.Cast:
        return _index(expr.value, places)
    if kind in _ARITHMETIC:
        return _ARITHMETIC[kind](_index(expr.a, places), _index(expr.b, places))
    if expr not in places:
        raise ValueError(f"an index map with {kind.__name__}")
    return places[expr]


_ARITHMETIC: Mapping[type, Callable[[Any, Any], Any]] = {
    ir.Add: operator.add,
    ir.Sub: operator.sub,
    ir.Mul: operator.mul,
    ir.FloorDiv: operator.floordiv,
    ir.FloorMod: operator.mod,
    ir.Min: np.minimum,
    ir.Max: np.maximum,
}


OPS = (
    moving(
        "reshape",
        _build_reshape,
        lambda args, attrs: args[0].reshape(args[1]),
        lowered_by="LowerRuntimeBuiltin",
        moves=(0,),
        views=True,
    ),
    moving(
        "permute_dims",
        _build_permute_dims,
        _permute_dims,
        moves=(0,),
    ),
    moving(
        "concat",
        _build_concat,
        _concat,
        moves=(0,),
    ),
    moving("split", _build_split, _split),
    moving(
        "squeeze",
        _build_squeeze,
        _squeeze,
        moves=(0,),
    ),
    moving(
        "expand_dims",
        _build_expand_dims,
        lambda args, attrs: np.expand_dims(args[0], [int(a) for a in attrs.axis]),
        moves=(0,),
    ),
    moving(
        "flatten",
        lambda c, s: relax_op.flatten(s.tensor(c, dtype=ALL, complete=False).expr),
        lambda args, attrs: args[0].reshape(-1),
        moves=(0,),
    ),
    moving(
        "broadcast_to",
        _build_broadcast_to,
        lambda args, attrs: np.broadcast_to(args[0], args[1]),
        moves=(0,),
    ),
    Op(
        name="collapse_sum_to",
        build=_build_collapse_sum_to,
        reference=quiet(in_single(_collapse_sum)),
        dtypes=NUMBERS,
        nonfinite=True,
        undefined=undefined.sum_overflow,
        arithmetic=(0,),
    ),
    Op(
        name="collapse_sum_like",
        build=_build_collapse_sum_like,
        reference=quiet(in_single(_collapse_sum)),
        dtypes=NUMBERS,
        nonfinite=True,
        undefined=undefined.sum_overflow,
        arithmetic=(0,),
    ),
    moving(
        "tile",
        _build_tile,
        lambda args, attrs: np.tile(args[0], [int(r) for r in attrs.repeats]),
        moves=(0,),
    ),
    moving(
        "repeat",
        _build_repeat,
        _repeat,
        moves=(0,),
    ),
    moving(
        "flip",
        _build_flip,
        lambda args, attrs: np.flip(args[0], int(attrs.axis)),
        moves=(0,),
    ),
    moving(
        "stack",
        _build_stack,
        lambda args, attrs: np.stack(args[0], int(attrs.axis)),
        moves=(0,),
    ),
    moving(
        "meshgrid",
        _build_meshgrid,
        _meshgrid,
        moves=(0,),
    ),
    Op(
        name="layout_transform",
        build=_build_layout_transform,
        reference=_layout_transform,
        dtypes=NUMBERS,
        kinds="b",
        nonfinite=True,
    ),
)
