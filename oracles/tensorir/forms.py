"""Indices as sums of multiples of variables, and as digits of such sums."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import tvm
from tvm import tirx

from ...compat import ir


class LinearForm(NamedTuple):
    """`const + sum of terms`, plus a rest of unknown value unless the form is exact."""

    const: int
    terms: Mapping[int, int]
    """Coefficients of variables, by handle."""
    exact: bool = True
    within: frozenset[int] = frozenset()
    """Variables that the rest depends on."""


class Digit(NamedTuple):
    """`form % modulus // divisor`; the modulus is optional.

    The divisor divides the modulus.
    """

    form: LinearForm
    modulus: int | None
    divisor: int


Places = tuple[tuple[int, int, int | None], ...]
"""Dimensions with the divisors and moduli of their digits."""


class Forms:
    """Knowledge about the variables of a PrimFunc, and about expressions of them."""

    def __init__(self) -> None:
        self.values: dict[int, Any] = {}
        """Expressions that variables are bound to, by the handles of the variables."""
        self.ranges: dict[int, tuple[int | None, int | None]] = {}
        """Begin and extent of the variables of loops, by handle."""
        self._known: dict[int, LinearForm] = {}

    def form(self, expr: Any) -> LinearForm:
        """An integer expression as a sum of multiples of variables, as far as possible."""
        kind = type(expr)
        if kind is tirx.IntImm:
            return LinearForm(int(expr.value), {})
        if kind is tirx.Var:
            handle = expr.__chandle__()
            known = self._known.get(handle)
            if known is None:
                value = self.values.get(handle)
                known = LinearForm(0, {handle: 1}) if value is None else self.form(value)
                self._known[handle] = known
            return known
        if kind is ir.Add or kind is ir.Sub:
            a, b = self.form(expr.a), self.form(expr.b)
            return _plus(a, _times(b, 1 if kind is ir.Add else -1))
        if kind is ir.Mul:
            a, b = self.form(expr.a), self.form(expr.b)
            for one, other in ((a, b), (b, a)):
                if one.exact and not one.terms:
                    return _times(other, one.const)
        return LinearForm(0, {}, False, self.variables(expr))

    def variables(self, expr: Any) -> frozenset[int]:
        """All variables that an expression depends on."""
        kind = type(expr)
        if kind is tirx.Var:
            return variables_of(self.form(expr))
        if kind in LEAVES:
            return frozenset()
        if kind is ir.TensorLoad:
            parts = list(expr.indices)
        elif kind is tvm.ir.Call:
            parts = list(expr.args)
        else:
            parts = [getattr(expr, name) for name in FIELDS.get(kind, ("a", "b"))]
        return frozenset[int]().union(*map(self.variables, parts))

    def bounds(self, form: LinearForm) -> tuple[int | None, int | None]:
        """Bounds of an exact form, known if its variables belong to loops with known bounds."""
        if not form.exact:
            return None, None
        low = high = form.const
        for var, coefficient in form.terms.items():
            begin, extent = self.ranges.get(var, (None, None))
            if begin is None or extent is None:
                return None, None
            ends = (coefficient * begin, coefficient * (begin + extent - 1))
            low, high = low + min(ends), high + max(ends)
        return low, high

    def number(self, indices: Sequence[Any]) -> tuple[LinearForm | None, Places]:
        """The number whose digits are among the indices, and the positions of the digits."""
        found: dict[int, tuple[Digit, int]] = {}
        for axis, index in enumerate(indices):
            digit = self.digit(index)
            if digit.divisor != 1 or digit.modulus is not None:
                found.setdefault(digit.divisor, (digit, axis))
        if 1 not in found:
            return None, ()
        form = found[1][0].form
        places = []
        divisor: int | None = 1
        while divisor is not None:
            if divisor not in found or found[divisor][0].form != form:
                low, high = self.bounds(form)
                if low is None or high is None or low < 0 or high >= divisor:
                    return None, ()
                break
            digit, axis = found[divisor]
            places.append((axis, digit.divisor, digit.modulus))
            divisor = digit.modulus
        return (form, tuple(places)) if form.exact else (None, ())

    def digit(self, expr: Any) -> Digit:
        """An index as `form % modulus // divisor`."""
        kind = type(expr)
        if kind is tirx.Var:
            value = self.values.get(expr.__chandle__())
            if value is not None:
                return self.digit(value)
        elif kind is ir.FloorDiv or kind is ir.FloorMod:
            by = integer(expr.b)
            if by is not None and by > 0:
                form, modulus, divisor = self.digit(expr.a)
                if kind is ir.FloorDiv and (modulus is None or modulus % (divisor * by) == 0):
                    return Digit(form, modulus, divisor * by)
                if kind is ir.FloorMod and (modulus is None or modulus % (divisor * by) == 0):
                    return Digit(form, divisor * by, divisor)
        return Digit(self.form(expr), None, 1)


LEAVES = frozenset({tirx.Var, tirx.IntImm, tirx.FloatImm, ir.StringImm})

FIELDS: Mapping[type, tuple[str, ...]] = {
    ir.Cast: ("value",),
    ir.Not: ("a",),
    ir.BitwiseNot: ("a",),
    ir.Select: ("condition", "true_value", "false_value"),
    ir.Let: ("value", "body"),
    ir.Ramp: ("base", "stride", "lanes"),
    ir.Broadcast: ("value", "lanes"),
}
"""The fields with the operands of an expression, if they are not named `a` and `b`."""


def integer(expr: Any) -> int | None:
    """The value of an integer literal, or None."""
    return int(expr.value) if isinstance(expr, tirx.IntImm) else None


def variables_of(form: LinearForm) -> frozenset[int]:
    """The variables that a form depends on."""
    return form.within | frozenset(form.terms)


def _plus(a: LinearForm, b: LinearForm) -> LinearForm:
    terms = dict(a.terms)
    for var, coefficient in b.terms.items():
        terms[var] = terms.get(var, 0) + coefficient
    kept = {var: coefficient for var, coefficient in terms.items() if coefficient}
    return LinearForm(a.const + b.const, kept, a.exact and b.exact, a.within | b.within)


def _times(form: LinearForm, factor: int) -> LinearForm:
    if factor == 1:
        return form
    if factor == 0:
        return LinearForm(0, {})
    terms = {var: coefficient * factor for var, coefficient in form.terms.items()}
    return LinearForm(form.const * factor, terms, form.exact, form.within)
