"""Operands for which an operator has no defined result: neither NumPy nor a VM is wrong there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from ...generators.ops.record import Op

LARGE = {"int32": 1 << 15, "int64": 1 << 31}
"""Beyond it a product may overflow. LLVM is told that signed 32 and 64 bit integers do not."""


def undefined(op: Op, args: Sequence[Any], result: Any, attrs: Any = None) -> bool:
    """The operator promises nothing for these operands, or this result may have overflowed.

    Args:
        op: the operator's record.
        args: its operands, as for `Op.reference`.
        result: what the reference gives for them.
        attrs: the call's attributes. Without them, what is undefined for some is for all.
    """
    rule = _RULES.get(op.name)
    if rule is not None and rule(args, attrs, result):
        return True
    low, high = op.domain
    for tensor in filter(_is_float, _arrays(args)):
        finite = tensor[np.isfinite(tensor)]
        if finite.size < tensor.size and not op.nonfinite:
            return True
        if finite.size and not (low <= finite.min() and finite.max() <= high):
            return True
    return any(_large(part) for part in (result if isinstance(result, tuple) else (result,)))


def _arrays(args: Sequence[Any]) -> list[Any]:
    """The tensors among the operands, those in tuples too."""
    found: list[Any] = []
    for arg in args:
        if isinstance(arg, np.ndarray):
            found.append(arg)
        elif isinstance(arg, tuple | list):
            found += [item for item in arg if isinstance(item, np.ndarray)]
    return found


def _large(value: Any) -> bool:
    bound = LARGE.get(str(getattr(value, "dtype", "")))
    return (
        bound is not None and bool(value.size) and float(np.abs(value.astype("f8")).max()) > bound
    )


def _is_float(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind not in "iub"


def _divisor(args: Sequence[Any], attrs: Any, result: Any) -> bool:
    """Integers: x / 0, and the quotient that does not fit. Floats: the sign of a zero is free."""
    x, y = args[:2]
    if bool((y == 0).any()):
        return True
    return y.dtype.kind == "i" and bool(((x == np.iinfo(x.dtype).min) & (y == -1)).any())


def _reciprocal(args: Sequence[Any], attrs: Any, result: Any) -> bool:
    """The sign of the infinity is that of the zero, which is free."""
    return bool((args[0] == 0).any())


def _pole(args: Sequence[Any], attrs: Any, result: Any) -> bool:
    x, y = args[:2]
    return bool(((x == 0) & (y < 0)).any())


def _angle(args: Sequence[Any], attrs: Any, result: Any) -> bool:
    """On the negative half of the axis the result has the sign of a zero."""
    y, x = args[:2]
    return bool(((y == 0) & (x <= 0)).any())


def _shift(args: Sequence[Any], attrs: Any, result: Any) -> bool:
    count = args[1]
    return bool(((count < 0) | (count >= 8 * count.dtype.itemsize)).any())


def _cast(args: Sequence[Any], attrs: Any, result: Any) -> bool:
    """A number that the integer cannot hold; NaN for integers and for bool."""
    x = args[0]
    if not _is_float(x) or _is_float(result):
        return False
    if result.dtype == np.bool_:
        return bool(np.isnan(x).any())
    info, whole = np.iinfo(result.dtype), np.trunc(x.astype("float64"))
    return not bool(((info.min <= whole) & (whole <= info.max)).all())


# Indices. For those past the end NumPy raises, which is as good as undefined.


def _negative(tensor: Any) -> bool:
    return bool(tensor.dtype.kind == "i" and (tensor < 0).any())


def _index(args: Sequence[Any], attrs: Any, result: Any) -> bool:
    return any(map(_negative, _arrays(args[1:2])))


def _take(args: Sequence[Any], attrs: Any, result: Any) -> bool:
    """The modes clip and wrap say what a negative index is."""
    if attrs is not None and str(attrs.mode) in ("clip", "wrap"):
        return False
    return _index(args, attrs, result)


def _classes(args: Sequence[Any], attrs: Any, result: Any) -> bool:
    targets = args[1]
    return _negative(targets if attrs is None else targets[targets != int(attrs.ignore_index)])


def _lengths(args: Sequence[Any], attrs: Any, result: Any) -> bool:
    x, lengths = args[:2]
    size = min(x.shape) if attrs is None else x.shape[int(attrs.seq_axis)]
    return bool(((lengths < 0) | (lengths > size)).any())


def _updates(attrs: Any) -> bool:
    """Of two updates of one place it is free which is the last."""
    return attrs is None or str(attrs.reduction) == "update"


def _scatter_elements(args: Sequence[Any], attrs: Any, result: Any) -> bool:
    indices = args[1]
    axes = range(indices.ndim) if attrs is None else (int(attrs.axis),)
    again = any((np.diff(np.sort(indices, axis=axis), axis=axis) == 0).any() for axis in axes)
    return _negative(indices) or (_updates(attrs) and again)


def _scatter_nd(args: Sequence[Any], attrs: Any, result: Any) -> bool:
    places = args[1].reshape(-1, args[1].shape[-1])
    return _negative(places) or (_updates(attrs) and _repeated(places))


def _index_put(args: Sequence[Any], attrs: Any, result: Any) -> bool:
    places = np.stack(np.broadcast_arrays(*_arrays(args[1:2]))).reshape(len(args[1]), -1).T
    return _negative(places) or (not getattr(attrs, "accumulate", False) and _repeated(places))


def _repeated(rows: Any) -> bool:
    return len(np.unique(rows, axis=0)) < len(rows)


def _buckets(args: Sequence[Any], attrs: Any, result: Any) -> bool:
    """The documentation asks for strictly increasing boundaries."""
    return not bool((np.diff(args[1]) > 0).all())


# Sums


def _sum(args: Sequence[Any], attrs: Any, result: Any) -> bool:
    """On the way, in whatever order, sums and squares may leave the range of the floats."""
    for tensor in filter(_is_float, _arrays(args)):
        finite = np.abs(tensor[np.isfinite(tensor)].astype("float64"))
        if finite.size and finite.max() > float(ml_dtypes.finfo(tensor.dtype).max) ** 0.5 / 16:
            return True
    return False


def _average(args: Sequence[Any], attrs: Any, result: Any) -> bool:
    return any(x.size == 0 for x in _arrays(args)) or _sum(args, attrs, result)


def _limit(tensor: Any) -> float:
    """About the largest x for which exp(x) is finite and exp(-x) has full precision."""
    return 0.9 * float(np.log(float(ml_dtypes.finfo(tensor.dtype).max)))


def _log_add_exp(args: Sequence[Any], attrs: Any, result: Any) -> bool:
    """The exponentials may leave the range of the floats, though their logarithm is inside."""
    return any(bool((np.abs(x.astype("float64")) > _limit(x)).any()) for x in args)


def _softplus(args: Sequence[Any], attrs: Any, result: Any) -> bool:
    """As above; beyond the threshold there is no exponential."""
    scaled = args[0].astype("float64") * float(getattr(attrs, "beta", 1.0))
    threshold = float(getattr(attrs, "threshold", np.inf))
    return bool(((scaled > _limit(args[0])) & (scaled <= threshold)).any())


_AVERAGES = (
    *("mean", "variance", "std", "nn.layer_norm", "nn.rms_norm", "nn.group_norm"),
    *("nn.instance_norm", "nn.batch_norm", "nn.cross_entropy_with_logits", "einsum"),
    *(f"nn.{kind}_pool{n}d" for kind in ("avg", "adaptive_avg") for n in (1, 2, 3)),
)
_SUMS = (
    *("sum", "prod", "cumsum", "cumprod", "collapse_sum_to", "collapse_sum_like", "matmul"),
    *("nn.attention", "nn.attention_bias"),
    *(f"nn.conv{n}d{kind}" for kind in ("", "_transpose") for n in (1, 2, 3)),
)

_RULES: Mapping[str, Callable[[Sequence[Any], Any, Any], bool]] = {
    **dict.fromkeys(("divide", "floor_divide", "mod", "floor_mod"), _divisor),
    **dict.fromkeys(("left_shift", "right_shift"), _shift),
    **dict.fromkeys(("gather_elements", "gather_nd", "index_tensor"), _index),
    **dict.fromkeys(_AVERAGES, _average),
    **dict.fromkeys(_SUMS, _sum),
    **dict.fromkeys(("astype", "wrap_param"), _cast),
    "rsqrt": _reciprocal,
    "power": _pole,
    "atan2": _angle,
    "log_add_exp": _log_add_exp,
    "nn.softplus": _softplus,
    "take": _take,
    "nn.nll_loss": _classes,
    "reverse_sequence": _lengths,
    "scatter_elements": _scatter_elements,
    "scatter_nd": _scatter_nd,
    "index_put": _index_put,
    "bucketize": _buckets,
}
