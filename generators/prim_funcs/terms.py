"""Terms of expressions that match rules for simplification: few variables and constants, which are
repeated often."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import tvm_ffi
from tvm import tirx

from ...compat import ir
from ..choices import Choices
from .expressions import COMPARED, Expr, const, ends_of

INDEX = ("int32", "int64")
"""Dtypes of loop variables."""

BASES = (4, 2, 3, 8, 5, 6, 16, 7, 10, 32)

MOST = {"int8": 100, "uint8": 100, "int16": 30_000}
"""The bounds of constants of short dtypes."""


def fitting(number: int, dtype: str) -> int:
    """The number, or a similar one that fits the dtype; it is 0 only if the number is."""
    if dtype.startswith("u"):
        number = abs(number)
    most = MOST.get(dtype)
    if most is None or abs(number) < most:
        return number
    return (abs(number) % most or 1) * (1 if number > 0 else -1)


def product(a: Expr, b: Expr) -> Expr:
    """The constant product of two constants, if its dtype can hold it."""
    dtype = str(a.ty.dtype)
    return const(fitting(int(a.value) * int(b.value), dtype), dtype)


def varies(expr: Expr) -> bool:
    """True if the expression is not constant."""
    found: list[Expr] = []
    tvm_ffi.structural_walk(expr, [(tirx.Var, found.append)])
    return bool(found)


DIVISIONS: Sequence[Callable[[Expr, Expr], Expr]] = (
    tirx.floordiv,
    tirx.floormod,
    tirx.truncdiv,
    tirx.truncmod,
)

EXTREMES: Sequence[Callable[[Expr, Expr], Expr]] = (tirx.min, tirx.max)

TermForm: TypeAlias = Callable[["Terms", str, int], Expr]
"""Makes an expression of a dtype from terms of less depth."""

Forms: TypeAlias = tuple[Callable[[], Expr], ...]
"""Alternative expressions of the same terms; one of them is chosen."""


class Terms:
    """Expressions of the variables of a nest, decided by the choices."""

    def __init__(
        self,
        choices: Choices,
        index: str,
        axes: Sequence[Expr],
        domains: Sequence[tuple[int, Any]],
        read: Sequence[tirx.Buffer],
        kinds: Callable[[str], Sequence[TermForm]],
    ) -> None:
        """
        Args:
            index: the dtype of the axes.
            axes: variables of loops.
            domains: the first value of each axis, and the number of its values.
            read: buffers of one static dimension, whose elements expressions may contain.
            kinds: the kinds of expressions of a dtype.
        """
        self.choices = choices
        self._axes = list(axes)
        self._domains = domains
        self._divisors = [axis for axis, (low, _) in zip(axes, domains, strict=True) if low > 0]
        self._read = read
        self._kinds = kinds
        self._index = index
        self._made: dict[str, list[Expr]] = {}
        base = choices.pick(BASES)
        self.pool = (
            *(base, base, 1, 2, base - 1, base * 2, base + 1, -base, 0, -1),
            *(base * 3, base // 2 + 1, 2 * base - 1, -2, -2 * base, 3, base * base),
        )

    # Terms

    def value(self, dtype: str, depth: int) -> Expr:
        """A value of the dtype, often one that was made before."""
        c, made = self.choices, self._made.setdefault(dtype, [])
        if depth <= 0:
            return self.atom(dtype)
        if made and c.flag(0.25):
            return c.pick(made[-4:])
        of = c.pick(self._dtypes()) if dtype == "bool" else dtype
        found = c.pick(self._kinds(dtype))(self, of, depth - 1)
        if dtype == "bool" and not varies(found):
            found = self.atom("bool")  # people do not write constant conditions
        made.append(found)
        return found

    def _dtypes(self) -> Sequence[str]:
        return (self._index,) * 9 + ("int64", "uint8", "uint32", "float32")

    def atom(self, dtype: str) -> Expr:
        """A variable, an element or a number."""
        c = self.choices
        if dtype == "bool":
            return c.pick(self._axes) < self.number(self._index)
        kind = c.pick(("axis", "axis", "axis", "axis", "number", "element", "axis"))
        if kind == "element" and self._read:
            return self.cast(self._element(c.pick(self._read)), dtype)
        if kind == "number":
            return self.number(dtype)
        return self.cast(c.pick(self._axes), dtype)

    def _element(self, buffer: tirx.Buffer) -> Expr:
        (size,) = buffer.ty.shape
        return buffer[tirx.IntImm(self._index, self.choices.below(int(size.value)))]

    def cast(self, expr: Expr, dtype: str) -> Expr:
        """The value in another dtype."""
        own = str(expr.ty.dtype)
        if own == dtype:
            return expr
        if dtype == "bool":
            return expr > const(0, own)
        if isinstance(expr, tirx.IntImm):
            return const(fitting(int(expr.value), dtype), dtype)
        return ir.Cast(dtype, expr)

    # Numbers

    def number(self, dtype: str) -> Expr:
        """A constant, mostly related to the others."""
        c = self.choices
        if dtype.startswith(("int", "uint")) and c.flag(0.01):
            return const(c.pick(ends_of(dtype)), dtype)
        return const(fitting(c.pick(self.pool), dtype), dtype)

    def constants(self, dtype: str, count: int) -> list[Expr]:
        """Numbers other than 0; the later ones are often multiples of the first."""
        c = self.choices
        first = c.pick((self.pool[0],) * 6 + tuple(k for k in self.pool if k))
        related = (first, first * 2, first * 3, 1, 2, -first, first - 1, first + 1)
        found = [first, *(c.pick(related) for _ in range(count - 1))]
        return [const(fitting(k, dtype) or 1, dtype) for k in found]

    def divisor(self, dtype: str) -> Expr:
        """A divisor, which is never 0."""
        c = self.choices
        if self._divisors and c.flag(0.2):
            return self.cast(c.pick(self._divisors), dtype)
        number = c.pick((self.pool[0], self.pool[0], *filter(None, self.pool)))
        return const(fitting(number if c.flag(0.3) else abs(number), dtype), dtype)

    def fused(self, dtype: str) -> tuple[Expr, list[int]]:
        """The number of the iteration in a nest of some loops, and the extents of these."""
        domains = list(zip(self._axes, self._domains, strict=True))
        chosen = domains[self.choices.below(len(domains)) :]
        total, extents = const(0, dtype), []
        for axis, (low, extent) in chosen:
            if isinstance(extent, int):
                total = total * const(extent, dtype) + (self.cast(axis, dtype) - const(low, dtype))
                extents.append(extent)
        return total, extents or [1]

    def compared(self, a: Expr, b: Expr) -> Expr:
        """One of the six comparisons."""
        return self.choices.pick(COMPARED)(a, b)

    def division(self) -> Callable[[Expr, Expr], Expr]:
        """One of the four kinds of division."""
        return self.choices.pick(DIVISIONS)

    def extreme(self) -> Callable[[Expr, Expr], Expr]:
        """Minimum or maximum."""
        return self.choices.pick(EXTREMES)

    def three(self, dtype: str, depth: int) -> tuple[Expr, Expr, Expr]:
        """Three terms, two of which may be the same."""
        x, y = self.value(dtype, depth), self.value(dtype, depth - 1)
        z = self.choices.pick((x, y)) if self.choices.flag(0.4) else self.atom(dtype)
        return x, y, z
