"""Elementwise operators of one operand, and conversions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import ml_dtypes  # registers bfloat16 with NumPy
import numpy as np
from tvm import relax

from ..choices import Choices
from ..scope import Scope
from .operands import build_unary, in_single, quiet
from .record import ALL, FLOATS, INTEGERS, NUMBERS, SIGNED, WIDE, Op, Tolerance

__all__ = ["OPS", "erf"]

BF16 = np.dtype(ml_dtypes.bfloat16)


def erf(x: Any) -> Any:
    """The error function, which NumPy lacks."""
    return np.asarray(np.vectorize(math.erf, otypes=[x.dtype])(x)).reshape(x.shape)


class Row(NamedTuple):
    """One operator of the family."""

    name: str
    reference: Callable[[Any], Any]
    dtypes: tuple[str, ...] = FLOATS
    low: float = -math.inf
    high: float = math.inf


ROWS = (
    Row("negative", np.negative, (*FLOATS, *SIGNED)),
    Row("abs", np.abs, NUMBERS),
    Row("exp", np.exp),
    Row("sqrt", np.sqrt, low=0),
    Row("sigmoid", lambda x: 1 / (1 + np.exp(-x))),
    Row("tanh", np.tanh),
    Row("acos", np.arccos, WIDE, low=-1, high=1),
    Row("acosh", np.arccosh, WIDE, low=1),
    Row("asin", np.arcsin, WIDE, low=-1, high=1),
    Row("asinh", np.arcsinh, WIDE),
    Row("atan", np.arctan, WIDE),
    Row("atanh", np.arctanh, low=-0.99, high=0.99),
    Row("ceil", np.ceil),
    Row("cos", np.cos),
    Row("cosh", np.cosh, WIDE),
    Row("erf", erf),
    Row("floor", np.floor),
    Row("isfinite", np.isfinite),
    Row("isinf", np.isinf),
    Row("isnan", np.isnan),
    Row("log", np.log, low=1e-3),
    # "Nearest integer" leaves halves open; generated code takes the even one, as NumPy.
    Row("round", np.rint),
    Row("rsqrt", lambda x: 1 / np.sqrt(x), low=1e-3),
    Row("sign", np.sign, (*FLOATS, *SIGNED)),
    Row("sin", np.sin),
    Row("sinh", np.sinh, WIDE),
    Row("square", lambda x: x * x, NUMBERS),
    Row("tan", np.tan, low=-1.5, high=1.5),
    Row("trunc", np.trunc),
    Row("bitwise_not", np.invert, INTEGERS),
    Row("logical_not", np.logical_not, ("bool",)),
)


def _op(row: Row) -> Op:
    return Op(
        name=row.name,
        build=build_unary(getattr(relax.op, row.name), row.dtypes),
        reference=quiet(in_single(lambda args, attrs: row.reference(args[0]))),
        dtypes=row.dtypes,
        domain=(row.low, row.high),
    )


CASTS = (*ALL, "bfloat16")


def _build_astype(c: Choices, s: Scope) -> relax.Expr:
    x = s.tensor(c, dtype=ALL, complete=False)
    to = c.pick(CASTS)
    if to in INTEGERS and (x.dtype is None or x.dtype in FLOATS):
        # NaN and what does not fit have no defined integer: keep the operand in [0, 100].
        if x.dtype is None:
            to = "float32"
        else:
            x = s.emit(_clip(x.expr, 0, 100))
    return relax.op.astype(x.expr, to)


def _astype(args: Sequence[Any], attrs: Any) -> Any:
    to = BF16 if str(attrs.dtype) == "bfloat16" else np.dtype(str(attrs.dtype))
    return args[0].astype(to)


def _clip(x: relax.Expr, low: float, high: float) -> relax.Expr:
    return relax.op.clip(x, relax.prim_value(low), relax.prim_value(high))


def _build_clip(c: Choices, s: Scope) -> relax.Expr:
    x = s.tensor(c, dtype=NUMBERS, complete=False)
    low, high = c.pick(((0, 6), (-1, 1), (0, 0), (1, 3)))
    if x.dtype is not None and x.dtype.startswith("uint"):
        low = max(low, 0)
    return _clip(x.expr, low, high)


def _clip_reference(args: Sequence[Any], attrs: Any) -> Any:
    x, low, high = args
    # NaN becomes the upper bound: TVM computes max(min(x, high), low).
    return np.where(np.isnan(x), high, np.clip(x, low, high)).astype(x.dtype)


def _build_wrap_param(c: Choices, s: Scope) -> relax.Expr:
    shape = [d for d in s.shape(c, c.pick((1, 2, 0)), static=True) if isinstance(d, int)]
    data = s.constant(c, shape, c.pick(("float32", "float16", "float64")))
    return relax.op.wrap_param(data.expr, c.pick(("float16", "float32", "float64")))


OPS = (
    *map(_op, ROWS),
    Op(
        name="astype",
        build=_build_astype,
        reference=quiet(_astype),
        dtypes=ALL,
        domain=(0, 100),
        tolerance=Tolerance(reason="a half-way case may be rounded to either neighbour"),
    ),
    Op(
        name="clip",
        build=_build_clip,
        reference=quiet(in_single(_clip_reference)),
        dtypes=NUMBERS,
    ),
    Op(
        name="wrap_param",
        build=_build_wrap_param,
        reference=_astype,
        dtypes=FLOATS,
        legalizes=False,
        executes=False,
    ),
)
