"""Terms of expressions such as rules for simplification look for: few variables and constants,
which come again and again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import tvm_ffi
from tvm import tirx

from ...compat import ir
from ..choices import Choices
from .expressions import COMPARED, Expr, const

INDEX = ("int32", "int64")
"""Dtypes of loop variables."""

BASES = (4, 2, 3, 8, 5, 6, 16, 7, 10, 32)

MOST = {"int8": 100, "uint8": 100, "int16": 30_000}
"""Constants of short dtypes are below this."""


def fitting(number: int, dtype: str) -> int:
    """A constant of the dtype, which is this one or resembles it; it is 0 only where this is."""
    if dtype.startswith("u"):
        number = abs(number)
    most = MOST.get(dtype)
    if most is None or abs(number) < most:
        return number
    return (abs(number) % most or 1) * (1 if number > 0 else -1)


def bits_of(dtype: str) -> int:
    """The width of an integer type."""
    return int(dtype.removeprefix("u").removeprefix("int"))


def ends_of(dtype: str) -> tuple[int, ...]:
    """Numbers near the ends of an integer type."""
    half = 1 << bits_of(dtype) - 1
    if dtype.startswith("u"):
        return 2 * half - 1, half, half - 1, 2 * half - 4
    return half - 1, -half, half // 2, half - 4


def product(a: Expr, b: Expr) -> Expr:
    """The constant that is the product of two, where its dtype has that."""
    dtype = str(a.ty.dtype)
    return const(fitting(int(a.value) * int(b.value), dtype), dtype)


def varies(expr: Expr) -> bool:
    """The expression depends on something."""
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

Form: TypeAlias = Callable[["Terms", str, int], Expr]
"""Makes an expression of a dtype of terms of less depth."""

Forms: TypeAlias = tuple[Callable[[], Expr], ...]
"""Expressions of the same terms, of which one is made."""


class Terms:
    """Expressions of the variables of a nest, decided by the choices."""

    def __init__(
        self,
        choices: Choices,
        index: str,
        axes: Sequence[Expr],
        domains: Sequence[tuple[int, Any]],
        read: Sequence[tirx.Buffer],
        kinds: Callable[[str], Sequence[Form]],
    ) -> None:
        """
        Args:
            index: the dtype of the axes.
            axes: variables of loops.
            domains: the first value of each, and how many there are.
            read: buffers of one dimension, a number, whose elements may stand in expressions.
            kinds: of expressions of a dtype.
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
            found = self.atom("bool")  # nobody writes conditions that are constant
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
        """A constant: mostly one that is related to the others."""
        c = self.choices
        if dtype.startswith(("int", "uint")) and c.flag(0.01):
            return const(c.pick(ends_of(dtype)), dtype)
        return const(fitting(c.pick(self.pool), dtype), dtype)

    def constants(self, dtype: str, count: int) -> list[Expr]:
        """Numbers other than 0, of which the later ones are often multiples of the first."""
        c = self.choices
        first = c.pick((self.pool[0],) * 6 + tuple(k for k in self.pool if k))
        related = (first, first * 2, first * 3, 1, 2, -first, first - 1, first + 1)
        found = [first, *(c.pick(related) for _ in range(count - 1))]
        return [const(fitting(k, dtype) or 1, dtype) for k in found]

    def divisor(self, dtype: str) -> Expr:
        """What is never 0."""
        c = self.choices
        if self._divisors and c.flag(0.2):
            return self.cast(c.pick(self._divisors), dtype)
        number = c.pick((self.pool[0], self.pool[0], *filter(None, self.pool)))
        return const(fitting(number if c.flag(0.3) else abs(number), dtype), dtype)

    def fused(self, dtype: str) -> tuple[Expr, list[int]]:
        """The number of the iteration of some loops, and the extents that it is made of."""
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
        """One of the four."""
        return self.choices.pick(DIVISIONS)

    def extreme(self) -> Callable[[Expr, Expr], Expr]:
        """Minimum or maximum."""
        return self.choices.pick(EXTREMES)

    def three(self, dtype: str, depth: int) -> tuple[Expr, Expr, Expr]:
        """Terms, of which one may be twice there."""
        x, y = self.value(dtype, depth), self.value(dtype, depth - 1)
        z = self.choices.pick((x, y)) if self.choices.flag(0.4) else self.atom(dtype)
        return x, y, z
