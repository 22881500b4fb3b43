"""Operators that read or write at indices."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from tvm import relax

from ...compat.ops import relax_op
from ..choices import Choices
from ..scope import Scope
from ..values import Dim, Value
from . import accepts, undefined
from .operands import broadcast_shape, ints, nonempty_tensor, one_axis
from .record import ALL as USUAL
from .record import BRAIN, FLOATS, INTEGERS, NUMBERS, SIGNED, Op, moving

__all__ = ["OPS"]

ALL = (*USUAL, *BRAIN)
INDICES = ("int64", "int32")


def _const(values: Any) -> relax.Expr:
    return relax.const(np.asarray(values, "int64"), "int64")


def _static_shape(c: Choices, s: Scope, ndim: int) -> list[int]:
    return ints(s.shape(c, ndim, static=True))


# take


def _build_take(c: Choices, s: Scope) -> relax.Expr:
    x = nonempty_tensor(c, s, ALL)
    assert x.shape is not None
    axis = one_axis(c, x.ndim)
    size = x.shape[axis]
    mode = c.pick(("fast", "clip", "wrap", "nan"))
    if mode == "nan" and x.dtype not in FLOATS:
        mode = "fast"
    if mode in ("clip", "wrap") and c.flag(0.4):
        indices = s.tensor(c, dtype=INDICES, ndim=(1, 2, 0)).expr
    elif c.flag(0.06):
        indices = relax.prim_value(0)
    else:
        # In the mode "fast", indices must be in bounds; a symbolic size is at least 1.
        high = size - 1 if isinstance(size, int) else 0
        low, high = (0, high) if mode == "fast" else (0, high + 2)
        shape = _static_shape(c, s, c.pick((1, 2, 0)))
        indices = s.constant(c, shape, c.pick(INDICES), low=low, high=high).expr
    return relax_op.take(x.expr, indices, None if x.ndim == 1 and c.flag(0.3) else axis, mode)


def _take(args: Sequence[Any], attrs: Any) -> Any:
    x, indices = args[0], np.asarray(args[1])
    axis = 0 if attrs.axis is None else int(attrs.axis)
    mode = str(attrs.mode)
    size = x.shape[axis]
    if mode == "clip":
        return np.take(x, np.clip(indices, 0, size - 1), axis)
    if mode == "wrap":
        return np.take(x, indices % size, axis)
    outside = (indices < 0) | (indices >= size)
    if mode == "fast" and outside.any():
        raise IndexError(f"Expected indices below {size} in mode 'fast' but got {indices}")
    taken = np.asarray(np.take(x, np.clip(indices, 0, size - 1), axis))
    where = outside.reshape(indices.shape + (1,) * (x.ndim - 1 - axis % x.ndim))
    return np.where(where, np.asarray(np.nan, x.dtype), taken) if mode == "nan" else taken


# Slices


def _bounds(c: Choices, size: int) -> tuple[int, int, int]:
    """Begin, end and stride, even out of bounds, but in order: else TVM infers a negative size."""
    stride = c.pick((1, 1, 2, -1, -2))
    begin = c.below(size)
    if stride > 0:
        end = c.pick((size, size + 3, begin, size - c.below(size - begin)))
    else:
        end = c.pick((-size - 1, begin, -size - 3, begin - size))
    return begin - size if c.flag(0.25) else begin, end, stride


def _build_strided_slice(c: Choices, s: Scope) -> relax.Expr:
    x = nonempty_tensor(c, s, ALL, static=not c.flag(0.3))
    assert x.shape is not None
    axes = [axis for axis, dim in enumerate(x.shape) if isinstance(dim, int)]
    axes = [axis for axis in axes if c.flag()] or axes[:1]
    bounds = [_bounds(c, size) for axis in axes if isinstance(size := x.shape[axis], int)]
    within = [(*b[:2], x.shape[axis]) for b, axis in zip(bounds, axes, strict=True)]
    axes = [axis - x.ndim if c.flag(0.2) else axis for axis in axes]
    begin, end, strides = map(list, zip(*bounds, strict=True)) if bounds else ([], [], [])
    plain = all(stride == 1 for stride in strides) and c.flag()
    inside = all(0 <= b < e <= size for b, e, size in within) and c.flag()
    return relax_op.strided_slice(
        x.expr, axes, begin, end, None if plain else strides, assume_inbound=inside
    )


def _strided_slice(args: Sequence[Any], attrs: Any) -> Any:
    x, axes, begin, end, *strides = args
    if attrs.assume_inbound:
        for axis, bounds in zip(axes, zip(begin, end, strict=True), strict=True):
            if not all(0 <= bound <= x.shape[axis] for bound in bounds):
                raise IndexError(f"Expected {bounds} within 0 and {x.shape[axis]}: assume_inbound")
    return _sliced(x, axes, begin, end, strides[0] if strides else (1,) * len(axes))


def _sliced(
    x: Any, axes: Sequence[int], begin: Sequence[int], end: Sequence[int], strides: Sequence[int]
) -> Any:
    index = [slice(None)] * x.ndim
    for axis, first, last, stride in zip(axes, begin, end, strides, strict=True):
        index[axis] = slice(int(first), int(last), int(stride))
    return x[tuple(index)]


def _build_dynamic_strided_slice(c: Choices, s: Scope) -> relax.Expr:
    x = nonempty_tensor(c, s, ALL)
    assert x.shape is not None
    # No slice is empty: TVM computes negative sizes for begin > end.
    bounds = [c.pick(((0, 1, 1), (0, 9, 2), (0, 9, 1), (-1, -9, -1))) for _ in x.shape]
    return relax_op.dynamic_strided_slice(
        x.expr, *(_const(part) for part in zip(*bounds, strict=True))
    )


def _dynamic_strided_slice(args: Sequence[Any], attrs: Any) -> Any:
    x, begin, end, strides = args
    return _sliced(x, range(x.ndim), begin, end, strides)


def _build_slice_scatter(c: Choices, s: Scope) -> relax.Expr:
    x = nonempty_tensor(c, s, ALL, static=True)
    shape = ints(x.shape)
    axis = c.below(x.ndim)
    start, step = c.below(shape[axis]), c.pick((1, 2))
    end = shape[axis] - c.below(shape[axis] - start)
    shape[axis] = len(range(start, end, step))
    src = s.tensor(c, dtype=x.dtype, shape=shape)
    return relax_op.slice_scatter(x.expr, src.expr, start, end, step, axis)


def _slice_scatter(args: Sequence[Any], attrs: Any) -> Any:
    x, src, start, end, step = args
    out = x.copy()
    index = [slice(None)] * x.ndim
    index[int(attrs.axis)] = slice(int(start), int(end), int(step))
    out[tuple(index)] = src
    return out


# Gather


def _build_gather_elements(c: Choices, s: Scope) -> relax.Expr:
    x = nonempty_tensor(c, s, ALL, static=True)
    axis = one_axis(c, x.ndim)
    shape = ints(x.shape)
    high = shape[axis] - 1
    shape[axis] = c.pick((shape[axis], 1, 3))
    indices = s.constant(c, _shorter(c, shape), c.pick(INDICES), low=0, high=high)
    return relax_op.gather_elements(x.expr, indices.expr, axis)


def _shorter(c: Choices, shape: Sequence[int]) -> list[int]:
    """Sizes of indices, sometimes smaller than the data's along every axis."""
    return [1 + c.below(size) for size in shape] if c.flag(0.05) else list(shape)


def _grid(indices: Any, axis: int) -> tuple[Any, ...]:
    """The places that ONNX's GatherElements and ScatterElements access: one array for each axis."""
    if not -indices.ndim <= axis < indices.ndim:
        raise ValueError(f"axis {axis} of {indices.ndim}")
    grid = list(np.indices(indices.shape))
    grid[axis] = indices
    return tuple(grid)


def _gather_elements(args: Sequence[Any], attrs: Any) -> Any:
    x, indices = args
    return x[_grid(indices, int(attrs.axis))]


def _build_gather_nd(c: Choices, s: Scope) -> relax.Expr:
    x = nonempty_tensor(c, s, ALL, static=True)
    shape = ints(x.shape)
    batch = 1 if x.ndim > 1 and c.flag(0.3) else 0
    depth = 1 + c.below(x.ndim - batch)
    count = c.pick((2, 1, 3))
    bounds = shape[batch : batch + depth]
    rows = [[c.below(bound) for bound in bounds] for _ in range(count)]
    values = np.broadcast_to(np.asarray(rows), (*shape[:batch], count, depth))
    return relax_op.gather_nd(x.expr, _const(values), batch)


def _gather_nd(args: Sequence[Any], attrs: Any) -> Any:
    x, indices = args
    if int(attrs.batch_dims) == 0:
        return x[tuple(np.moveaxis(indices, -1, 0))]
    parts = zip(x, indices, strict=True)
    return np.stack([part[tuple(np.moveaxis(index, -1, 0))] for part, index in parts])


def _build_index_tensor(c: Choices, s: Scope) -> relax.Expr:
    x = nonempty_tensor(c, s, ALL, static=True)
    shape = ints(x.shape)
    first = _static_shape(c, s, c.pick((1, 2)))
    indices = []
    for size in shape[: 1 + c.below(x.ndim)]:
        part = ints(broadcast_shape(c, first)) if c.flag(0.3) else first
        if len(part) > len(first) or any(
            a not in (1, b) for a, b in zip(part[::-1], first[::-1], strict=False)
        ):
            part = first
        indices.append(s.constant(c, part, c.pick(INDICES), low=0, high=size - 1).expr)
    return relax_op.index_tensor(x.expr, indices)


# Scatter


def _distinct(c: Choices, shape: Sequence[int], axis: int, size: int) -> Any:
    """Indices below size that differ from one another along the axis."""
    return (c.below(size) + np.indices(tuple(shape))[axis]) % size


_REDUCTIONS: Mapping[str, Any] = {
    "update": None,
    "add": np.add,
    "mul": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
}
"""Reductions of updates; all but "update" give the same for two updates in either order."""


def _build_scatter_elements(c: Choices, s: Scope) -> relax.Expr:
    x = nonempty_tensor(c, s, NUMBERS, static=True)
    axis = one_axis(c, x.ndim)
    shape = ints(x.shape)
    size = shape[axis]
    shape[axis] = 1 + c.below(size)
    shape = _shorter(c, shape)
    reduction = c.pick((*_REDUCTIONS, "mean"))
    if reduction == "mean" and x.dtype not in FLOATS:
        reduction = "update"
    if reduction not in ("update", "mean") and x.dtype in INTEGERS:
        # Only here does a repeated index have the same meaning in any order.
        indices = s.constant(c, shape, "int64", low=0, high=size - 1).expr
    else:
        indices = _const(_distinct(c, shape, axis, size))
    updates = s.tensor(c, dtype=x.dtype, shape=shape)
    return relax_op.scatter_elements(x.expr, indices, updates.expr, axis, reduction)


def _scattered(x: Any, where: tuple[Any, ...], updates: Any, reduction: str) -> Any:
    out = x.copy()
    if reduction == "mean":
        # "The mean between the update values and the input data" (topi.scatter_elements).
        out[where] = (out[where] + updates) / np.asarray(2, x.dtype)
    elif reduction == "update":
        out[where] = updates
    else:
        _REDUCTIONS[reduction].at(out, where, updates)
    return out


def _scatter_elements(args: Sequence[Any], attrs: Any) -> Any:
    x, indices, updates = args
    if updates.shape != indices.shape:  # sizes that depend on the call
        raise undefined.OutsideError(f"Expected updates {indices.shape} but got {updates.shape}")
    return _scattered(x, _grid(indices, int(attrs.axis)), updates, str(attrs.reduction))


def _build_scatter_nd(c: Choices, s: Scope) -> relax.Expr:
    x = nonempty_tensor(c, s, NUMBERS, static=True)
    shape = ints(x.shape)
    count = 1 + c.below(shape[0])
    indices = _distinct(c, (count, 1), 0, shape[0])
    depth = 1 + c.below(x.ndim)
    others = [[c.below(size) for size in shape[1:depth]] for _ in range(count)]
    indices = np.concatenate([indices, np.reshape(others, (count, depth - 1))], 1).astype("int64")
    updates = s.tensor(c, dtype=x.dtype, shape=(count, *shape[depth:]))
    return relax_op.scatter_nd(x.expr, _const(indices), updates.expr, c.pick(tuple(_REDUCTIONS)))


def _scatter_nd(args: Sequence[Any], attrs: Any) -> Any:
    x, indices, updates = args
    return _scattered(x, tuple(np.moveaxis(indices, -1, 0)), updates, str(attrs.reduction))


def _build_index_put(c: Choices, s: Scope) -> relax.Expr:
    x = nonempty_tensor(c, s, NUMBERS, (2, 1, 3), static=True)
    shape = ints(x.shape)
    count = 1 + c.below(shape[0])
    accumulate = x.dtype in SIGNED and c.flag()
    first = _distinct(c, (count,), 0, shape[0])
    others = [[c.below(size) for _ in range(count)] for size in shape[1:]]
    values = s.tensor(c, dtype=x.dtype, shape=(count,))
    indices = tuple(_const(part) for part in (first, *others))
    return relax_op.index_put(x.expr, indices, values.expr, accumulate)


def _index_put(args: Sequence[Any], attrs: Any) -> Any:
    x, indices, values = args
    return _scattered(x, tuple(indices), values, "add" if attrs.accumulate else "update")


# Choice


def _build_where(c: Choices, s: Scope) -> relax.Expr:
    x = s.tensor(c, dtype=ALL)
    assert x.shape is not None
    y = s.tensor(c, dtype=x.dtype, shape=_narrower(c, x))
    condition = s.tensor(c, dtype="bool", shape=_narrower(c, x))
    x, y = (y, x) if c.flag(0.25) else (x, y)
    return relax_op.where(condition.expr, x.expr, y.expr)


def _narrower(c: Choices, x: Value) -> tuple[Dim, ...]:
    """x's shape, or one that broadcasts to it."""
    assert x.shape is not None
    kind = c.below(4)
    if kind < 2:
        return x.shape
    return () if kind == 2 else tuple(1 if c.flag() else dim for dim in x.shape)


def _build_reverse_sequence(c: Choices, s: Scope) -> relax.Expr:
    x = nonempty_tensor(c, s, ALL, (2, 3), static=True)
    shape = ints(x.shape)
    batch, seq = c.pick(((0, 1), (1, 0)))
    lengths = s.constant(c, (shape[batch],), c.pick(INDICES), low=1, high=shape[seq])
    return relax_op.reverse_sequence(x.expr, lengths.expr, seq, batch)


def _reverse_sequence(args: Sequence[Any], attrs: Any) -> Any:
    x, lengths = args
    out = x.copy()
    seq, batch = int(attrs.seq_axis), int(attrs.batch_axis)
    source, target = np.moveaxis(x, (batch, seq), (0, 1)), np.moveaxis(out, (batch, seq), (0, 1))
    for row, length in enumerate(lengths):
        target[row, :length] = source[row, :length][::-1]
    return out


_scattering = functools.partial(Op, dtypes=NUMBERS, nonfinite=True, arithmetic=(0, 2))

OPS = (
    moving("where", _build_where, lambda args, attrs: np.where(*args), elementwise=True),
    moving(
        "take",
        _build_take,
        _take,
        undefined=undefined.negative_take,
        accepts=accepts.take,
    ),
    moving("strided_slice", _build_strided_slice, _strided_slice),
    moving(
        "dynamic_strided_slice",
        _build_dynamic_strided_slice,
        _dynamic_strided_slice,
        accepts=accepts.strides,
    ),
    moving("slice_scatter", _build_slice_scatter, _slice_scatter),
    moving(
        "gather_elements",
        _build_gather_elements,
        _gather_elements,
        undefined=undefined.negative_index,
        accepts=accepts.along_axis,
    ),
    moving(
        "gather_nd",
        _build_gather_nd,
        _gather_nd,
        undefined=undefined.negative_index,
        accepts=accepts.leading_axes,
    ),
    moving(
        "index_tensor",
        _build_index_tensor,
        # Negative indices count from the end, as documented: "as if one had written it in NumPy".
        lambda args, attrs: args[0][tuple(args[1])],
        undefined=undefined.past_the_end,
        accepts=accepts.one_tensor_an_axis,
    ),
    _scattering(
        name="scatter_elements",
        build=_build_scatter_elements,
        reference=_scatter_elements,
        undefined=undefined.repeated_element,
        accepts=accepts.scattered_along_axis,
    ),
    _scattering(
        name="scatter_nd",
        build=_build_scatter_nd,
        reference=_scatter_nd,
        undefined=undefined.repeated_row,
        accepts=accepts.scattered_rows,
    ),
    _scattering(
        name="index_put",
        build=_build_index_put,
        reference=_index_put,
        undefined=undefined.repeated_place,
        accepts=accepts.put,
    ),
    moving(
        "reverse_sequence",
        _build_reverse_sequence,
        _reverse_sequence,
        undefined=undefined.length_out_of_range,
        accepts=accepts.lengths,
    ),
)
