"""Quantization and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from tvm import relax

from ...compat.ops import relax_op
from ..choices import Choices
from ..scope import Scope
from .operands import ints, nonempty_tensor
from .record import Op

__all__ = ["OPS"]

QUANTIZED = ("int8", "uint8")


def _parameters(
    c: Choices, s: Scope, shape: list[int], axis: int, zero_dtype: str
) -> tuple[relax.Expr, relax.Expr]:
    """Scale (a power of two, so that results are exact) and zero point: scalars, or per axis."""
    dims = [] if c.flag() else [shape[axis]]
    exponents = np.arange(int(np.prod(dims))).reshape(dims) % 3 - 1
    width = "float16" if c.flag(0.2) else "float32"
    scale = relax.const((2.0**exponents).astype(width), width)
    return scale, s.constant(c, dims, zero_dtype, low=0, high=2).expr


def _build_quantize(c: Choices, s: Scope) -> relax.Expr:
    x = nonempty_tensor(c, s, "float32", (2, 4, 3), static=True)
    axis = c.pick((-1, 0, 1))
    to = c.pick(QUANTIZED)
    scale, zero = _parameters(c, s, ints(x.shape), axis, to)
    return relax_op.quantize(x.expr, scale, zero, axis, to)


def _quantize(args: Sequence[Any], attrs: Any) -> Any:
    x, scale, zero = args
    info = np.iinfo(str(attrs.out_dtype))
    scaled = x / _per_axis(scale, x.ndim, int(attrs.axis))
    shifted = np.rint(scaled) + _per_axis(zero, x.ndim, int(attrs.axis))
    return np.clip(shifted, info.min, info.max).astype(info.dtype)


def _per_axis(parameter: Any, ndim: int, axis: int) -> Any:
    if parameter.size == 1:
        return parameter.reshape(())
    return parameter.reshape([-1 if a == axis % ndim else 1 for a in range(ndim)])


def _build_dequantize(c: Choices, s: Scope) -> relax.Expr:
    x = nonempty_tensor(c, s, QUANTIZED, (2, 4, 3), static=True)
    assert x.dtype is not None
    axis = c.pick((-1, 0, 1))
    scale, zero = _parameters(c, s, ints(x.shape), axis, x.dtype)
    return relax_op.dequantize(x.expr, scale, zero, axis, c.pick(("float32", "float16")))


def _dequantize(args: Sequence[Any], attrs: Any) -> Any:
    x, scale, zero = args
    shifted = x.astype("int32") - _per_axis(zero, x.ndim, int(attrs.axis)).astype("int32")
    return (shifted * _per_axis(scale, x.ndim, int(attrs.axis))).astype(str(attrs.out_dtype))


OPS = (
    Op(name="quantize", build=_build_quantize, reference=_quantize, dtypes=("float32",)),
    Op(name="dequantize", build=_build_dequantize, reference=_dequantize, dtypes=QUANTIZED),
)
