"""Operators on corner-case operands of rewrite rules: equal ones, all zeros, scalars."""

from __future__ import annotations

import dataclasses
import functools
import math

import numpy as np
from tvm import relax, tirx

from .choices import Choices
from .ops.record import BRAIN, FLOATS, Op
from .ops.variation import Variation, accepted
from .scope import Scope
from .traits import Trait
from .values import Value, uniform, value_of

BYTES = 6
"""Bytes for the decisions about one call."""
OFTEN = 0.4
"""The share of the calls that are changed if the module has the trait."""
UNIFORM = (
    *(0.0, 1.0, -1.0, 100.0, 2.0, 0.5, 3.0, 2.5),
    *(-2.0, -1.5, 0.1, math.nan, math.inf, -math.inf, 1e4, 1e-4),
    *(1.0, 0.0, 1.0, 0.0, 1.0, -0.0),
)
"""Values of uniform constants: neutral and absorbing ones, which passes look for most; values
beyond most bounds; fractions next to the whole numbers that passes look for; special values; zeros
of both signs, which compare equal but divide differently."""
INEXACT = (2**24 + 1, 2**53 + 1)
"""The first whole numbers that float32 and float64 round: integers computed in floats lose bits."""
LARGEST = 256
"""The most elements of a constant."""


@functools.lru_cache(maxsize=4096)
def cornered(op: Op) -> Op:
    """The operator; if the module has the trait for it, often on such operands."""
    integers = op.elementwise  # operands of other operators may be indices

    def build(c: Choices, s: Scope) -> relax.Expr:
        part = c.part(BYTES)
        call = op.build(c, s)
        if not isinstance(call, relax.Call) or not part.flag(OFTEN):
            return call
        operands = {
            at: x
            for at, arg in enumerate(call.args)
            if (x := value_of(arg)) is not None and (x.dtype in FLOATS or integers)
        }
        traits = [
            each for each in _CHANGES if s.has(each) and (op.numbers or each is not Trait.NUMBERS)
        ]
        changed = _CHANGES[part.pick(traits)](part, operands) if traits else {}
        found = accepted(s, call, Variation({(at,): x for at, x in changed.items()}))
        return call if found is None else found[0]

    return dataclasses.replace(op, build=build)


def _equal(c: Choices, operands: dict[int, Value]) -> dict[int, relax.Expr]:
    """One operand in place of another of its dtype."""
    pairs = [
        {at: x.expr}
        for at, y in operands.items()
        for x in operands.values()
        if x is not y and x.dtype == y.dtype
    ]
    return c.pick(pairs) if pairs else {}


def _uniform(c: Choices, operands: dict[int, Value]) -> dict[int, relax.Expr]:
    """A constant of one value in place of an operand; sometimes in place of the others, too."""
    places = [
        (at, tuple(int(dim) for dim in x.shape or ()), x.dtype)
        for at, x in operands.items()
        if x.static and x.dtype is not None and x.vdevice is None
    ]
    places = [place for place in places if 0 < np.prod(place[1], dtype="int64") <= LARGEST]
    if not places:
        return {}
    one, form = c.pick(places), c.below(8)
    chosen = places[:3] if form == 7 else [one]
    changed: dict[int, relax.Expr] = {}
    for (at, shape, dtype), which in zip(chosen, c.picks(range(32), len(chosen)), strict=True):
        values = _uniform_values(dtype)
        changed[at] = uniform(() if form in (5, 6) else shape, values[which % len(values)], dtype)
    return changed


def _number(c: Choices, operands: dict[int, Value]) -> dict[int, relax.Expr]:
    """A number in place of an operand."""
    dtypes = {x.dtype for x in operands.values()}
    if len(dtypes) != 1 or (dtype := dtypes.pop()) is None or dtype in BRAIN:
        return {}
    values = [x for x in _uniform_values(dtype) if math.isfinite(x)]
    return {c.pick(list(operands)[::-1]): relax.prim_value(tirx.const(c.pick(values), dtype))}


_CHANGES = {
    Trait.EQUAL_OPERANDS: _equal,
    Trait.UNIFORM_CONSTANTS: _uniform,
    Trait.NUMBERS: _number,
}
TRAITS = tuple(_CHANGES)


@functools.cache
def _uniform_values(dtype: str) -> tuple[float, ...]:
    """The uniform values that a dtype can hold, floats perhaps only approximately."""
    kind = np.dtype(dtype).kind
    if kind not in "iub":
        return UNIFORM
    if kind == "b":
        return (0, 1)
    bounds = np.iinfo(dtype)
    whole = [int(x) for x in UNIFORM if math.isfinite(x) and x == int(x)]
    ends = (bounds.max, bounds.min, bounds.max - 1)
    return tuple(x for x in (*whole, *INEXACT, *ends) if bounds.min <= x <= bounds.max)
