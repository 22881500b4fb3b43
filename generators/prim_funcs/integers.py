"""Integer expressions that match rules for simplification."""

from __future__ import annotations

from collections.abc import Sequence

from tvm import tirx

from ...compat import ir
from .expressions import Expr, bits_of, const
from .terms import INDEX, Forms, TermForm, Terms, fitting, product

CAST_FROM = ("int8", "uint8", "int16", "uint32", "int64", "int32", "bool")
"""Source dtypes of casts to integers, besides `INDEX`."""


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
        lambda: div(x * k, product(m, k)),
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
        lambda: x * m - div(x + y, k) * product(k, m),
        lambda: div(x + m, k) - div(x, k),
        lambda: div(x + m, k) - div(x + y, k),
        lambda: div(x + k - one, k) * k,
        lambda: div(x, k) * m + div(rest(x, k), m),
        lambda: rest(x, product(k, m)) - rest(x, k),
        lambda: rest(div(x, k), m) * k + rest(x, k),
        lambda: rest(x + m, k) + rest(x, k),
        lambda: div(rest(x, k) + m, k) + div(x, k),
    )
    return e.choices.pick(forms)()


def mapped(e: Terms, t: str, d: int) -> Expr:
    """The number of an iteration, divided into parts as in split loops."""
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
        lambda: div(rest(number, product(k, m)), k),
        lambda: div(number, product(k, m)) * m + rest(div(number, k), m),
        lambda: div(number, k) * k + rest(number, k),
        lambda: rest(number, k) * m + div(number, k),
        lambda: div(number + e.number(t), k),
        lambda: rest(number + e.number(t), k),
        lambda: number * k + e.number(t),
        lambda: div(div(number, k), m),
        lambda: rest(number * k + rest(e.atom(t), k), product(k, m)),
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
    last = bits_of(t) - 1
    s = e.choices.pick((1, 2, 3, 0, 1, 2, last, last - 1, last // 2 + 1))
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
    other = e.choices.pick([each for each in (*INDEX, *CAST_FROM) if each != t])
    forms: Forms = (
        lambda: e.cast(e.value(other, d), t),
        lambda: e.cast(e.cast(e.value(t, d), other), t),
        lambda: e.cast(
            tirx.ceil(tirx.log2(e.cast(tirx.max(e.value(t, d), const(1, t)), "float64"))), t
        ),
    )
    return e.choices.pick(forms if e.choices.flag(0.3) else forms[:2])()


def _let(e: Terms, t: str, d: int) -> Expr:
    var = tirx.Var("t", t)
    body = var * e.number(t) + e.value(t, d)
    return ir.Let(var, e.value(t, d), body)


KINDS: Sequence[TermForm] = (
    *(_sum,) * 3,
    *(_quotient,) * 3,
    *(mapped,) * 2,
    *(_recombined,) * 3,
    *(_extreme,) * 3,
    *(_chosen, _chosen, _bits, _cast, _let),
)
"""Kinds of integers."""
