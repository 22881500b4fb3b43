"""Checks of PrimFuncs, the sites that they belong to, and integer arithmetic."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from ....compat import ir
from ..expressions import Operation
from ..statements import Statements
from ..values import INDEX, PyExpr, bits_of, fits, is_float

_SIMPLE = (ir.BufferStore, ir.Bind, ir.AssertStmt, ir.Evaluate, ir.Return)
"""Statements that are shown whole for a fault inside them; for others the expression is shown."""


class CheckSite(NamedTuple):
    """The subject of a check: the buffer's name, and a statement or expression."""

    buffer: str
    node: Any


class Overflow(enum.Enum):
    """The meaning of overflow of int32 and int64, the types of `INDEX`."""

    OF_INDICES = enum.auto()
    """Overflow is a fault inside of an index. Elsewhere integers wrap around."""
    OF_VALUES = enum.auto()
    """Overflow is a fault everywhere."""
    NONE = enum.auto()
    """Integers are unbounded, so they do not overflow."""
    WRAPS = enum.auto()
    """Integers wrap around everywhere, as in compiled code."""


class Sited(Statements):
    """Numbers the sites that checks belong to.

    Args:
        overflow: the meaning of overflow of integers.
    """

    def __init__(self, overflow: Overflow = Overflow.OF_INDICES) -> None:
        super().__init__()
        self.sites: list[CheckSite] = []
        self._statement: Any = None
        self._operation: Any = None
        self._overflow = overflow
        self._wide = overflow in (Overflow.OF_VALUES, Overflow.NONE)
        """True if elements are read as Python's integers, which do not wrap around."""

    def site(self, buffer: str = "", expr: Any = None) -> int:
        """A number for the statement being written, or for an expression outside of one."""
        self.sites.append(CheckSite(buffer, expr if self._statement is None else self._statement))
        return len(self.sites) - 1

    def statement(self, stmt: Any) -> None:
        outer, self._statement = self._statement, stmt if type(stmt) in _SIMPLE else None
        super().statement(stmt)
        self._statement = outer

    @contextmanager
    def within(self, expr: Any) -> Iterator[None]:
        """Attribute the checks written meanwhile to this operation."""
        outer, self._operation = self._operation, expr
        yield
        self._operation = outer

    def cast(self, expr: Any) -> PyExpr:
        with self.within(expr):
            return super().cast(expr)

    def division(self, expr: Any, *, floor: bool, rest: bool) -> PyExpr:
        with self.within(expr):
            return super().division(expr, floor=floor, rest=rest)

    def shifted(self, expr: Any, symbol: str) -> PyExpr:
        with self.within(expr):
            return super().shifted(expr, symbol)

    def _wrapping(self, value: PyExpr) -> PyExpr:
        """The integer, wrapped around to the range of its dtype."""
        text = self.held(value)
        if text == value.text:
            return value
        return dataclasses.replace(value, text=text, low=None, high=None)

    def converted(self, value: PyExpr, dtype: str) -> PyExpr:
        if is_float(value.dtype) and dtype.startswith(("int", "uint")):
            signed = dtype.startswith("int")
            bits = int(dtype.removeprefix("u").removeprefix("int"))
            low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
            text = self._guarded(
                "whole", self._operation.ty, self.exact(value), str(low), str(high)
            )
            value = PyExpr(text, value.dtype, lanes=value.lanes)
        return super().converted(value, dtype)

    def pair(self, a: PyExpr, b: PyExpr) -> tuple[str, str, bool, bool]:
        """Both operands; if overflow matters, as Python integers, which never overflow."""
        if self._wide and a.dtype in INDEX:
            a, b = map(_integers, (a, b))
        return super().pair(a, b)

    def arithmetic(self, expr: Any, symbol: str, operation: Operation) -> PyExpr:
        value = super().arithmetic(expr, symbol, operation)
        if self._overflow is Overflow.WRAPS:
            return self._wrapping(value)
        if not self._wide or value.dtype not in INDEX or self._overflow is Overflow.NONE:
            return value
        if value.low is not None and (value.high is None or fits(value, value.dtype)):
            return value
        text = self.fitting(value, self.site(expr=expr))
        return dataclasses.replace(value, text=text, low=None, high=None)

    def shifted_out(self, expr: Any, value: PyExpr) -> PyExpr:
        """The result of a shift, which the simplifier treats as a product that may overflow."""
        if self._overflow is not Overflow.OF_VALUES:
            return super().shifted_out(expr, value)
        return dataclasses.replace(value, text=self.fitting(value, self.site(expr=expr)))

    def fitting(self, value: PyExpr, site: int) -> str:
        """Text of an integer with a check that its dtype holds it."""
        function = "fit" if value.lanes else "fits"
        return f"{function}({value.text}, {bits_of(value.dtype)}, {site})"

    def held(self, value: PyExpr) -> str:
        return value.text if self._overflow is Overflow.NONE else super().held(value)

    def exact(self, value: PyExpr) -> str:
        if self._wide and value.lanes and value.dtype in INDEX:
            return f"cast({value.text}, {value.dtype})"
        return super().exact(value)


def _integers(value: PyExpr) -> PyExpr:
    """The value as Python's integers."""
    if value.weak:
        return value
    if value.lanes:
        return dataclasses.replace(value, text=f"integers({value.text})")
    return dataclasses.replace(value, text=f"int({value.text})", weak=True)
