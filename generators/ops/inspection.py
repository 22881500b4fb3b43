"""Operators that read the fields of a tensor's descriptor at run time: `relax.inspect.*`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tvm import relax

from ...compat.ops import registered
from ..choices import Choices
from ..scope import Scope
from .record import ALL, Op

__all__ = ["OPS"]

CODES = {"i": 0, "u": 1, "f": 2, "V": 4, "b": 6}
"""DLPack's type codes by NumPy's kinds; bfloat16 has the kind of raw bytes."""


def _field(name: str, reference: Callable[[Any], int]) -> Op:
    """A field of the descriptor; a tensor's rank, shape and dtype need not be known."""

    def build(c: Choices, s: Scope) -> relax.Expr:
        return relax.Call(
            registered(f"relax.inspect.{name}"), [s.tensor(c, dtype=ALL, complete=False).expr]
        )

    return Op(
        name=f"inspect.{name}",
        build=build,
        reference=lambda args, attrs: reference(args[0]),
        dtypes=ALL,
        nonfinite=True,
    )


def _along(name: str, reference: Callable[[Any, int], int]) -> Op:
    """An integer property of one axis, whose index must not be negative."""

    def build(c: Choices, s: Scope) -> relax.Expr:
        x = s.tensor(c, dtype=ALL, ndim=(2, 1, 3, 4))
        return relax.Call(
            registered(f"relax.inspect.{name}"), [x.expr, relax.prim_value(c.below(x.ndim))]
        )

    def evaluate(args: Sequence[Any], attrs: Any) -> int:
        x, axis = args
        if not 0 <= axis < x.ndim:
            raise IndexError(f"Expected an axis in [0, {x.ndim}) but got {axis}")
        return reference(x, int(axis))

    return Op(name=f"inspect.{name}", build=build, reference=evaluate, dtypes=ALL, nonfinite=True)


def _offset(x: Any) -> int:
    """0: a fresh tensor begins where its memory does. NumPy cannot tell the offset of a view."""
    if x.base is not None:
        raise ValueError("Expected a tensor that owns its memory but got a view")
    return 0


def _stride(x: Any, axis: int) -> int:
    """The stride in elements; tensors are compact."""
    product = 1
    for dim in x.shape[axis + 1 :]:
        product *= int(dim)
    return product


OPS = (
    _field("tensor_ndim", lambda x: int(x.ndim)),
    _along("tensor_shape_i", lambda x, axis: int(x.shape[axis])),
    _along("tensor_stride_i", _stride),
    _field("tensor_dtype_code", lambda x: CODES[x.dtype.kind]),
    _field("tensor_dtype_bits", lambda x: 8 * int(x.dtype.itemsize)),
    _field("tensor_dtype_lanes", lambda x: 1),
    _field("tensor_byte_offset", _offset),
    _field("tensor_elem_offset", _offset),
)
