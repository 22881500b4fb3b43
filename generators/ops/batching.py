"""Batching rules: the axis of an operator's result along which a batch lies.

`Along` is the effect on a value of reordering the batch. `FIXED`: none. A number `k`: its elements
along axis k are reordered in the same way. `UNKNOWN`: anything. A tuple: one for each field.

The rules are for the field `batching` of the operators' records.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import tvm_ffi
from tvm import relax, tirx

Along: TypeAlias = "int | tuple[Along, ...] | None"

FIXED = -1
UNKNOWN = None

Rule = Callable[[relax.Call, Sequence[Along]], Along]
"""From a call and its operands, at least one of which is not FIXED, to its result."""


def _dims(expr: relax.Expr) -> list[Any] | None:
    ty = expr.ty
    if isinstance(ty, relax.TensorType) and isinstance(ty.shape, relax.ShapeExpr):
        return list(ty.shape.values)
    return None


def _is_one(dim: Any) -> bool:
    return isinstance(dim, tirx.IntImm) and int(dim.value) == 1


def _ints(value: Any) -> list[int]:
    """An attribute or a tuple of primitive values as numbers."""
    if isinstance(value, relax.Tuple):
        value = value.fields
    items = value if hasattr(value, "__len__") else [value]
    return [int(item.value) if isinstance(item, tirx.IntImm) else int(item) for item in items]


def _at(axis: int, rank: int) -> int:
    return axis + rank if axis < 0 else axis


def _kept(call: relax.Call, axis: int) -> Along:
    """Along the same axis in the result, in each of them where it is a tuple."""
    return (axis,) * len(call.ty.fields) if isinstance(call.ty, relax.TupleType) else axis


def _broadcast(dims: Sequence[list[Any]], along: Sequence[Along], rank: int) -> Along:
    """The one axis of the result that all operands agree on, counted from the last."""
    found = {
        rank - len(shape) + axis
        for shape, axis in zip(dims, along, strict=True)
        if isinstance(axis, int) and axis != FIXED
    }
    if len(found) != 1 or any(axis is UNKNOWN or isinstance(axis, tuple) for axis in along):
        return UNKNOWN
    (result,) = found
    for shape, axis in zip(dims, along, strict=True):
        own = result - (rank - len(shape))
        if axis == FIXED and own >= 0 and not _is_one(shape[own]):
            return UNKNOWN
    return result


def elementwise(call: relax.Call, along: Sequence[Along]) -> Along:
    tensors = [
        (_dims(arg), axis)
        for arg, axis in zip(call.args, along, strict=True)
        if isinstance(arg.ty, relax.TensorType)
    ]
    if any(dims is None for dims, _ in tensors):
        return UNKNOWN
    shapes = [dims for dims, _ in tensors if dims is not None]
    return _broadcast(shapes, [axis for _, axis in tensors], max(map(len, shapes)))


def matmul(call: relax.Call, along: Sequence[Along]) -> Along:
    a, b = map(_dims, call.args)
    if not a or not b:
        return UNKNOWN
    rank = max(len(a), len(b)) if min(len(a), len(b)) > 1 else max(len(a), len(b)) - 1
    left, right = along
    if right == FIXED and len(a) > 1 and left == len(a) - 2:
        return rank - (2 if len(b) > 1 else 1)
    if left == FIXED and len(b) > 1 and right == len(b) - 1:
        return rank - 1
    # What remains are axes of the batch; a vector has none.
    if any(
        isinstance(axis, int) and axis >= len(shape) - 2 for shape, axis in ((a, left), (b, right))
    ):
        return UNKNOWN
    return _broadcast([a[:-2], b[:-2]], along, max(len(a), len(b)) - 2)


def _of_first(rule: Callable[[relax.Call, list[Any], int], Along]) -> Rule:
    """A rule that knows the dims of the first operand, and along which of them its batch lies."""

    @functools.wraps(rule)
    def checked(call: relax.Call, along: Sequence[Along]) -> Along:
        dims, axis = _dims(call.args[0]), along[0]
        if dims is None or not isinstance(axis, int):
            return UNKNOWN
        return rule(call, dims, axis)

    return checked


def _rest_fixed(along: Sequence[Along]) -> bool:
    return all(axis == FIXED for axis in along[1:])


def images(call: relax.Call, along: Sequence[Along]) -> Along:
    """Images in a batch: each on its own."""
    names = ("data_layout", "layout", "out_layout")
    layouts = [str(getattr(call.attrs, name)) for name in names if hasattr(call.attrs, name)]
    alone = all(layout.startswith("N") for layout in layouts if layout)
    return 0 if layouts and alone and along[0] == 0 and _rest_fixed(along) else UNKNOWN


@_of_first
def reduced(call: relax.Call, dims: list[Any], axis: int) -> Along:
    if call.attrs.axis is None:
        return UNKNOWN
    gone = {_at(i, len(dims)) for i in _ints(call.attrs.axis)}
    if axis in gone:
        return UNKNOWN
    return axis if call.attrs.keepdims else axis - sum(i < axis for i in gone)


def along_axis(*attributes: str) -> Rule:
    """Each place along the axis is treated alone, unless the axis is one of the attributes'."""

    def rule(call: relax.Call, along: Sequence[Along]) -> Along:
        dims, axis = _dims(call.args[0]), along[0]
        if dims is None or not isinstance(axis, int) or not _rest_fixed(along):
            return UNKNOWN
        for name in attributes:
            own = getattr(call.attrs, name)
            if own is None or axis in [_at(i, len(dims)) for i in _ints(own)]:
                return UNKNOWN
        return _kept(call, axis)

    return rule


def batch_norm(call: relax.Call, along: Sequence[Along]) -> Along:
    if bool(call.attrs.training) or along[0] in (UNKNOWN, int(call.attrs.axis)):
        return UNKNOWN
    axis = along[0]
    return (axis, FIXED, FIXED) if isinstance(axis, int) and _rest_fixed(along) else UNKNOWN


@_of_first
def permute_dims(call: relax.Call, dims: list[Any], axis: int) -> Along:
    if call.attrs.axes is None:
        return len(dims) - 1 - axis
    return [_at(i, len(dims)) for i in _ints(call.attrs.axes)].index(axis)


@_of_first
def reshape(call: relax.Call, dims: list[Any], axis: int) -> Along:
    """The axis is the same where all dimensions up to it are."""
    after = _dims(call)
    if after is None or len(after) <= axis:
        return UNKNOWN
    pairs = list(zip(dims, after, strict=False))[: axis + 1]
    return axis if all(tvm_ffi.structural_equal(a, b) for a, b in pairs) else UNKNOWN


@_of_first
def expand_dims(call: relax.Call, dims: list[Any], axis: int) -> Along:
    new = _ints(call.attrs.axis)
    rank = len(dims) + len(new)
    added = {_at(i, rank) for i in new}
    return [i for i in range(rank) if i not in added][axis]


@_of_first
def squeeze(call: relax.Call, dims: list[Any], axis: int) -> Along:
    if call.attrs.axis is not None:
        gone = {_at(i, len(dims)) for i in _ints(call.attrs.axis)}
    elif all(isinstance(dim, tirx.IntImm) for dim in dims):
        gone = {i for i, dim in enumerate(dims) if _is_one(dim)}
    else:
        return UNKNOWN
    return UNKNOWN if axis in gone else axis - sum(i < axis for i in gone)


def _all_alike(along: Sequence[Along]) -> int | None:
    """The axis that all fields of the tuple that is the first operand share."""
    fields = along[0]
    if not isinstance(fields, tuple) or len({*fields}) != 1:
        return None
    (axis,) = {*fields}
    return axis if isinstance(axis, int) else None


def concat(call: relax.Call, along: Sequence[Along]) -> Along:
    axis, dims = _all_alike(along), _dims(call)
    own = call.attrs.axis
    if axis is None or dims is None or own is None:
        return UNKNOWN
    return UNKNOWN if _at(int(own), len(dims)) == axis else axis


def stack(call: relax.Call, along: Sequence[Along]) -> Along:
    axis, dims = _all_alike(along), _dims(call)
    if axis is None or dims is None:
        return UNKNOWN
    own = 0 if call.attrs.axis is None else _at(int(call.attrs.axis), len(dims))
    return axis + (own <= axis)


@_of_first
def strided_slice(call: relax.Call, dims: list[Any], axis: int) -> Along:
    fields = call.args[1].fields if isinstance(call.args[1], relax.Tuple) else [None]
    if not all(isinstance(field, tirx.IntImm) for field in fields):
        return UNKNOWN
    return UNKNOWN if axis in [_at(i, len(dims)) for i in _ints(call.args[1])] else axis


def take(call: relax.Call, along: Sequence[Along]) -> Along:
    dims, indices = map(_dims, call.args)
    if dims is None or indices is None or call.attrs.axis is None:
        return UNKNOWN
    own = _at(int(call.attrs.axis), len(dims))
    data, where = along
    if data == FIXED and isinstance(where, int):
        return own + where
    if where != FIXED or not isinstance(data, int) or data == own:
        return UNKNOWN
    return data if data < own else data + len(indices) - 1


@_of_first
def broadcast_to(call: relax.Call, dims: list[Any], axis: int) -> Along:
    after = _dims(call)
    return UNKNOWN if after is None else axis + len(after) - len(dims)


def pad(call: relax.Call, along: Sequence[Along]) -> Along:
    axis, width = along[0], _ints(call.attrs.pad_width)
    if not isinstance(axis, int) or any(width[2 * axis : 2 * axis + 2]):
        return UNKNOWN
    return axis


def triangle(call: relax.Call, along: Sequence[Along]) -> Along:
    dims, axis = _dims(call.args[0]), along[0]
    if dims is None or not isinstance(axis, int) or axis >= len(dims) - 2:
        return UNKNOWN
    return axis if _rest_fixed(along) else UNKNOWN


def attention(call: relax.Call, along: Sequence[Along]) -> Along:
    """Queries, keys and values of each element of the batch; a bias of each, too."""
    return 0 if all(axis == 0 for axis in along) else UNKNOWN


def independent(call: relax.Call, along: Sequence[Along]) -> Along:
    """The result depends on shapes alone."""
    return FIXED
