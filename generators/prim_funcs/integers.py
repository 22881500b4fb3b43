"""Expressions over integers such as rules for simplification look for: few terms and constants,
which come again and again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from tvm import tirx

from ...compat import ir
from ..choices import Choices
from .expressions import FLOATS, const

INDEX = ("int32", "int64")
"""Dtypes of loop variables."""

NARROW = ("int8", "uint8", "int16", "uint32", "int64", "int32", "bool")
"""What an integer may be cast from."""

BASES = (4, 2, 3, 8, 5, 6, 16, 7, 10, 32)

LARGE = (2**31 - 1, -(2**31), 2**30, 2**31 - 4)

Expr: TypeAlias = Any
"""A `tvm.ir.Expr`, whose operators make others."""


MOST = 100
"""Constants of short dtypes are below this."""


def fitting(number: int, dtype: str) -> int:
    """A constant of the dtype, which is this one or resembles it; it is 0 only where this is."""
    if dtype.startswith("u"):
        number = abs(number)
    if abs(number) < MOST or dtype not in ("int8", "uint8"):
        return number
    return (abs(number) % MOST or 1) * (1 if number > 0 else -1)


class Terms:
    """Expressions of the variables of a nest, decided by the choices."""

    def __init__(
        self,
        choices: Choices,
        index: str,
        axes: Sequence[Expr],
        domains: Sequence[tuple[int, Any]],
        read: Sequence[tirx.Buffer] = (),
    ) -> None:
        """
        Args:
            index: the dtype of the axes.
            axes: variables of loops.
            domains: the first value of each, and how many there are.
            read: buffers of one dimension, whose elements may stand in expressions.
        """
        self.choices = choices
        self._axes = list(axes)
        self._domains = domains
        self._divisors = [axis for axis, (low, _) in zip(axes, domains, strict=True) if low > 0]
        self._read = read
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
        if dtype == "bool":
            found = c.pick(CONDITIONS)(self, c.pick(self._dtypes()), depth - 1)
        elif dtype in FLOATS:
            found = c.pick(FLOATING)(self, dtype, depth - 1)
        else:
            group = c.pick(GROUPS)
            found = c.pick(group)(self, dtype, depth - 1)
        made.append(found)
        return found

    def _dtypes(self) -> Sequence[str]:
        return (self._index,) * 9 + ("int64", "uint8", "uint32", "float32")

    def atom(self, dtype: str) -> Expr:
        """A variable, an element or a number."""
        c = self.choices
        if dtype == "bool":
            return self.atom(self._index) < self.number(self._index)
        kind = c.pick(("axis", "axis", "axis", "axis", "number", "element", "axis"))
        if kind == "element" and self._read:
            return self.cast(self._element(c.pick(self._read)), dtype)
        if kind == "number":
            return self.number(dtype)
        return self.cast(c.pick(self._axes), dtype)

    def _element(self, buffer: tirx.Buffer) -> Expr:
        (size,) = buffer.ty.shape
        last = int(size.value) if isinstance(size, tirx.IntImm) else 1
        return buffer[tirx.IntImm(self._index, self.choices.below(last))]

    def cast(self, expr: Expr, dtype: str) -> Expr:
        """The value in another dtype."""
        own = str(expr.ty.dtype)
        if own == dtype:
            return expr
        if dtype == "bool":
            return expr > const(0, own)
        return ir.Cast(dtype, expr)

    # Numbers

    def number(self, dtype: str) -> Expr:
        """A constant: mostly one that is related to the others."""
        c = self.choices
        if dtype in INDEX and c.flag(0.01):
            return const(c.pick(LARGE), dtype)
        return const(fitting(c.pick(self.pool), dtype), dtype)

    def constants(self, dtype: str, count: int) -> list[Expr]:
        """Numbers other than 0, of which the later ones are often multiples of the first."""
        c = self.choices
        first = c.pick((self.pool[0],) * 6 + tuple(k for k in self.pool if k))
        found = [first]
        for _ in range(count - 1):
            found.append(c.pick((first, first * 2, first * 3, 1, 2, -first, first - 1, first + 1)))
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


COMPARED: Sequence[Callable[[Expr, Expr], Expr]] = (
    lambda a, b: a < b,
    lambda a, b: ir.EQ(a, b),
    lambda a, b: a <= b,
    lambda a, b: ir.NE(a, b),
    lambda a, b: a >= b,
    lambda a, b: a > b,
)

DIVISIONS: Sequence[Callable[[Expr, Expr], Expr]] = (
    tirx.floordiv,
    tirx.floormod,
    tirx.truncdiv,
    tirx.truncmod,
)

EXTREMES: Sequence[Callable[[Expr, Expr], Expr]] = (tirx.min, tirx.max)

Forms: TypeAlias = tuple[Callable[[], Expr], ...]
"""Expressions of the same terms, of which one is made."""

Form = Callable[[Terms, str, int], Expr]
"""Makes an expression of a dtype of terms of less depth."""


# Sums


def _sum(e: Terms, t: str, d: int) -> Expr:
    x, y, z = e.three(t, d)
    k, m = e.constants(t, 2)
    forms: Forms = (
        lambda: x * k + y,
        lambda: x + k,
        lambda: x + y,
        lambda: x - y,
        lambda: k - x,
        lambda: x * k,
        lambda: y + x * k,
        lambda: x * k + y * m + z,
        lambda: x * k - y * m,
        lambda: (x + y) - z,
        lambda: x - (y - z),
        lambda: (x + k) * m,
        lambda: (x - y) * k,
        lambda: e.atom(t) * e.atom(t) + y,
    )
    return e.choices.pick(forms)()


# Quotients and remainders


def _quotient(e: Terms, t: str, d: int) -> Expr:
    x, y, z = e.three(t, d)
    k, m = e.constants(t, 2)
    by, div = e.divisor(t), e.division()
    forms: Forms = (
        lambda: div(x, by),
        lambda: div(x * k + y, by),
        lambda: div(x + k, by),
        lambda: div(x * k + y + z, by),
        lambda: div(x * k, by),
        lambda: div(y - x * k, by),
        lambda: div(e.division()(x, by) + y, m),
        lambda: div(e.division()(x * k + y, m), by),
        lambda: div(e.extreme()(x * k, y), by),
        lambda: div(x * by + y, by),
        lambda: div(x * k, m * k),
        lambda: div(x - e.division()(x, by), by),
    )
    return e.choices.pick(forms)()


def _recombined(e: Terms, t: str, d: int) -> Expr:
    x, y, _ = e.three(t, d)
    k, m = e.constants(t, 2)
    one = const(1, t)
    div, rest = e.choices.pick(((tirx.floordiv, tirx.floormod), (tirx.truncdiv, tirx.truncmod)))
    forms: Forms = (
        lambda: div(x, k) * k + rest(x, k),
        lambda: x - div(x, k) * k,
        lambda: x - div(x + y, k) * k,
        lambda: div(x - y, k) * k - x,
        lambda: x * m - div(x + y, k) * (k * m),
        lambda: div(x + m, k) - div(x, k),
        lambda: div(x + m, k) - div(x + y, k),
        lambda: div(x + k - one, k) * k,
        lambda: div(x, k) * m + div(rest(x, k), m),
        lambda: rest(x, k * m) - rest(x, k),
        lambda: rest(div(x, k), m) * k + rest(x, k),
        lambda: rest(x + m, k) + rest(x, k),
        lambda: div(rest(x, k) + m, k) + div(x, k),
    )
    return e.choices.pick(forms)()


def mapped(e: Terms, t: str, d: int) -> Expr:
    """The number of an iteration, cut into parts as loops are split."""
    if t not in INDEX:
        return _quotient(e, t, d)
    number, extents = e.fused(t)
    c, inner = e.choices, extents[-1]
    k, m = (const(c.pick((inner, 2, 4, inner * 2, 3)), t) for _ in range(2))
    div, rest = tirx.floordiv, tirx.floormod
    forms: Forms = (
        lambda: div(number, k),
        lambda: rest(number, k),
        lambda: rest(div(number, k), m),
        lambda: div(rest(number, k * m), k),
        lambda: div(number, k * m) * m + rest(div(number, k), m),
        lambda: div(number, k) * k + rest(number, k),
        lambda: rest(number, k) * m + div(number, k),
        lambda: div(number + e.number(t), k),
        lambda: rest(number + e.number(t), k),
        lambda: number * k + e.number(t),
        lambda: div(div(number, k), m),
        lambda: rest(number * k + rest(e.atom(t), k), k * m),
    )
    return c.pick(forms)()


# Extremes


def _extreme(e: Terms, t: str, d: int) -> Expr:
    x, y, z = e.three(t, d)
    k, m = e.constants(t, 2)
    low, other, div = e.extreme(), e.extreme(), e.division()
    forms: Forms = (
        lambda: low(x, y),
        lambda: low(x, k),
        lambda: low(other(x, k), m),
        lambda: low(other(x, y), z),
        lambda: low(x + y, z) - y,
        lambda: x - low(x + y, z),
        lambda: low(x, y) - other(x, z),
        lambda: low(x * k, y * k),
        lambda: low(x * k, m),
        lambda: low(div(x, k), div(y, k)),
        lambda: low(x, y) + other(x, y),
        lambda: low(k - x, m),
        lambda: low(x + k, x + m),
        lambda: low(x, tirx.floordiv(x + k - const(1, t), k) * k),
        lambda: low(x, tirx.floordiv(x, k) * k),
        lambda: low(other(x, y), other(x, z)),
        lambda: low(x - y, x - z),
    )
    return e.choices.pick(forms)()


# Choices


def _chosen(e: Terms, t: str, d: int) -> Expr:
    x, y, z = e.three(t, d)
    which = e.value("bool", d)
    choose = e.choices.pick((tirx.if_then_else, ir.Select))
    forms: Forms = (
        lambda: choose(which, x, y),
        lambda: choose(which, x, y) - choose(which, z, x),
        lambda: choose(which, x, y) - y,
        lambda: choose(which, choose(e.value("bool", 1), x, e.number(t)), e.number(t)),
        lambda: e.extreme()(choose(which, x, y), choose(which, z, y)),
        lambda: e.division()(choose(which, x, y), e.divisor(t)),
    )
    return e.choices.pick(forms)()


# Bits and casts


def _bits(e: Terms, t: str, d: int) -> Expr:
    x, y = e.value(t, d), e.atom(t)
    s = e.choices.pick((1, 2, 3, 0))
    shift, mask = const(s, t), const((1 << s) - 1, t)
    forms: Forms = (
        lambda: x >> shift,
        lambda: tirx.bitwise_and(x, mask),
        lambda: x << shift,
        lambda: tirx.bitwise_and(x, const(abs(fitting(e.choices.pick(e.pool), t)), t)),
        lambda: tirx.bitwise_or(x, y),
        lambda: tirx.bitwise_xor(x, y),
        lambda: tirx.bitwise_and(x, y),
        lambda: tirx.bitwise_not(x),
        lambda: (x >> shift) << shift,
        lambda: tirx.bitwise_or(x << shift, tirx.bitwise_and(y, mask)),
    )
    return e.choices.pick(forms)()


def _cast(e: Terms, t: str, d: int) -> Expr:
    other = e.choices.pick([each for each in (*INDEX, *NARROW) if each != t])
    forms: Forms = (
        lambda: e.cast(e.value(other, d), t),
        lambda: e.cast(e.cast(e.value(t, d), other), t),
        lambda: e.cast(
            tirx.ceil(tirx.log2(e.cast(tirx.max(e.value(t, d), const(1, t)), "float64"))), t
        ),
    )
    return e.choices.pick(forms * 2 if e.choices.flag(0.3) else forms[:2])()


def _let(e: Terms, t: str, d: int) -> Expr:
    var = tirx.Var("t", t)
    body = var * e.number(t) + e.value(t, d)
    return ir.Let(var, e.value(t, d), body)


GROUPS: Sequence[Sequence[Form]] = (
    (_sum,),
    (_quotient,),
    (mapped,),
    (_quotient, _recombined),
    (_recombined,),
    (_extreme,),
    (_extreme, _chosen),
    (_chosen, _bits, _cast),
    (_sum, _bits, _cast, _let),
)
"""Kinds of integers; those of one group share its chance."""


# Conditions


def _comparison(e: Terms, t: str, d: int) -> Expr:
    x, y, z = e.three(t, d)
    if t in FLOATS:
        return e.compared(x, y)
    k, m = e.constants(t, 2)
    div, by = e.division(), e.divisor(t)
    forms: tuple[tuple[Callable[[], Expr], Callable[[], Expr]], ...] = (
        (lambda: x, lambda: k),
        (lambda: x, lambda: y),
        (lambda: x * k + y, lambda: m),
        (lambda: x * k, lambda: m),
        (lambda: x * k, lambda: y * k),
        (lambda: x * k, lambda: y * m),
        (lambda: x + k, lambda: y + m),
        (lambda: k - x, lambda: m),
        (lambda: x - y, lambda: z),
        (lambda: x + y, lambda: x + z),
        (lambda: div(x, by), lambda: e.number(t)),
        (lambda: div(x + k, by), lambda: y),
        (lambda: div(x, by) * by, lambda: x),
        (lambda: e.extreme()(x, y), lambda: z),
        (lambda: e.extreme()(x, k), lambda: m),
        (lambda: x * y, lambda: const(0, t)),
        (lambda: (x + y) * k, lambda: (x * y) * m),
    )
    left, right = e.choices.pick(forms)
    return e.compared(left(), right()) if e.choices.flag(0.7) else e.compared(right(), left())


def _related(e: Terms, t: str, d: int) -> Expr:
    """Several conditions on the same terms."""
    x, y, _ = e.three(t, d)
    if t in FLOATS:
        return ir.And(e.compared(x, y), e.compared(y, x))
    k, m, n = e.constants(t, 3)
    join = e.choices.pick((ir.And, ir.Or))
    by = const(abs(int(e.constants(t, 1)[0].value)), t)
    forms: Forms = (
        lambda: join(e.compared(x, k), e.compared(x, m)),
        lambda: join(e.compared(x, y), e.compared(y, x)),
        lambda: join(e.compared(k, x), e.compared(x, m)),
        lambda: join(e.compared(tirx.floordiv(x, by), k), e.compared(tirx.floormod(x, by), m)),
        lambda: join(e.compared(x, k), e.compared(tirx.floormod(x, by), m)),
        lambda: join(const(0, t) <= x - y * by, x - y * by < by),
        lambda: join(e.compared(x, y), e.compared(x, y + n)),
        lambda: join(join(e.compared(x, y), e.compared(y, k)), e.compared(x, m)),
    )
    return e.choices.pick(forms)()


def _logical(e: Terms, t: str, d: int) -> Expr:
    a, b = e.value("bool", d), e.value("bool", d - 1)
    forms: Forms = (
        lambda: ir.And(a, b),
        lambda: ir.Or(a, b),
        lambda: ir.Not(a),
        lambda: ir.And(a, ir.Not(b)),
        lambda: ir.Or(ir.And(a, b), e.value("bool", 1)),
        lambda: tirx.likely(a),
        lambda: ir.Select(a, b, e.value("bool", 0)),
    )
    return e.choices.pick(forms)()


CONDITIONS: Sequence[Form] = (_comparison, _comparison, _related, _logical, _comparison)


# Floats


def _floating(e: Terms, t: str, d: int) -> Expr:
    x, y, z = e.three(t, d)
    k = const(e.choices.pick((0, 1, -1, 4)), t)
    forms: Forms = (
        lambda: x + y,
        lambda: x - y,
        lambda: (x + y) - z,
        lambda: x * const(e.choices.pick((2, 0, 1, -1)), t),
        lambda: tirx.div(x, const(e.choices.pick((2, 4, 1)), t)),
        lambda: e.extreme()(x, y),
        lambda: e.extreme()(x, k) - y,
        lambda: ir.Select(e.value("bool", d), x, y),
        lambda: e.cast(e.value("int32", d), t),
        lambda: x + const(0, t),
    )
    return e.choices.pick(forms)()


FLOATING: Sequence[Form] = (_floating,)
