"""A test whether faults of a PrimFunc may depend on the contents of its buffers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import tvm
from tvm import tirx

from ...compat import ir
from ..inspect import nodes
from .intrinsics import BINARY, EXTERNAL, UNARY
from .values import is_float


def depends_on_data(func: tirx.PrimFunc) -> bool:
    """True if a loaded value may influence an access, or the existence of an operation's result.

    Values that are only computed with and then stored have no such influence; an index, a
    condition, an extent or a divisor may.
    """
    stored = sum(_harmless(store.value) for store in nodes(func, ir.BufferStore))
    return stored < len(nodes(func, ir.TensorLoad))


def _harmless(expr: Any) -> int:
    """The number of loads in an expression whose values are only computed with."""
    if type(expr) is ir.TensorLoad:
        return 1  # loads in its indices do not count
    parts = _PARTS.get(type(expr))
    return 0 if parts is None else sum(map(_harmless, parts(expr)))


def _both(expr: Any) -> list[Any]:
    return [expr.a, expr.b]


def _division(expr: Any) -> list[Any]:
    return [expr.a, expr.b] if _float(expr.a) else [expr.a]


def _cast(expr: Any) -> list[Any]:
    """The harmless operand of a cast, if any: a float that an integer cannot hold has no result."""
    loses = _float(expr.value) and not _float(expr)
    return [] if loses else [expr.value]


def _float(expr: Any) -> bool:
    return is_float(str(getattr(expr.ty, "dtype", expr.ty)))


def _call(expr: Any) -> list[Any]:
    name = str(getattr(expr.op, "name", ""))
    if name == "prim.if_then_else":
        return list(expr.args)[1:]
    short = name.rpartition(".")[2]
    if short in EXTERNAL:
        return list(expr.args)[1:]
    return list(expr.args) if short in UNARY or short in BINARY else []


_PARTS: Mapping[type, Callable[[Any], list[Any]]] = {
    **dict.fromkeys((ir.Add, ir.Sub, ir.Mul, ir.Min, ir.Max), _both),
    **dict.fromkeys((ir.EQ, ir.NE, ir.LT, ir.LE, ir.GT, ir.GE), _both),
    **dict.fromkeys((ir.BitwiseAnd, ir.BitwiseOr, ir.BitwiseXor), _both),
    **dict.fromkeys((ir.LShift, ir.RShift), lambda expr: [expr.a]),
    **dict.fromkeys((ir.Div, ir.Mod, ir.FloorDiv, ir.FloorMod), _division),
    **dict.fromkeys((ir.Not, ir.BitwiseNot), lambda expr: [expr.a]),
    ir.Select: lambda expr: [expr.true_value, expr.false_value],
    ir.Cast: _cast,
    tvm.ir.Call: _call,
}
"""The harmless operands of each kind of expression; other kinds have none."""
