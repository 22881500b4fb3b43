"""Elementwise operators of one operand, and conversions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import ml_dtypes  # registers bfloat16 with NumPy
import numpy as np
from tvm import relax

from ...compat.ops import relax_op
from ..choices import Choices
from ..scope import Scope
from . import accepts, laws, undefined
from .operands import build_unary, dtype_of_result, in_single, quiet
from .record import ALL, BRAIN, FLOATS, INTEGERS, NUMBERS, SIGNED, WIDE, Op, Tolerance

__all__ = ["OPS", "erf"]

BF16 = np.dtype(ml_dtypes.bfloat16)


def erf(x: Any) -> Any:
    """The error function, which NumPy lacks."""
    # NumPy has none; its `vectorize` takes twice as long.
    return np.fromiter(map(math.erf, x.ravel().tolist()), x.dtype, x.size).reshape(x.shape)


class UnaryOp(NamedTuple):
    """One operator of the family."""

    name: str
    reference: Callable[[Any], Any]
    dtypes: tuple[str, ...] = (*FLOATS, *BRAIN)
    low: float = -math.inf
    high: float = math.inf
    nonfinite: bool = True
    rule: undefined.UndefinedRule | None = None
    accepts: accepts.AcceptRule | None = None
    arithmetic: tuple[int, ...] = ()


SINGLE = (*WIDE, *BRAIN)
"""Dtypes of functions that TVM generates for float32 and float64; bfloat16 uses float32."""

ROWS = (
    # No document promises the sign of a zero: generated code computes 0 - x.
    UnaryOp("negative", np.negative, (*FLOATS, *SIGNED, *BRAIN), arithmetic=(0,)),
    UnaryOp("abs", np.abs, (*NUMBERS, *BRAIN), arithmetic=(0,)),
    UnaryOp("exp", np.exp),
    UnaryOp("sqrt", np.sqrt),
    UnaryOp("sigmoid", lambda x: 1 / (1 + np.exp(-x))),
    UnaryOp("tanh", np.tanh),
    UnaryOp("acos", np.arccos, SINGLE),
    UnaryOp("acosh", np.arccosh, SINGLE),
    UnaryOp("asin", np.arcsin, SINGLE),
    UnaryOp("asinh", np.arcsinh, SINGLE),
    UnaryOp("atan", np.arctan, SINGLE),
    UnaryOp("atanh", np.arctanh),
    UnaryOp("ceil", np.ceil, (*FLOATS, *INTEGERS, *BRAIN)),
    UnaryOp("cos", np.cos),
    UnaryOp("cosh", np.cosh, SINGLE),
    UnaryOp("erf", erf),
    UnaryOp("floor", np.floor, (*FLOATS, *INTEGERS, *BRAIN)),
    UnaryOp("isfinite", np.isfinite, NUMBERS),
    UnaryOp("isinf", np.isinf, NUMBERS),
    UnaryOp("isnan", np.isnan, NUMBERS),
    UnaryOp("log", np.log),
    # "Nearest integer" leaves halves open; generated code takes the even one, as NumPy.
    UnaryOp(
        "round", lambda x: x if x.dtype.kind in "iu" else np.rint(x), (*FLOATS, *INTEGERS, *BRAIN)
    ),
    UnaryOp(
        "rsqrt", lambda x: 1 / np.sqrt(x), rule=undefined.zero_operand, accepts=accepts.nonzero
    ),
    # "An indication of the sign" leaves NaN open; generated code gives 0 for it.
    UnaryOp("sign", np.sign, (*FLOATS, *SIGNED, *BRAIN), nonfinite=False),
    UnaryOp("sin", np.sin),
    UnaryOp("sinh", np.sinh, SINGLE),
    UnaryOp("square", lambda x: x * x, (*NUMBERS, *BRAIN), arithmetic=(0,)),
    # Near a pole the rounding of the operand dominates.
    UnaryOp("tan", np.tan, low=-100, high=100, rule=undefined.near_pole_of_tangent),
    UnaryOp("trunc", np.trunc, (*FLOATS, *INTEGERS, *BRAIN)),
    UnaryOp("bitwise_not", np.invert, (*INTEGERS, "bool")),
    UnaryOp("logical_not", np.logical_not, ("bool",)),
)


def _op(row: UnaryOp) -> Op:
    return Op(
        name=row.name,
        build=build_unary(getattr(relax_op, row.name), row.dtypes),
        reference=quiet(in_single(lambda args, attrs: row.reference(args[0]))),
        dtypes=row.dtypes,
        domain=(row.low, row.high),
        nonfinite=row.nonfinite,
        elementwise=True,
        undefined=row.rule,
        accepts=row.accepts,
        arithmetic=row.arithmetic,
        laws=() if row.nonfinite else (laws.KEEPS_NAN,),
    )


CASTS = (*ALL, *BRAIN)


def _build_astype(c: Choices, s: Scope) -> relax.Expr:
    x = s.tensor(c, dtype=CASTS, complete=False)
    to = dtype_of_result(c, s, CASTS)
    if to in INTEGERS and (x.dtype is None or x.dtype in (*FLOATS, *BRAIN)):
        # NaN and numbers that do not fit have no defined integer, so operands are often clipped to
        # a range that all dtypes hold. Others are mostly small, and the cast meets their producer.
        if x.dtype is None:
            to = "float32"
        elif c.flag():
            x = s.emit(_clip(x.expr, -100 if to in SIGNED and c.flag() else 0, 100))
    return relax_op.astype(x.expr, to)


def _astype(args: Sequence[Any], attrs: Any) -> Any:
    return args[0].astype(BF16 if str(attrs.dtype) == "bfloat16" else np.dtype(str(attrs.dtype)))


def _clip(x: relax.Expr, low: float, high: float) -> relax.Expr:
    return relax_op.clip(x, relax.prim_value(low), relax.prim_value(high))


def _build_clip(c: Choices, s: Scope) -> relax.Expr:
    x = s.tensor(c, dtype=(*NUMBERS, *BRAIN), complete=False)
    low, high = c.pick(((0, 6), (-1, 1), (0, 0), (1, 3)))
    if x.dtype is not None and x.dtype.startswith("uint"):
        low = max(low, 0)
    return _clip(x.expr, low, high)


def _clip_reference(args: Sequence[Any], attrs: Any) -> Any:
    """`max(min(x, high), low)`, as TVM computes it: NaN becomes the upper bound, and of two bounds
    in the wrong order the lower one wins."""
    x, low, high = args
    below = np.where(x < high, x, high)
    return np.where(below > low, below, low).astype(x.dtype)


def _build_wrap_param(c: Choices, s: Scope) -> relax.Expr:
    shape = [d for d in s.shape(c, c.pick((1, 2, 0)), static=True) if isinstance(d, int)]
    data = s.constant(c, shape, c.pick(("float32", "float16", "float64")))
    return relax_op.wrap_param(data.expr, c.pick(("float16", "float32", "float64")))


OPS = (
    *map(_op, ROWS),
    Op(
        name="astype",
        build=_build_astype,
        reference=quiet(_astype),
        dtypes=CASTS,
        nonfinite=True,
        tolerance=Tolerance(reason="a half-way case may be rounded to either neighbour"),
        elementwise=True,
        undefined=undefined.unrepresentable,
        accepts=accepts.representable,
        moves=(0,),
    ),
    Op(
        name="clip",
        build=_build_clip,
        reference=quiet(in_single(_clip_reference)),
        dtypes=(*NUMBERS, *BRAIN),
        elementwise=True,
        laws=(laws.KEEPS_NAN,),
    ),
    Op(
        name="wrap_param",
        build=_build_wrap_param,
        reference=quiet(_astype),
        dtypes=FLOATS,
        nonfinite=True,
        legalizes=False,
        executes=False,
        undefined=undefined.unrepresentable,
    ),
)
