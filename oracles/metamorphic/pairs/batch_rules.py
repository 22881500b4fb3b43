"""How the order along one axis of an operand comes out in an operator's result.

What is known of a value when the elements along an axis of some input change places: `FIXED`, it
stays as it is; a number `k`, its elements along axis k change places in the same way; `UNKNOWN`,
anything; a tuple for a tuple. An operator without a rule gives UNKNOWN, unless all operands are
FIXED.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import tvm_ffi
from tvm import relax, tirx

Along: TypeAlias = "int | tuple[Along, ...] | None"

FIXED = -1
UNKNOWN = None

Rule = Callable[[relax.Call, Sequence[Along]], Along]
"""From a call, and what is known of its operands, of which one at least is not FIXED."""


def _dims(expr: relax.Expr) -> list[Any] | None:
    ty = expr.ty
    if isinstance(ty, relax.TensorType) and isinstance(ty.shape, relax.ShapeExpr):
        return list(ty.shape.values)
    return None


def _same_dim(a: Any, b: Any) -> bool:
    return bool(tvm_ffi.structural_equal(a, b))


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


def _elementwise(call: relax.Call, along: Sequence[Along]) -> Along:
    tensors = [
        (_dims(arg), axis)
        for arg, axis in zip(call.args, along, strict=True)
        if isinstance(arg.ty, relax.TensorType)
    ]
    if any(dims is None for dims, _ in tensors):
        return UNKNOWN
    shapes = [dims for dims, _ in tensors if dims is not None]
    return _broadcast(shapes, [axis for _, axis in tensors], max(map(len, shapes)))


def _matmul(call: relax.Call, along: Sequence[Along]) -> Along:
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


def _rest_fixed(along: Sequence[Along]) -> bool:
    return all(axis == FIXED for axis in along[1:])


def _first_of_layout(call: relax.Call, along: Sequence[Along]) -> Along:
    """Images in a batch: each on its own."""
    names = ("data_layout", "layout", "out_layout")
    layouts = [str(getattr(call.attrs, name)) for name in names if hasattr(call.attrs, name)]
    alone = all(layout.startswith("N") for layout in layouts if layout)
    return 0 if layouts and alone and along[0] == 0 and _rest_fixed(along) else UNKNOWN


def _reduced(call: relax.Call, along: Sequence[Along]) -> Along:
    dims, axis = _dims(call.args[0]), along[0]
    if dims is None or not isinstance(axis, int) or call.attrs.axis is None:
        return UNKNOWN
    gone = {_at(i, len(dims)) for i in _ints(call.attrs.axis)}
    if axis in gone:
        return UNKNOWN
    return axis if call.attrs.keepdims else axis - sum(i < axis for i in gone)


def _except(*attributes: str) -> Rule:
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


def _batch_norm(call: relax.Call, along: Sequence[Along]) -> Along:
    if bool(call.attrs.training) or along[0] in (UNKNOWN, int(call.attrs.axis)):
        return UNKNOWN
    axis = along[0]
    return (axis, FIXED, FIXED) if isinstance(axis, int) and _rest_fixed(along) else UNKNOWN


def _permute_dims(call: relax.Call, along: Sequence[Along]) -> Along:
    dims, axis = _dims(call.args[0]), along[0]
    if dims is None or not isinstance(axis, int):
        return UNKNOWN
    if call.attrs.axes is None:
        return len(dims) - 1 - axis
    return [_at(i, len(dims)) for i in _ints(call.attrs.axes)].index(axis)


def _reshape(call: relax.Call, along: Sequence[Along]) -> Along:
    """The axis is the same where all dimensions up to it are."""
    before, after, axis = _dims(call.args[0]), _dims(call), along[0]
    if before is None or after is None or not isinstance(axis, int) or len(after) <= axis:
        return UNKNOWN
    pairs = list(zip(before, after, strict=False))[: axis + 1]
    return axis if all(_same_dim(a, b) for a, b in pairs) else UNKNOWN


def _expand_dims(call: relax.Call, along: Sequence[Along]) -> Along:
    dims, axis = _dims(call.args[0]), along[0]
    if dims is None or not isinstance(axis, int):
        return UNKNOWN
    new = _ints(call.attrs.axis)
    rank = len(dims) + len(new)
    added = {_at(i, rank) for i in new}
    return [i for i in range(rank) if i not in added][axis]


def _squeeze(call: relax.Call, along: Sequence[Along]) -> Along:
    dims, axis = _dims(call.args[0]), along[0]
    if dims is None or not isinstance(axis, int):
        return UNKNOWN
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


def _concat(call: relax.Call, along: Sequence[Along]) -> Along:
    axis, dims = _all_alike(along), _dims(call)
    own = call.attrs.axis
    if axis is None or dims is None or own is None:
        return UNKNOWN
    return UNKNOWN if _at(int(own), len(dims)) == axis else axis


def _stack(call: relax.Call, along: Sequence[Along]) -> Along:
    axis, dims = _all_alike(along), _dims(call)
    if axis is None or dims is None:
        return UNKNOWN
    own = 0 if call.attrs.axis is None else _at(int(call.attrs.axis), len(dims))
    return axis + (own <= axis)


def _strided_slice(call: relax.Call, along: Sequence[Along]) -> Along:
    dims, axis = _dims(call.args[0]), along[0]
    fields = call.args[1].fields if isinstance(call.args[1], relax.Tuple) else [None]
    if (
        dims is None
        or not isinstance(axis, int)
        or not all(isinstance(field, tirx.IntImm) for field in fields)
    ):
        return UNKNOWN
    return UNKNOWN if axis in [_at(i, len(dims)) for i in _ints(call.args[1])] else axis


def _take(call: relax.Call, along: Sequence[Along]) -> Along:
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


def _broadcast_to(call: relax.Call, along: Sequence[Along]) -> Along:
    before, after, axis = _dims(call.args[0]), _dims(call), along[0]
    if before is None or after is None or not isinstance(axis, int):
        return UNKNOWN
    return axis + len(after) - len(before)


def _pad(call: relax.Call, along: Sequence[Along]) -> Along:
    axis, width = along[0], _ints(call.attrs.pad_width)
    if not isinstance(axis, int) or any(width[2 * axis : 2 * axis + 2]):
        return UNKNOWN
    return axis


def _triangle(call: relax.Call, along: Sequence[Along]) -> Along:
    dims, axis = _dims(call.args[0]), along[0]
    if dims is None or not isinstance(axis, int) or axis >= len(dims) - 2:
        return UNKNOWN
    return axis if _rest_fixed(along) else UNKNOWN


def _attention(call: relax.Call, along: Sequence[Along]) -> Along:
    """Queries, keys and values of each element of the batch; a bias of each, too."""
    return 0 if all(axis == 0 for axis in along) else UNKNOWN


def _fixed(call: relax.Call, along: Sequence[Along]) -> Along:
    return FIXED


_ELEMENTWISE = """
abs acos acosh asin asinh astype atan atan2 atanh add bitwise_and bitwise_not bitwise_or bitwise_xor
ceil clip cos cosh divide equal erf ewise_fma exp floor floor_divide floor_mod full_like greater
greater_equal isfinite isinf isnan left_shift less less_equal log log_add_exp logical_and
logical_not logical_or logical_xor maximum minimum mod multiply negative nn.gelu nn.gelu_tanh
nn.leakyrelu nn.relu nn.selu nn.silu nn.softplus not_equal ones_like power right_shift round rsqrt
sigmoid sign sin sinh sqrt square subtract tan tanh trunc where zeros_like
"""

_IMAGES = """
nn.conv1d nn.conv2d nn.conv3d nn.conv1d_transpose nn.conv2d_transpose nn.conv3d_transpose
nn.avg_pool1d nn.avg_pool2d nn.avg_pool3d nn.max_pool1d nn.max_pool2d nn.max_pool3d
nn.adaptive_avg_pool1d nn.adaptive_avg_pool2d nn.adaptive_avg_pool3d image.resize2d
"""

_REDUCTIONS = "argmax argmin max mean min prod std sum variance"

_ALONG_AN_AXIS = """
argsort cumprod cumsum flip nn.log_softmax nn.prelu nn.softmax repeat sort split topk
"""

RULES: Mapping[str, Rule] = {
    **dict.fromkeys(_ELEMENTWISE.split(), _elementwise),
    **dict.fromkeys(_IMAGES.split(), _first_of_layout),
    **dict.fromkeys(_REDUCTIONS.split(), _reduced),
    **dict.fromkeys(_ALONG_AN_AXIS.split(), _except("axis")),
    **dict.fromkeys(("nn.layer_norm", "nn.rms_norm"), _except("axes")),
    **dict.fromkeys(("nn.group_norm", "nn.instance_norm"), _except("axes", "channel_axis")),
    **dict.fromkeys(("flatten", "nn.batch_flatten", "reshape"), _reshape),
    **dict.fromkeys(("tril", "triu"), _triangle),
    **dict.fromkeys(("shape_of", "size"), _fixed),
    "broadcast_to": _broadcast_to,
    "concat": _concat,
    "expand_dims": _expand_dims,
    "matmul": _matmul,
    "nn.attention": _attention,
    "nn.attention_bias": _attention,
    "nn.batch_norm": _batch_norm,
    "nn.pad": _pad,
    "permute_dims": _permute_dims,
    "squeeze": _squeeze,
    "stack": _stack,
    "strided_slice": _strided_slice,
    "take": _take,
}
"""Each operator's rule, by its name without "relax."."""
