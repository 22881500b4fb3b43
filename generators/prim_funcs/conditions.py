"""Conditions and floats that match rules for simplification."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tvm import tirx

from ...compat import ir
from . import integers
from .expressions import FLOATS, Expr, const
from .terms import Forms, TermForm, Terms

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


CONDITIONS: Sequence[TermForm] = (_comparison, _comparison, _related, _logical, _comparison)


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


def kinds(dtype: str) -> Sequence[TermForm]:
    """The kinds of expressions of a dtype."""
    if dtype == "bool":
        return CONDITIONS
    return (_floating,) if dtype in FLOATS else integers.KINDS
