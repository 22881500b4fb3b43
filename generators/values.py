"""Tensors as generation sees them: shape, dtype and rank unpacked; and requests for operands."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import tvm
import tvm_ffi
from tvm import relax, tirx

from ..compat import ir

Dim: TypeAlias = "int | tvm.ir.Expr"


@dataclass(frozen=True, slots=True)
class Value:
    """A tensor in scope, with its type unpacked, because reading it through the FFI is slower."""

    expr: relax.Expr
    shape: tuple[Dim, ...] | None
    """The shape; None if it is not known."""
    dtype: str | None
    """The dtype; None if it is not known."""
    ndim: int
    """The rank; -1 if it is not known."""
    vdevice: ir.VDevice | None = None

    @property
    def static(self) -> bool:
        """True if every dimension is a known integer."""
        return self.shape is not None and all(isinstance(d, int) for d in self.shape)

    @property
    def complete(self) -> bool:
        """True if shape and dtype are known."""
        return self.shape is not None and self.dtype is not None


def dims_of(shape: relax.ShapeExpr | relax.ShapeType) -> tuple[Dim, ...]:
    """The dims of a ShapeExpr, or of a type that knows them, constants as Python ints."""
    values = shape.values[:]  # a list, which is faster to iterate over
    return tuple([int(d) if isinstance(d, tirx.IntImm) else d for d in values])


def value_of(expr: relax.Expr) -> Value | None:
    """The value of a normalized expression; None if it is not a tensor."""
    ty = expr.ty
    if not isinstance(ty, relax.TensorType):
        return None
    shape = dims_of(ty.shape) if isinstance(ty.shape, relax.ShapeExpr) else None
    return Value(expr, shape, str(ty.dtype) if ty.dtype is not None else None, ty.ndim, ty.vdevice)


def latest(values: Sequence[Value], var: relax.Var) -> Value | None:
    """The last of the values in scope, if it is this variable."""
    return values[-1] if values and values[-1].expr.same_as(var) else None


def uniform(shape: Sequence[int], number: float, dtype: str) -> relax.Expr:
    """A constant of one number everywhere; infinite if the number exceeds the dtype's range."""
    with np.errstate(over="ignore"):
        data = np.full(tuple(shape), number).astype(np.dtype(dtype))
    return relax.const(data, dtype)


def elements(ty: relax.Type) -> int:
    """The elements of a tensor, or of the largest one in a tuple; symbolic dims count as 1, and
    unknown shapes as 0 elements.
    """
    if isinstance(ty, relax.TupleType):
        return max(map(elements, ty.fields), default=0)
    if not isinstance(ty, relax.TensorType) or not isinstance(ty.shape, relax.ShapeExpr):
        return 0
    return static_product(ty.shape.values)


def static_product(dims: Iterable[tvm.ir.Expr]) -> int:
    """The product of the dims that are numbers."""
    return math.prod(int(dim.value) for dim in dims if isinstance(dim, tirx.IntImm))


def static_size(shape: Sequence[Dim]) -> int | None:
    """The number of elements of a tensor of this shape; None if a dim is not a number."""
    dims = [dim for dim in shape if isinstance(dim, int)]
    return math.prod(dims) if len(dims) == len(shape) else None


def holds_function(ty: relax.Type) -> bool:
    """True if a field of a tuple, or of a nested one, is a function: no caller can use that."""
    if isinstance(ty, relax.TupleType):
        return any(map(holds_function, ty.fields))
    return isinstance(ty, relax.FuncType)


def is_nested(ty: relax.TupleType) -> bool:
    """True if a tuple is among the fields of the tuple."""
    return any(isinstance(field, relax.TupleType) for field in ty.fields)


def same_shape(a: Sequence[Dim], b: Sequence[Dim]) -> bool:
    """True if dims are equal one by one, symbolic ones structurally."""
    return len(a) == len(b) and all(map(same_dim, a, b))


def same_dim(a: Dim, b: Dim) -> bool:
    """True for equal ints, and for structurally equal expressions over the same variables."""
    if isinstance(a, int) or isinstance(b, int):
        return isinstance(a, int) and isinstance(b, int) and a == b
    return a.same_as(b) or bool(tvm_ffi.structural_equal(a, b))


def broadcasts(a: Sequence[Dim], b: Sequence[Dim]) -> bool:
    """True if shapes are known to broadcast with one another."""
    pairs = zip(reversed(a), reversed(b), strict=False)
    return all(_is_one(x) or _is_one(y) or same_dim(x, y) for x, y in pairs)


def _is_one(dim: Dim) -> bool:
    return isinstance(dim, int) and dim == 1


@dataclass(frozen=True, slots=True)
class OperandRequest:
    """The conditions on an operand: the arguments of `Scope.tensor`."""

    dtypes: Collection[str] | None
    ndims: Collection[int] | None
    shape: Sequence[Dim] | None
    static: bool
    complete: bool
    where: Callable[[Value], bool] | None
    fresh_shape: Sequence[Dim] | None
    device: ir.VDevice | None

    def fits(self, value: Value) -> bool:
        """True if the value meets all the conditions."""
        if value.vdevice is not None and value.vdevice != self.device:
            return False
        if value.shape is None or value.dtype is None:
            if self.complete or self.shape is not None or self.static or self.where is not None:
                return False
            return (value.dtype is None or self.dtypes is None or value.dtype in self.dtypes) and (
                value.ndim == -1 or self.ndims is None or value.ndim in self.ndims
            )
        return (
            (self.dtypes is None or value.dtype in self.dtypes)
            and (self.ndims is None or value.ndim in self.ndims)
            and (self.shape is None or same_shape(value.shape, self.shape))
            and (not self.static or value.static)
            and (self.where is None or self.where(value))
        )
