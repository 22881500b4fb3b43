"""Goals for operands, so that the result fits, and rules for operands that agree in shape."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

from tvm import relax

from ..choices import Choices
from ..ops import OP_FAMILIES
from ..scope import Scope
from ..values import Dim, OperandRequest, Value, broadcasts, dims_of, same_dim, same_shape

PROBE = (5, 7, 3, 2, 11, 13)
"""A shape of different dims."""

BROADCASTING = frozenset(op.name for op in OP_FAMILIES["binary"]) - {"ewise_fma"} | {"where"}
"""Operators that also accept a shape that broadcasts to the requested one."""

ShapeRule = Callable[[Sequence[Dim], Sequence[Dim]], bool]


def contracts(x: Sequence[Dim], y: Sequence[Dim]) -> bool:
    """True if tensors of these shapes have a matrix product."""
    if not x or not y:
        return False
    return same_dim(x[-1], y[-2:][0]) and broadcasts(x[:-2], y[:-2])


AGREEING: Mapping[str, ShapeRule] = {**dict.fromkeys(BROADCASTING, broadcasts), "matmul": contracts}
"""Rules for shapes that an operator accepts together, although its record requests only one."""


class Goal(NamedTuple):
    """The wanted shape and dtypes of a result; None: any."""

    shape: tuple[Dim, ...] | None
    dtypes: Sequence[str] | None


def relaxed(
    request: OperandRequest, others: Sequence[tuple[Dim, ...]], agree: ShapeRule
) -> OperandRequest:
    """The request for any shape that the operator accepts, not just the one its record chose."""

    def agrees(value: Value) -> bool:
        shape = value.shape
        return shape is not None and all(agree(other, shape) for other in others)

    return dataclasses.replace(request, shape=None, where=agrees, fresh_shape=request.shape)


def aim_of(s: Scope, c: Choices, request: OperandRequest) -> Goal:
    """The shape and dtypes of a fresh tensor for this request."""
    return Goal(fresh_shape(s, c, request), tuple(request.dtypes) if request.dtypes else None)


def fresh_shape(s: Scope, c: Choices, request: OperandRequest) -> tuple[Dim, ...]:
    """A shape for a fresh tensor that meets the request."""
    shape = request.fresh_shape if request.shape is None else request.shape
    if shape is None:
        shape = s.shape(c, s.rank(c, request.ndims), static=request.static)
    return tuple(shape)


def turned_round(operand: Goal, result: Value | None, wanted: Goal) -> Goal | None:
    """The operand with its dims permuted so that the result is as wanted.

    Derived from the operand and the result of a call; None if they reveal nothing new.
    """
    if result is None or result.shape is None or operand.shape is None or wanted.shape is None:
        return None
    if len(result.shape) != len(wanted.shape):
        return None
    dims, free = list(operand.shape), list(range(len(operand.shape)))
    for have, want in zip(result.shape, wanted.shape, strict=True):
        at = next((each for each in free if same_dim(operand.shape[each], have)), None)
        if at is not None:
            free.remove(at)
            dims[at] = want
    return None if same_shape(dims, operand.shape) else Goal(tuple(dims), wanted.dtypes)


def both(allowed: Collection[str] | None, wished: Collection[str] | None) -> Collection[str] | None:
    """The allowed dtypes among the preferred ones, or all allowed ones if there are none."""
    if allowed is None or wished is None:
        return allowed or wished
    return [dtype for dtype in allowed if dtype in wished] or allowed


def like(shape: tuple[Dim, ...], dtype: str) -> Value:
    """A placeholder value of which only shape and dtype matter."""
    return Value(_ANY, shape, dtype, len(shape))


_ANY = relax.ShapeExpr([])


def field_like(var: relax.Var, at: int) -> Value | None:
    """A value like this field of a tuple."""
    fields = var.ty.fields if isinstance(var.ty, relax.TupleType) else ()
    ty = fields[at % len(fields)] if len(fields) else None
    if not isinstance(ty, relax.TensorType) or not isinstance(ty.shape, relax.ShapeExpr):
        return None
    return like(dims_of(ty.shape), str(ty.dtype)) if ty.dtype is not None else None


def bias_shape(c: Choices, shape: tuple[Dim, ...]) -> tuple[Dim, ...]:
    """A shape with one number for each place along an axis: the last, or the channels of images."""
    ones = (1,) * len(shape)
    channels = shape[1:2] if len(shape) > 2 else shape[-1:]
    pictures = (1, *channels, *ones[2:])[-len(shape) :]
    shapes = (
        pictures if len(shape) > 2 else shape[-1:],
        shape[-1:],
        (*ones[1:], *shape[-1:]),
        shape,
        shape[-2:],
        (),
    )
    return c.pick(shapes)
