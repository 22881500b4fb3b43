"""Activations, normalizations, attention, losses and padding of neural networks."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from tvm import relax, tirx

from ...compat.ops import relax_op
from ..choices import Choices
from ..scope import Scope
from ..values import Dim, Value
from . import accepts, laws, undefined, variation
from .operands import any_axes, build_unary, in_single, ints, nonempty_tensor, one_axis, quiet
from .record import ALL, BRAIN, FLOATS, NUMBERS, Op, moving
from .unary import erf
from .variation import RARE

__all__ = ["OPS"]

nn = relax_op.nn

NARROW = ("float32", "float16")
"""Dtypes of layer, group and instance norm: their error message documents only these two."""


# Activations


def _gelu_tanh(x: Any) -> Any:
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def _selu(x: Any) -> Any:
    scale, alpha = 1.0507009873554805, 1.6732632423543772
    return scale * np.where(x > 0, x, alpha * (np.exp(np.minimum(x, 0)) - 1))


class Activation(NamedTuple):
    """An activation without attributes."""

    name: str
    reference: Callable[[Any], Any]
    dtypes: tuple[str, ...] = (*FLOATS, *BRAIN)


ACTIVATIONS = (
    # A NaN becomes 0: TVM computes max(x, 0) with the comparison false for NaN.
    Activation("relu", lambda x: np.where(x > 0, x, np.zeros_like(x)), (*NUMBERS, *BRAIN)),
    Activation("gelu", lambda x: 0.5 * x * (1 + erf(x * math.sqrt(0.5)))),
    Activation("silu", lambda x: x * (1 / (1 + np.exp(-x)))),
    Activation("gelu_tanh", _gelu_tanh),
    Activation("selu", _selu),
)


def _activation(row: Activation) -> Op:
    def evaluate(args: Sequence[Any], attrs: Any) -> Any:
        return np.asarray(row.reference(args[0])).astype(args[0].dtype)

    return Op(
        name=f"nn.{row.name}",
        build=build_unary(getattr(nn, row.name), row.dtypes),
        reference=quiet(in_single(evaluate)),
        dtypes=row.dtypes,
        elementwise=True,
        laws=(laws.KEEPS_NAN,),
    )


def _leakyrelu(args: Sequence[Any], attrs: Any) -> Any:
    x = args[0]
    return np.where(x > 0, x, x * np.asarray(float(attrs.alpha), x.dtype))


def _build_leakyrelu(c: Choices, s: Scope) -> relax.Expr:
    return nn.leakyrelu(s.tensor(c, dtype=FLOATS, complete=False).expr, c.pick((0.01, 0.5, 0.0)))


def _build_softplus(c: Choices, s: Scope) -> relax.Expr:
    x = s.tensor(c, dtype=FLOATS, complete=False)
    return nn.softplus(x.expr, c.pick((1.0, 2.0)), c.pick((20.0, 2.0)))


def _softplus(args: Sequence[Any], attrs: Any) -> Any:
    """log(1 + exp(beta x)) / beta, and x itself above the threshold.

    The logarithm is far inside of the range of the floats where the exponential is outside.
    """
    x, beta = args[0], float(attrs.beta)
    smooth = np.logaddexp(np.zeros_like(x), x * beta) / beta
    return np.where(x * beta > float(attrs.threshold), x, smooth).astype(x.dtype)


def _build_prelu(c: Choices, s: Scope) -> relax.Expr:
    x = s.tensor(c, dtype=FLOATS, ndim=(2, 3, 4))
    assert x.shape is not None
    axis = c.pick((1, 0, -1))
    return nn.prelu(x.expr, s.tensor(c, dtype=x.dtype, shape=(x.shape[axis],)).expr, axis)


def _prelu(args: Sequence[Any], attrs: Any) -> Any:
    x, alpha = args
    return np.where(x > 0, x, x * _along(alpha, x, [int(attrs.axis)])).astype(x.dtype)


def _along(weight: Any, x: Any, axes: Sequence[int]) -> Any:
    """The weight, whose dims are these axes of the data, reshaped to broadcast with the data.

    Raises:
        ValueError: its sizes differ. Type inference accepts a symbolic size, which may be 1.
    """
    places = [axis % x.ndim for axis in axes]
    sizes = tuple(x.shape[axis] for axis in places)
    if weight.shape != sizes:
        raise ValueError(f"Expected a weight of shape {sizes} but got {weight.shape}")
    shape = [size if axis in places else 1 for axis, size in enumerate(x.shape)]
    return weight.transpose(np.argsort(places)).reshape(shape)


def _softmax(name: str, log: bool) -> Op:
    call = getattr(nn, name)

    def build(c: Choices, s: Scope) -> relax.Expr:
        x = nonempty_tensor(c, s, FLOATS)
        return call(x.expr, c.pick((-1, one_axis(c, x.ndim))))

    def evaluate(args: Sequence[Any], attrs: Any) -> Any:
        x, axis = args[0], int(attrs.axis)
        shifted = x - np.max(x, axis=axis, keepdims=True)
        total = np.sum(np.exp(shifted), axis=axis, keepdims=True)
        return shifted - np.log(total) if log else np.exp(shifted) / total

    return Op(
        name=f"nn.{name}",
        build=build,
        reference=quiet(in_single(evaluate)),
        dtypes=FLOATS,
        masks=True,
        laws=(laws.KEEPS_NAN,),
    )


# Normalizations


def _standardized(x: Any, axes: tuple[int, ...], epsilon: float) -> Any:
    mean, variance = x.mean(axis=axes, keepdims=True), x.var(axis=axes, keepdims=True)
    return (x - mean) / np.sqrt(variance + x.dtype.type(epsilon))


def _scaled(x: Any, gamma: Any, beta: Any, axes: Sequence[int], attrs: Any) -> Any:
    if attrs.scale:
        x = x * _along(gamma, x, axes)
    if attrs.center:
        x = x + _along(beta, x, axes)
    return x


def _weights(c: Choices, s: Scope, x: Value, axes: Sequence[int], count: int) -> list[relax.Expr]:
    assert x.shape is not None
    shape = [x.shape[axis] for axis in axes]
    return [s.tensor(c, dtype=x.dtype, shape=shape).expr for _ in range(count)]


def _trailing_axes(c: Choices, x: Value) -> list[int]:
    if x.ndim > 1 and c.flag(0.3):
        return [-2, -1]
    return [c.pick((-1, x.ndim - 1))]


def _switches(c: Choices) -> dict[str, bool]:
    """Attributes that switch the use of beta and gamma on or off."""
    return {"center": not c.flag(0.08), "scale": not c.flag(0.08)}


def _build_layer_norm(c: Choices, s: Scope) -> relax.Expr:
    rarely = c.flag(RARE)
    x = nonempty_tensor(c, s, NARROW)
    axes = any_axes(c, x.ndim) if rarely else _trailing_axes(c, x)
    gamma, beta = _weights(c, s, x, axes, 2)
    return nn.layer_norm(x.expr, gamma, beta, axes, c.pick((1e-5, 1e-3)), **_switches(c))


def _layer_norm(args: Sequence[Any], attrs: Any) -> Any:
    x, gamma, beta = args
    axes = tuple(int(axis) for axis in attrs.axes)
    return _scaled(_standardized(x, axes, float(attrs.epsilon)), gamma, beta, axes, attrs)


def _build_rms_norm(c: Choices, s: Scope) -> relax.Expr:
    rarely = c.flag(RARE)
    # TVM fails over all axes at once, so this is rare.
    whole = c.flag(0.08)
    x = nonempty_tensor(c, s, FLOATS, (1, 2) if whole else (3, 2, 4))
    axes = list(range(-x.ndim, 0)) if whole else [c.pick((-1, x.ndim - 1))]
    if rarely:
        axes = any_axes(c, x.ndim)
    (weight,) = _weights(c, s, x, axes, 1)
    return nn.rms_norm(x.expr, weight, axes, c.pick((1e-5, 1e-3)))


def _rms_norm(args: Sequence[Any], attrs: Any) -> Any:
    x, weight = args
    axes = tuple(int(axis) for axis in attrs.axes)
    square = np.mean(x * x, axis=axes, keepdims=True)
    return x / np.sqrt(square + x.dtype.type(attrs.epsilon)) * _along(weight, x, axes)


def _build_group_norm(c: Choices, s: Scope) -> relax.Expr:
    rarely = c.flag(RARE)
    fresh = (c.pick((2, 1)), c.pick((4, 2)), *s.shape(c, c.pick((2, 1)), static=True))
    x = s.tensor(
        c,
        dtype=NARROW,
        ndim=(4, 3, 2, 1) if rarely else (4, 3),
        where=lambda x: x.static and 0 not in (x.shape or ()),
        fresh_shape=[max(d, 1) for d in ints(fresh)],
    )
    channel, axes = _channel_and_axes(c, x, rarely)
    channels = ints(x.shape)[channel]
    groups = c.pick([n for n in (2, 1, channels) if channels % n == 0])
    gamma, beta = _weights(c, s, x, [channel], 2)
    return nn.group_norm(x.expr, gamma, beta, groups, channel, axes, **_switches(c))


def _channel_and_axes(c: Choices, x: Value, rarely: bool) -> tuple[int, list[int]]:
    """The second axis and all after it; rarely, any axis and any others."""
    if not rarely:
        return 1, [axis - x.ndim if c.flag(0.1) else axis for axis in range(2, x.ndim)]
    channel = one_axis(c, x.ndim)
    return channel, any_axes(c, x.ndim, without=[channel % x.ndim])


def _group_norm(args: Sequence[Any], attrs: Any) -> Any:
    x, gamma, beta = args
    groups, channel = int(attrs.num_groups), int(attrs.channel_axis) % x.ndim
    shape = list(x.shape)
    grouped = x.reshape([*shape[:channel], groups, shape[channel] // groups, *shape[channel + 1 :]])
    others = [int(axis) % x.ndim for axis in attrs.axes]
    axes = (channel + 1, *(axis + 1 if axis > channel else axis for axis in others))
    out = _standardized(grouped, axes, float(attrs.epsilon)).reshape(shape)
    return _scaled(out, gamma, beta, [channel], attrs)


def _build_instance_norm(c: Choices, s: Scope) -> relax.Expr:
    rarely = c.flag(RARE)
    x = nonempty_tensor(c, s, NARROW, (4, 3, 2, 1) if rarely else (4, 3))
    channel, axes = _channel_and_axes(c, x, rarely)
    gamma, beta = _weights(c, s, x, [channel], 2)
    return nn.instance_norm(x.expr, gamma, beta, channel, axes, **_switches(c))


def _instance_norm(args: Sequence[Any], attrs: Any) -> Any:
    x, gamma, beta = args
    out = _standardized(x, tuple(int(axis) for axis in attrs.axes), float(attrs.epsilon))
    return _scaled(out, gamma, beta, [int(attrs.channel_axis)], attrs)


def _build_batch_norm(c: Choices, s: Scope) -> relax.Expr:
    rarely = c.flag(RARE)
    x = nonempty_tensor(c, s, FLOATS, (4, 3, 2, 1) if rarely else (4, 3, 2))
    assert x.shape is not None
    assert x.dtype is not None
    # TVM fails in training with an axis counted from the end, so this is rare.
    axis = -1 if c.flag(0.08) else c.pick((1, x.ndim - 1))
    if rarely:
        axis = one_axis(c, x.ndim)
    gamma, beta, mean = _weights(c, s, x, [axis], 3)
    size = x.shape[axis]
    variance = (
        s.constant(c, (size,), x.dtype, low=1, high=3)
        if isinstance(size, int)
        else s.tensor(c, dtype=x.dtype, shape=(size,))
    )
    training = c.pick((False, True))
    return nn.batch_norm(
        x.expr,
        gamma,
        beta,
        mean,
        variance.expr,
        axis,
        **_switches(c),
        momentum=c.pick((0.1, 0.5)),
        training=training,
    )


def _batch_norm(args: Sequence[Any], attrs: Any) -> Any:
    """The data normalized, and the moving mean and variance, updated in training.

    The docstring gives the momentum to the old value. The legalization, DecomposeOpsForTraining and
    the default of 0.1 give it to the new one, as do PyTorch and this reference.
    """
    x, gamma, beta, mean, variance = args
    axis = int(attrs.axis) % x.ndim
    if attrs.training:
        others = tuple(a for a in range(x.ndim) if a != axis)
        now, spread, momentum = x.mean(axis=others), x.var(axis=others), float(attrs.momentum)
        out = _normalized(x, now, spread, axis, float(attrs.epsilon))
        mean = mean * x.dtype.type(1 - momentum) + now * x.dtype.type(momentum)
        variance = variance * x.dtype.type(1 - momentum) + spread * x.dtype.type(momentum)
    else:
        out = _normalized(x, mean, variance, axis, float(attrs.epsilon))
    return _scaled(out, gamma, beta, [axis], attrs), mean, variance


def _normalized(x: Any, mean: Any, variance: Any, axis: int, epsilon: float) -> Any:
    deviation = np.sqrt(_along(variance, x, [axis]) + x.dtype.type(epsilon))
    return (x - _along(mean, x, [axis])) / deviation


# Attention


def _build_attention(c: Choices, s: Scope, bias: bool) -> relax.Expr:
    rarely = c.flag(RARE)
    dtype = c.pick(NARROW)
    batch, heads = c.pick((1, 2)), c.pick((2, 1))
    # Several heads of queries share one head of keys and values.
    share = c.pick((1, 2, 4)) if rarely else 1
    queries, keys = c.pick((2, 3, 4)), c.pick((3, 2, 4))
    size, size_v = c.pick((4, 2)), c.pick((4, 3))
    shapes: list[tuple[Dim, ...]] = [
        (batch, queries, share * heads, size),
        (batch, keys, heads, size),
        (batch, keys, heads, size_v),
    ]
    if bias:
        shapes.append((c.pick((batch, 1)), c.pick((share * heads, 1)), c.pick((queries, 1)), keys))
    scale = tirx.FloatImm("float32", 0.5) if c.flag(0.3) else None
    mask = c.pick((None, "TopLeft", "BottomRight"))
    operands = [s.tensor(c, dtype=dtype, shape=shape).expr for shape in shapes]
    window = c.pick((None, None, 1, 2)) if rarely else None
    return nn.attention(*operands, scale=scale, causal_mask=mask, window_size=window)


def _attention(args: Sequence[Any], attrs: Any) -> Any:
    """Operands are (batch, sequence, head, dim); the bias is (batch, head, query, key).

    If there are fewer heads of keys or of values, consecutive heads of queries share one.
    """
    if attrs.window_size is not None:
        raise ValueError(f"a sliding window of {attrs.window_size}")
    q, k, v = (np.swapaxes(arg, 1, 2) for arg in args[:3])
    k, v = (np.repeat(arg, q.shape[1] // arg.shape[1], axis=1) for arg in (k, v))
    scale = 1 / math.sqrt(q.shape[-1]) if attrs.scale is None else float(attrs.scale)
    scores = np.matmul(q, np.swapaxes(k, -1, -2)) * q.dtype.type(scale)
    if len(args) > 3 and args[3] is not None:
        scores = scores + args[3]
    if attrs.causal_mask is not None:
        queries, keys = scores.shape[-2:]
        offset = abs(queries - keys) if str(attrs.causal_mask) == "BottomRight" else 0
        scores = np.where(np.tri(queries, keys, offset, dtype=bool), scores, -np.inf)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = weights / weights.sum(axis=-1, keepdims=True)
    return np.swapaxes(np.matmul(weights.astype(v.dtype), v), 1, 2).astype(q.dtype)


# Losses


def _build_cross_entropy(c: Choices, s: Scope) -> relax.Expr:
    x = nonempty_tensor(c, s, FLOATS, (2, 1))
    return nn.cross_entropy_with_logits(x.expr, s.tensor(c, dtype=x.dtype, shape=x.shape).expr)


def _cross_entropy(args: Sequence[Any], attrs: Any) -> Any:
    x, y = args
    total = -np.sum(x * y, dtype=x.dtype)
    return np.asarray(total / x.dtype.type(x.shape[0]) if x.ndim > 1 else total)


def _build_nll_loss(c: Choices, s: Scope) -> relax.Expr:
    rarely = c.flag(RARE)
    x = nonempty_tensor(c, s, FLOATS, (4, 5) if rarely else (2, 1, 3), static=True)
    shape = ints(x.shape)
    classes = shape[0] if x.ndim == 1 else shape[1]
    places = [] if x.ndim == 1 else [shape[0], *shape[2:]]
    dtypes = ("int8", "uint8", "int16", "uint32") if rarely else ("int64", "int32")
    targets = s.constant(c, places, c.pick(dtypes), low=0, high=classes - 1)
    weights = s.tensor(c, dtype=x.dtype, shape=(classes,)).expr if c.flag(0.4) else None
    reduction = c.pick(("sum", "mean", "none"))
    ignore = -100
    if (reduction != "mean" or rarely) and c.flag(0.3):
        ignore = 0
    if reduction == "mean" and not rarely:
        # The mean is over the sum of the weights, which must not be 0.
        weights = None
    return nn.nll_loss(x.expr, targets.expr, weights, reduction, ignore)


def _nll_loss(args: Sequence[Any], attrs: Any) -> Any:
    x, targets = args[0], args[1]
    if x.ndim == 1:
        x, targets = x[None], targets[None]
    weights = args[2] if len(args) > 2 and args[2] is not None else np.ones(x.shape[1], x.dtype)
    ignored = targets == int(attrs.ignore_index)
    safe = np.where(ignored, 0, targets)
    weight = np.where(ignored, 0, weights[safe]).astype(x.dtype)
    losses = -np.take_along_axis(x, safe[:, None], axis=1)[:, 0] * weight
    reduction = str(attrs.reduction)
    if reduction == "none":
        return losses[0] if args[0].ndim == 1 else losses
    total = np.sum(losses, dtype=x.dtype)
    if reduction == "mean":
        weighed = np.sum(weight, dtype=x.dtype)
        if weighed == 0:
            raise ValueError("a mean over weights that add up to 0")
        total = total / weighed
    return np.asarray(total)


# Shapes


def _build_pad(c: Choices, s: Scope) -> relax.Expr:
    rarely = c.flag(RARE)
    x = nonempty_tensor(c, s, (*ALL, *BRAIN), (2, 1, 3, 4), static=not c.flag(0.3))
    assert x.shape is not None
    mode = c.pick(("constant", "constant", "replicate", "reflect", "circular"))
    first = 2 if x.ndim > 2 and c.flag() else 0  # images mostly get a border
    widths = [0, 0] * first
    for dim in x.shape[first:]:
        most = int(min(_most(mode, dim if isinstance(dim, int) else 1), 2))
        widths += [min(c.pick((1, 0, 2)), most), min(c.pick((1, 0)), most)]
    if rarely:
        widths[c.below(len(widths))] = c.pick((-1, 3))
    value = float(c.pick((0, 1, 2) if x.dtype != "bool" else (0, 1))) if mode == "constant" else 0.0
    return nn.pad(x.expr, widths, mode, value)


def _most(mode: str, size: int) -> float:
    """Reflection needs more elements than it pads, and circular padding as many."""
    return {"reflect": size - 1, "circular": size}.get(mode, math.inf)


def _pad(args: Sequence[Any], attrs: Any) -> Any:
    x = args[0]
    widths = [int(width) for width in attrs.pad_width]
    pairs = list(zip(widths[::2], widths[1::2], strict=True))
    mode = str(attrs.pad_mode)
    if any(size + sum(pair) < 0 for size, pair in zip(x.shape, pairs, strict=True)):
        raise ValueError(f"padding of {x.shape} by {pairs}")
    if mode == "constant":
        # A negative width crops.
        wider = [(max(before, 0), max(after, 0)) for before, after in pairs]
        padded = np.pad(x, wider, constant_values=x.dtype.type(float(attrs.pad_value)))
        cut = [
            slice(max(-before, 0), size - max(-after, 0))
            for (before, after), size in zip(pairs, padded.shape, strict=True)
        ]
        return padded[tuple(cut)]
    if any(max(pair) > _most(mode, size) for pair, size in zip(pairs, x.shape, strict=True)):
        raise ValueError(f"{mode} padding of {x.shape} by {pairs}")
    names: dict[str, Any] = {"replicate": "edge", "reflect": "reflect", "circular": "wrap"}
    return np.pad(x, pairs, mode=names[mode])


def _build_batch_flatten(c: Choices, s: Scope) -> relax.Expr:
    return nn.batch_flatten(nonempty_tensor(c, s, NUMBERS, (3, 4, 2)).expr)


def _build_pixel_shuffle(c: Choices, s: Scope) -> relax.Expr:
    rarely = c.flag(RARE)
    factor = c.pick((2, 1))
    batch: list[Dim] = [c.pick((1, 2))]
    pixels: list[Dim] = [c.pick((2, 3)), c.pick((2, 3))]
    if rarely:
        batch, pixels = list(s.shape(c, c.below(3))), list(s.shape(c, 2))
    shape = (*batch, factor * factor * c.pick((1, 2)), *pixels)
    return nn.pixel_shuffle(s.tensor(c, dtype=NUMBERS, shape=shape).expr, factor)


def _pixel_shuffle(args: Sequence[Any], attrs: Any) -> Any:
    x, r = args[0], int(attrs.upscale_factor)
    *batch, ch, h, w = x.shape
    parts = x.reshape(*batch, ch // (r * r), r, r, h, w)
    parts = np.moveaxis(parts, (-4, -3), (-3, -1))
    return parts.reshape(*batch, ch // (r * r), h * r, w * r)


_standardizing = functools.partial(Op, dtypes=NARROW, undefined=undefined.cancelling)
_averaging = functools.partial(Op, dtypes=FLOATS, undefined=undefined.average)


def _attending(name: str, *, bias: bool) -> Op:
    return Op(
        name=name,
        deadly=(variation.unknown,),
        build=lambda c, s: _build_attention(c, s, bias),
        reference=quiet(in_single(_attention)),
        dtypes=NARROW,
        undefined=undefined.sum_overflow,
    )


OPS = (
    *map(_activation, ACTIVATIONS),
    _softmax("softmax", log=False),
    _softmax("log_softmax", log=True),
    Op(
        name="nn.leakyrelu",
        build=_build_leakyrelu,
        reference=quiet(in_single(_leakyrelu)),
        dtypes=FLOATS,
        elementwise=True,
        laws=(laws.KEEPS_NAN,),
    ),
    Op(
        name="nn.softplus",
        build=_build_softplus,
        reference=quiet(in_single(_softplus)),
        dtypes=FLOATS,
        elementwise=True,
        laws=(laws.KEEPS_NAN,),
    ),
    Op(
        name="nn.prelu",
        build=_build_prelu,
        reference=quiet(in_single(_prelu)),
        dtypes=FLOATS,
        nonfinite=True,
    ),
    Op(
        name="nn.dropout",
        build=lambda c, s: nn.dropout(s.tensor(c, dtype=FLOATS).expr, c.pick((0.5, 0.1))),
        # At inference the data passes through, and the mask is all ones.
        reference=lambda args, attrs: (args[0], np.ones_like(args[0])),
        dtypes=FLOATS,
        nonfinite=True,
    ),
    _standardizing(
        name="nn.layer_norm",
        build=_build_layer_norm,
        reference=quiet(in_single(_layer_norm)),
    ),
    _averaging(
        name="nn.rms_norm",
        build=_build_rms_norm,
        reference=quiet(in_single(_rms_norm)),
    ),
    _standardizing(
        name="nn.group_norm",
        build=_build_group_norm,
        reference=quiet(in_single(_group_norm)),
    ),
    _standardizing(
        name="nn.instance_norm",
        build=_build_instance_norm,
        reference=quiet(in_single(_instance_norm)),
    ),
    _averaging(
        name="nn.batch_norm",
        build=_build_batch_norm,
        reference=quiet(in_single(_batch_norm)),
    ),
    _attending("nn.attention", bias=False),
    _attending("nn.attention_bias", bias=True),
    _averaging(
        name="nn.cross_entropy_with_logits",
        build=_build_cross_entropy,
        reference=quiet(in_single(_cross_entropy)),
    ),
    Op(
        name="nn.nll_loss",
        build=_build_nll_loss,
        reference=quiet(in_single(_nll_loss)),
        dtypes=FLOATS,
        undefined=undefined.negative_class,
        accepts=accepts.classes,
        # nll_loss_grad: 'The gradient w.r.t. targets and weights are not available.'
        without_gradient=(2,),
    ),
    moving("nn.pad", _build_pad, quiet(_pad)),
    Op(
        name="nn.batch_flatten",
        build=_build_batch_flatten,
        reference=lambda args, attrs: args[0].reshape(args[0].shape[0], -1),
        dtypes=NUMBERS,
        kinds="b",
        nonfinite=True,
    ),
    Op(
        name="nn.pixel_shuffle",
        deadly=(variation.sizes,),
        build=_build_pixel_shuffle,
        reference=_pixel_shuffle,
        dtypes=NUMBERS,
        kinds="b",
        nonfinite=True,
        executes=False,
    ),
)
