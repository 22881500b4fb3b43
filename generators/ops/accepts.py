"""Values of operands that an operator is meant for: indices inside a tensor, divisors, rows.

The rules are for the field `accepts` of the operators' records. They guide the choice of arguments.
The field `undefined` tells which results are undefined.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from .undefined import updates


class TensorCondition(enum.StrEnum):
    """Conditions on a whole tensor, besides the range of its elements."""

    ANY = "any"
    NONZERO = "no zeros"
    DISTINCT = "no element twice along an axis"
    DIFFERENT = "no element twice"
    INCREASING = "strictly increasing"
    DISTRIBUTION = "rows that add up to 1"


@dataclass(frozen=True, slots=True)
class Accepted:
    """The values that one operand is meant to have."""

    low: float = -math.inf
    high: float = math.inf
    form: TensorCondition = TensorCondition.ANY
    axis: int = 0
    """The axis of `TensorCondition.DISTINCT`."""

    @property
    def is_index(self) -> bool:
        """True if the range is bounded on both sides and all integers in it are acceptable."""
        return math.isfinite(self.low) and math.isfinite(self.high)

    def and_(self, other: Accepted) -> Accepted:
        """The intersection of both; the range of `other` if the intersection is empty."""
        form, axis = (
            (self.form, self.axis)
            if other.form is TensorCondition.ANY
            else (other.form, other.axis)
        )
        low, high = max(self.low, other.low), min(self.high, other.high)
        if low > high:
            low, high = other.low, other.high
        return Accepted(low, high, form, axis)


Place: TypeAlias = tuple[int, ...]
"""An operand, `(1,)`, or a field of one that is a tuple, `(1, 0)`."""

Shape: TypeAlias = "tuple[int, ...] | list[Shape] | None"
"""The shape of a tensor; a list for a tuple of tensors; None if it is no tensor, or not known."""

AcceptRule = Callable[[Sequence[Any], Any], Mapping[Place, Accepted]]
"""`rule(shapes, attrs)`: accepted values for each operand that does not accept all.

It may raise IndexError, TypeError and ValueError if the shapes do not fit the rule.
"""


def index(size: int, *, negative: bool = False) -> Accepted:
    """An index into an axis of this size.

    Args:
        negative: the index may count from the end.
    """
    return Accepted(-size if negative else 0, size - 1)


def along_axis(shapes: Sequence[Any], attrs: Any) -> Mapping[Place, Accepted]:
    """Operand 1 indexes the axis of operand 0."""
    axis = getattr(attrs, "axis", None)
    return {(1,): index(shapes[0][0 if axis is None else int(axis)])}


def take(shapes: Sequence[Any], attrs: Any) -> Mapping[Place, Accepted]:
    """Every mode but "fast" defines all indices."""
    return along_axis(shapes, attrs) if str(attrs.mode) == "fast" else {}


def taken_back(shapes: Sequence[Any], attrs: Any) -> Mapping[Place, Accepted]:
    """In the gradient of take operand 2 indexes the axis of operand 1."""
    return _second(along_axis(shapes[1:], attrs))


def _second(found: Mapping[Place, Accepted]) -> Mapping[Place, Accepted]:
    """The same values for operands whose positions are shifted by one."""
    return {(place[0] + 1, *place[1:]): accepted for place, accepted in found.items()}


def leading_axes(shapes: Sequence[Any], attrs: Any) -> Mapping[Place, Accepted]:
    """Rows of operand 1 index several axes of operand 0; the smallest bounds them all."""
    x, indices = shapes[:2]
    batch = int(getattr(attrs, "batch_dims", 0))
    return {(1,): index(min(x[batch : batch + indices[-1]]))}


def one_tensor_an_axis(shapes: Sequence[Any], attrs: Any) -> Mapping[Place, Accepted]:
    """Each field of operand 1 indexes one axis of operand 0."""
    return {
        (1, axis): index(size, negative=True)
        for axis, (size, _) in enumerate(zip(shapes[0], shapes[1], strict=False))
    }


def scattered_along_axis(shapes: Sequence[Any], attrs: Any) -> Mapping[Place, Accepted]:
    """Two updates of one place have no order."""
    axis, size = int(attrs.axis), shapes[0][int(attrs.axis)]
    if updates(attrs):
        return {(1,): Accepted(0, size - 1, TensorCondition.DISTINCT, axis)}
    return {(1,): index(size, negative=True)}


def scattered_rows(shapes: Sequence[Any], attrs: Any) -> Mapping[Place, Accepted]:
    found = leading_axes(shapes, attrs)[1,]
    distinct = updates(attrs) and len(shapes[1]) > 1
    form = TensorCondition.DISTINCT if distinct else TensorCondition.ANY
    return {(1,): Accepted(found.low, found.high, form, -2)}


def put(shapes: Sequence[Any], attrs: Any) -> Mapping[Place, Accepted]:
    form = TensorCondition.ANY if attrs.accumulate else TensorCondition.DISTINCT
    return {
        place: Accepted(0, accepted.high, form)
        for place, accepted in one_tensor_an_axis(shapes, attrs).items()
    }


def depth(shapes: Sequence[Any], attrs: Any) -> Mapping[Place, Accepted]:
    """A class of one_hot; an index outside the depth has no hot element."""
    return {(0,): index(int(attrs.depth))}


def classes(shapes: Sequence[Any], attrs: Any) -> Mapping[Place, Accepted]:
    """Operand 1 holds classes, which are axis 1 of operand 0; operand 2 holds their weights."""
    size = shapes[0][1 if len(shapes[0]) > 1 else 0]
    return {(1,): index(size), (2,): Accepted(0.125)}


def classes_of_gradient(shapes: Sequence[Any], attrs: Any) -> Mapping[Place, Accepted]:
    return _second(classes(shapes[1:], attrs))


def lengths(shapes: Sequence[Any], attrs: Any) -> Mapping[Place, Accepted]:
    """Operand 1 holds lengths of sequences of operand 0."""
    return {(1,): index(shapes[0][int(attrs.seq_axis)] + 1)}


def without_ties(shapes: Sequence[Any], attrs: Any) -> Mapping[Place, Accepted]:
    """Operand 1 holds numbers of which the largest is looked for."""
    return {(1,): Accepted(form=TensorCondition.DIFFERENT)}


def sorted_boundaries(shapes: Sequence[Any], attrs: Any) -> Mapping[Place, Accepted]:
    return {(1,): Accepted(form=TensorCondition.INCREASING)}


def samples(shapes: Sequence[Any], attrs: Any) -> Mapping[Place, Accepted]:
    """Rows of probabilities, uniform samples, and the row that each sample is for."""
    return {
        (0,): Accepted(0, 1, TensorCondition.DISTRIBUTION),
        (1,): Accepted(0, 0.875),
        (2,): index(shapes[0][0]),
    }


def divisor(shapes: Sequence[Any], attrs: Any) -> Mapping[Place, Accepted]:
    return {(1,): Accepted(form=TensorCondition.NONZERO)}


def count(shapes: Sequence[Any], attrs: Any) -> Mapping[Place, Accepted]:
    """A shift that is less than the width of any integer."""
    return {(1,): Accepted(0, 7)}


def nonzero(shapes: Sequence[Any], attrs: Any) -> Mapping[Place, Accepted]:
    return {(0,): Accepted(form=TensorCondition.NONZERO)}


def strides(shapes: Sequence[Any], attrs: Any) -> Mapping[Place, Accepted]:
    """Bounds of a slice and its step, which is not 0."""
    return {(3,): Accepted(1, 2)}


def representable(shapes: Sequence[Any], attrs: Any) -> Mapping[Place, Accepted]:
    """Floats that the target dtype can hold, if it is an integer dtype."""
    dtype = str(attrs.dtype)
    if "int" not in dtype:
        return {}
    info = np.iinfo(dtype)
    # Bounds that float16 holds, too: most floats round the last integers of the dtype up.
    return {(0,): Accepted(max(int(info.min), -(2**15)), min(int(info.max) // 2, 2**15))}
