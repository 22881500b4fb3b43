"""Expressions of PrimFuncs whose buffers have vectors as elements, such as "float32x4"."""

from __future__ import annotations

from collections.abc import Sequence

from tvm import tirx

from ....compat import ir
from ...choices import Choices
from ..expressions import (
    COMPARED,
    FLOATS,
    INTEGERS,
    SHARED,
    Axis,
    Expr,
    ExpressionGenerator,
    Operation,
    const,
    lanes_of,
    scalar_of,
)


class VectorGenerator(ExpressionGenerator):
    """Expressions of vectors and scalars for a statement; indices and conditions are scalars."""

    def __init__(
        self,
        choices: Choices,
        index: str,
        buffers: Sequence[tirx.Buffer],
        axes: Sequence[Axis],
        scalars: Sequence[tirx.Var] = (),
    ) -> None:
        super().__init__(choices, index, buffers, axes, scalars)
        self._readable = self._buffers
        self._buffers = [b for b in self._readable if lanes_of(str(b.ty.dtype)) == 1]

    def value(self, dtype: str, depth: int = 2) -> Expr:
        """A value of the dtype."""
        if lanes_of(dtype) == 1 or not depth:
            return super().value(dtype, depth)
        return self.choices.pick(_OPERATIONS)(self, dtype, depth - 1)

    def leaf(self, dtype: str) -> Expr:
        """An element, or the same scalar in each lane."""
        lanes = lanes_of(dtype)
        fitting = [b for b in self._readable if lanes_of(str(b.ty.dtype)) in (1, lanes)]
        if lanes > 1 and fitting and not self.choices.flag(0.3):
            return self.cast(self.load(self.choices.pick(fitting)), dtype)
        return self.cast(super().leaf(scalar_of(dtype)), dtype)

    def cast(self, expr: Expr, dtype: str) -> Expr:
        """The value in another dtype; a scalar in each lane of a vector."""
        lanes = lanes_of(dtype)
        if lanes == lanes_of(str(expr.ty.dtype)):
            return super().cast(expr, dtype)
        return ir.Broadcast(super().cast(expr, scalar_of(dtype)), lanes)


def _selected(e: ExpressionGenerator, dtype: str, depth: int) -> Expr:
    """One of two values in each lane."""
    condition = e.choices.pick(COMPARED)(e.leaf(dtype), e.leaf(dtype))
    return ir.Select(condition, e.value(dtype, depth), e.leaf(dtype))


def _converted(e: ExpressionGenerator, dtype: str, depth: int) -> Expr:
    """A conversion to vectors of another dtype and back."""
    other = e.choices.pick((*INTEGERS[:3], *FLOATS[:3]))
    return e.cast(e.value(f"{other}x{lanes_of(dtype)}", depth), dtype)


def _numbered(e: ExpressionGenerator, dtype: str, depth: int) -> Expr:
    """Numbers that increase from lane to lane."""
    first, step = (tirx.IntImm("int32", number) for number in e.choices.pick(((0, 1), (3, -1))))
    return e.cast(ir.Ramp(first, step, lanes_of(dtype)), dtype)


def _rooted(e: ExpressionGenerator, dtype: str, depth: int) -> Expr:
    """A square root for float dtypes, a remainder for integer dtypes."""
    value = e.value(dtype, depth)
    if scalar_of(dtype) in INTEGERS:
        return tirx.floormod(value, const(3, dtype))
    inside = f"float32x{lanes_of(dtype)}"
    return e.cast(tirx.sqrt(tirx.abs(e.cast(value, inside))), dtype)


_OPERATIONS: tuple[Operation, ...] = (*SHARED, _selected, _converted, _numbered, _rooted)
