"""Gradients of other operators with respect to their data: `relax.grad.*_backward`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from tvm import relax

from ...compat import ir
from ...compat.ops import relax_op
from ..choices import Choices
from ..scope import Scope
from ..values import Value, value_of
from . import accepts, undefined
from .convolution import from_layout, windows
from .operands import ints, nonempty_tensor
from .pooling import out_size
from .record import FLOATS, Op

__all__ = ["OPS"]

grad = relax_op.grad


def _gradient_of(c: Choices, s: Scope, forward: relax.Expr) -> relax.Expr:
    """A gradient with respect to the result of the forward call, which is not bound."""
    result = value_of(s.module.builder.normalize(forward))
    assert result is not None
    return s.tensor(c, dtype=result.dtype, shape=result.shape).expr


def _in_range(indices: Any, size: int) -> None:
    if ((indices < 0) | (indices >= size)).any():
        raise undefined.OutsideError(f"Expected indices in [0, {size}) but got {indices}")


# Pooling


def _pooled(c: Choices, s: Scope, layout: str, distinct: bool) -> Value:
    """Data of static shape; if `distinct`, no two elements are equal, so maxima have no ties."""
    dims = {"N": c.pick((1, 2)), "C": c.pick((1, 2)), "H": c.pick((4, 5, 3)), "W": c.pick((4, 3))}
    shape = tuple(dims[letter] for letter in layout)
    if not distinct:
        return s.tensor(c, dtype=FLOATS, shape=shape)
    dtype = c.pick([dtype for dtype in s.dtypes if dtype in FLOATS] or FLOATS)
    size = int(np.prod(shape))
    # 37 is coprime to every size, so this is a permutation.
    values = (c.below(size) + 37 * np.arange(size)) % size - size // 2
    return Value(relax.const(values.reshape(shape).astype(dtype), dtype), shape, dtype, len(shape))


def _is_pooled(upper: Any, x: Any, attrs: Any) -> None:
    """Raise a ValueError if the shape of the upper gradient is not that of pooled x."""
    pads = [int(pad) for pad in attrs.padding]
    sizes = (
        out_size(length, int(kernel), int(stride), int(dilation), before, after, attrs.ceil_mode)
        for length, kernel, stride, dilation, before, after in zip(
            x.shape[2:],
            attrs.pool_size,
            attrs.strides,
            attrs.dilation,
            pads[:2],
            pads[2:],
            strict=True,
        )
    )
    expected = (*x.shape[:2], *sizes)
    if upper.shape != expected:
        raise ValueError(f"Expected an upper gradient of shape {expected} but got {upper.shape}")


def _pool(kind: str) -> Op:
    """Each element of the upper gradient goes to the maximum of its window, or to all elements."""

    def build(c: Choices, s: Scope) -> relax.Expr:
        layout = c.pick(("NCHW", "NHWC"))
        x = _pooled(c, s, layout, kind == "max")
        kernel = [c.pick((2, 1, 3)), c.pick((2, 3, 1))]
        before = [c.below(2) if size > 1 else 0 for size in kernel]
        window = {
            "pool_size": kernel,
            "strides": [c.pick((2, 1, 3)), c.pick((2, 1))],
            "padding": [*before, *(before if c.flag() else (0, 0))],
            "ceil_mode": c.flag(0.3),
            "count_include_pad": c.flag(0.3),
            "layout": layout,
        }
        forward = getattr(relax_op.nn, f"{kind}_pool2d")(x.expr, **window)
        return getattr(grad, f"{kind}_pool2d_backward")(
            _gradient_of(c, s, forward), x.expr, **window
        )

    def evaluate(args: Sequence[Any], attrs: Any) -> Any:
        layout = str(attrs.layout)
        upper, x = (from_layout(arg, layout, "NCHW") for arg in args)
        kernel, strides, dilation, padding = (
            [int(v) for v in part]
            for part in (attrs.pool_size, attrs.strides, attrs.dilation, attrs.padding)
        )
        _is_pooled(upper, x, attrs)
        (top, left, bottom, right), out = padding, upper.shape[2:]
        # The extent of the last windows, which in ceil_mode reach beyond the padding.
        reach = [
            (o - 1) * s + d * (k - 1) + 1
            for o, s, d, k in zip(out, strides, dilation, kernel, strict=True)
        ]
        rows, columns = top + x.shape[2] + bottom, left + x.shape[3] + right
        rest = [(0, 0), (0, 0), (0, max(reach[0] - rows, 0)), (0, max(reach[1] - columns, 0))]
        widths = [(0, 0), (0, 0), (top, bottom), (left, right)]

        def parts(data: Any) -> list[Any]:
            return [part for _, part in windows(data, kernel, strides, dilation, out)]

        if kind == "max":
            data = np.pad(x.astype("float64"), widths, constant_values=-np.inf)
            best = np.argmax(parts(np.pad(data, rest, constant_values=-np.inf)), axis=0)
            shares: list[Any] = [best == place for place in range(int(np.prod(kernel)))]
        else:
            counted = 1.0 if attrs.count_include_pad else 0.0
            inside = np.pad(np.ones(x.shape), widths, constant_values=counted)
            shares = [1 / sum(parts(np.pad(inside, rest)))] * int(np.prod(kernel))
        total = np.pad(np.zeros(x.shape), widths)
        total = np.pad(total, rest)
        for part, share in zip(parts(total), shares, strict=True):
            part += upper * share
        inner = total[:, :, top : top + x.shape[2], left : left + x.shape[3]]
        return from_layout(inner.astype(x.dtype), "NCHW", layout)

    return Op(
        name=f"grad.{kind}_pool2d_backward",
        build=build,
        reference=evaluate,
        dtypes=FLOATS,
        accepts=accepts.without_ties if kind == "max" else None,
        undefined=undefined.any_of(undefined.two_dtypes, undefined.tie if kind == "max" else None),
    )


# Losses


def _build_nll_loss(c: Choices, s: Scope) -> relax.Expr:
    x = nonempty_tensor(c, s, FLOATS, (2, 1, 3), static=True)
    shape = ints(x.shape)
    classes = shape[0] if x.ndim == 1 else shape[1]
    places = [] if x.ndim == 1 else [shape[0], *shape[2:]]
    ignore = c.pick((-100, 0, -1))
    low = -1 if ignore == -1 else 0
    targets = s.constant(c, places, c.pick(("int64", "int32")), low=low, high=classes - 1)
    reduction = c.pick(("sum", "mean", "none"))
    weights = s.tensor(c, dtype=x.dtype, shape=(classes,)).expr if c.flag(0.4) else None
    if reduction == "mean":
        # The mean is over the sum of the weights, which must not be 0.
        weights = None
        if (ir.constant_data(targets.expr).numpy() == ignore).all():
            reduction = "sum"
    options = weights, reduction, ignore
    upper = _gradient_of(c, s, relax_op.nn.nll_loss(x.expr, targets.expr, *options))
    return grad.nll_loss_backward(upper, x.expr, targets.expr, *options)


def _nll_loss(args: Sequence[Any], attrs: Any) -> Any:
    """The loss is the negative prediction of the target's class, times the class's weight."""
    upper, x, targets = args[:3]
    batch = x[None] if x.ndim == 1 else x
    if x.ndim == 1:
        upper, targets = np.reshape(upper, (-1,)), targets[None]
    weights = args[3] if len(args) > 3 and args[3] is not None else np.ones(batch.shape[1])
    ignored = targets == int(attrs.ignore_index)
    classes = np.where(ignored, 0, targets)
    _in_range(classes, batch.shape[1])
    share = np.where(ignored, 0, weights[classes])
    if str(attrs.reduction) == "mean":
        if share.sum() == 0:
            raise ValueError("a mean over weights that add up to 0")
        share = share / share.sum()
    result = np.zeros(batch.shape)
    np.put_along_axis(result, classes[:, None], (-share * upper)[:, None], axis=1)
    return result.reshape(x.shape).astype(x.dtype)


# take


def _build_take(c: Choices, s: Scope) -> relax.Expr:
    x = nonempty_tensor(c, s, FLOATS, (2, 1, 3), static=not c.flag(0.3))
    assert x.shape is not None
    axis = c.below(x.ndim)
    size = x.shape[axis]
    high = size - 1 if isinstance(size, int) else 0
    indices = s.constant(c, (c.pick((2, 3, 1)),), c.pick(("int32", "int64")), low=0, high=high).expr
    along = None if x.ndim == 1 and c.flag(0.3) else axis
    if along is not None and c.flag(0.2):
        along -= x.ndim
    upper = _gradient_of(c, s, relax_op.take(x.expr, indices, axis))
    return grad.take_backward(upper, x.expr, indices, along)


def _take(args: Sequence[Any], attrs: Any) -> Any:
    """Each element receives the sum of the gradients of its occurrences in the result."""
    upper, x, indices = args
    axis = 0 if attrs.axis is None else int(attrs.axis) % x.ndim
    result = np.zeros(x.shape)
    places = indices.reshape(-1)
    _in_range(places, x.shape[axis])
    shape = (*x.shape[:axis], places.size, *x.shape[axis + 1 :])
    np.add.at(result, (slice(None),) * axis + (places,), upper.reshape(shape))
    return result.astype(x.dtype)


OPS = (
    _pool("avg"),
    _pool("max"),
    Op(
        name="grad.nll_loss_backward",
        build=_build_nll_loss,
        reference=_nll_loss,
        dtypes=FLOATS,
        accepts=accepts.classes_of_gradient,
    ),
    Op(
        name="grad.take_backward",
        build=_build_take,
        reference=_take,
        dtypes=FLOATS,
        accepts=accepts.taken_back,
    ),
)
