"""Quantization and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from tvm import relax

from ...compat.ops import relax_op
from ..choices import Choices
from ..scope import Scope
from ..values import Value
from .operands import ints, nonempty_tensor, one_axis, quiet, single
from .record import Op
from .undefined import Behaviour
from .variation import RARE

__all__ = ["OPS"]

QUANTIZED = ("int8", "uint8")
FLOATS = ("float32", "float16")
DEQUANTIZED = (*QUANTIZED, "int16", "uint16", "int32", *FLOATS)
RESULTS = (*QUANTIZED, "int16", "uint16", "float8_e4m3fn", "float8_e5m2")
ZEROS = (*QUANTIZED, "int16", "uint16", "int32", "uint32", "float16")
"""All dtypes of results and of zero points that type inference accepts."""


def _parameters(
    c: Choices, s: Scope, x: Value, axis: int, zero_dtype: str, rarely: bool
) -> tuple[relax.Expr, relax.Expr]:
    """Scale (a power of two, so that results are exact) and zero point: scalars, or per axis.

    Rarely, one is a scalar and the other per axis, and a scalar has axes of one element.
    """
    whole = [1] * c.below(3) if rarely else []
    along = [ints(x.shape)[axis]]
    dims = whole if c.flag() else along
    exponents = np.arange(int(np.prod(dims))).reshape(dims) % 3 - 1
    width = "float16" if c.flag(0.2) else "float32"
    scale = relax.const((2.0**exponents).astype(width), width)
    if rarely:
        dims, zero_dtype = c.pick((whole, along)), c.pick(ZEROS)
    return scale, s.constant(c, dims, zero_dtype, low=0, high=2).expr


def _data(c: Choices, s: Scope, dtypes: tuple[str, ...], rarely: bool) -> tuple[Value, int]:
    """The data, static, and an axis of it."""
    x = nonempty_tensor(c, s, dtypes, (1, 5) if rarely else (2, 4, 3), static=True)
    return x, one_axis(c, x.ndim) if rarely else c.pick((-1, 0, 1))


def _build_quantize(c: Choices, s: Scope) -> relax.Expr:
    rarely = c.flag(RARE)
    x, axis = _data(c, s, FLOATS if rarely else FLOATS[:1], rarely)
    to = c.pick(RESULTS if rarely else QUANTIZED)
    scale, zero = _parameters(c, s, x, axis, to, rarely)
    return relax_op.quantize(x.expr, scale, zero, axis, to)


def _quantize(args: Sequence[Any], attrs: Any) -> Any:
    x, scale, zero = (single(arg) for arg in args)
    info = np.iinfo(str(attrs.out_dtype))
    scaled = x / _per_axis(scale, x.ndim, int(attrs.axis))
    shifted = np.rint(scaled) + _per_axis(zero, x.ndim, int(attrs.axis))
    return np.clip(shifted, info.min, info.max).astype(info.dtype)


def _not_whole(args: Sequence[Any], attrs: Any, result: Any) -> bool:
    """True for a scale of 0, and for float16 quotients too large to add a zero point exactly."""
    x, scale = args[0], args[1]
    if bool((scale == 0).any()):
        return True
    largest = np.abs(single(x)).max(initial=0) / np.abs(single(scale)).min(initial=np.inf)
    return x.dtype == np.float16 and not bool(largest < 1 << 10)


def _per_axis(parameter: Any, ndim: int, axis: int) -> Any:
    if parameter.size == 1:
        return parameter.reshape(())
    return parameter.reshape([-1 if a == axis % ndim else 1 for a in range(ndim)])


def _build_dequantize(c: Choices, s: Scope) -> relax.Expr:
    rarely = c.flag(RARE)
    x, axis = _data(c, s, DEQUANTIZED if rarely else QUANTIZED, rarely)
    assert x.dtype is not None
    scale, zero = _parameters(c, s, x, axis, x.dtype, rarely)
    return relax_op.dequantize(x.expr, scale, zero, axis, c.pick(FLOATS))


def _dequantize(args: Sequence[Any], attrs: Any) -> Any:
    x, scale, zero = args
    wide = "int64" if x.dtype.kind in "iu" and zero.dtype.kind in "iu" else "float32"
    shifted = x.astype(wide) - _per_axis(zero, x.ndim, int(attrs.axis)).astype(wide)
    result = shifted * _per_axis(scale, x.ndim, int(attrs.axis))
    if str(attrs.out_dtype) == "float16":  # TVM documents the clipping
        result = np.clip(result, np.finfo("float16").min, np.finfo("float16").max)
    return result.astype(str(attrs.out_dtype))


def _far_apart(args: Sequence[Any], attrs: Any, result: Any) -> bool | Behaviour:
    """The difference from the zero point is computed in 32 bits."""
    x, zero = args[0], args[2]
    if x.dtype.kind not in "iu" or zero.dtype.kind not in "iu" or not x.size or not zero.size:
        return False
    ends = [int(x.min()) - int(zero.max()), int(x.max()) - int(zero.min())]
    inside = ends[0] >= -(1 << 31) and ends[1] < 1 << 31
    return not inside and Behaviour.OVERFLOW


OPS = (
    Op(
        name="quantize",
        build=_build_quantize,
        reference=quiet(_quantize),
        dtypes=FLOATS,
        undefined=_not_whole,
    ),
    Op(
        name="dequantize",
        build=_build_dequantize,
        reference=quiet(_dequantize),
        dtypes=DEQUANTIZED,
        undefined=_far_apart,
    ),
)
