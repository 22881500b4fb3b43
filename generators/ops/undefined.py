"""Operands for which an operator's result is undefined: neither NumPy nor a VM is wrong there.

The rules are for the field `undefined` of the operators' records.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np


class Behaviour(enum.StrEnum):
    """The reason why an operator's result for its operands is undefined.

    All but `OPEN` and `KIND` are undefined behaviour of the compiled code: a pass must not bring
    them into a module that was defined. In LLVM, whose rules TVM's kernels follow, a division by
    zero is undefined at once, and a shift or a conversion gives poison (LangRef: `sdiv`, `shl`,
    `fptosi`).

    Integers of 8 and 16 bits and unsigned ones wrap around. Signed ones of 32 and 64 bits are added
    and multiplied with `nsw` (codegen_llvm.cc), and TVM's simplifier assumes that they do not
    overflow (rewrite_simplify.cc: `IsIndexType`). So a module whose own sums overflow has no result
    that a pass must keep. But a pass may reorder sums, and sums do wrap around at run time. An
    overflow that a pass introduces is therefore wrong only if the values differ, and in PrimFuncs
    only if the simplifier did not introduce it.
    """

    OPEN = "nothing is promised"
    KIND = "nothing is promised for such numbers"
    DIVISION = "division of an integer by zero"
    OVERFLOW = "overflow of a signed integer"
    SHIFT = "shift by the width or more"
    CONVERSION = "conversion to an integer that cannot hold the number"
    INDEX = "index outside"


UndefinedRule = Callable[[Sequence[Any], Any, Any], bool | Behaviour]
"""`rule(args, attrs, result)`: true if the result is undefined; True stands for `Behaviour.OPEN`.

The operands are as for the reference; `result` is its result for them. `attrs` may be None: then
a result that is undefined for some attributes counts as undefined.
"""


def arrays(args: Sequence[Any]) -> list[Any]:
    """The tensors among the operands, including those in tuples."""
    found: list[Any] = []
    for arg in args:
        if isinstance(arg, np.ndarray):
            found.append(arg)
        elif isinstance(arg, tuple | list):
            found += arrays(arg)
    return found


_MAY_OVERFLOW = ("int32", "int64")


class OutsideError(IndexError):
    """An operand of a reference is an index outside of the operand that it indexes."""


class _Wide:
    """Attributes of a call in float64: the dtypes of its result and its sum are float64."""

    def __init__(self, attrs: Any) -> None:
        self._attrs = attrs

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._attrs, name)
        return value if value is None or name not in ("dtype", "out_dtype") else "float64"


def overflowed(
    reference: Callable[[Sequence[Any], Any], Any],
    places: Sequence[int],
    args: Sequence[Any],
    attrs: Any,
    result: Any,
) -> bool:
    """True if a sum or product of signed 32-bit or 64-bit integers has wrapped around.

    It has if it differs from the float64 result by at least half of the range: wrapping shifts a
    number by a multiple of the range, and rounding to float64 by far less.

    Args:
        places: the places of the operands that are added or multiplied.
    """
    results = result if isinstance(result, tuple) else (result,)
    if not places or all(str(each.dtype) not in _MAY_OVERFLOW for each in results):
        return False
    wide = [_in_float64(arg) if at in places else arg for at, arg in enumerate(args)]
    found = reference(wide, None if attrs is None else _Wide(attrs))
    pairs = zip(results, found if isinstance(found, tuple) else (found,), strict=True)
    return any(map(_wrapped, *zip(*pairs, strict=True)))


def _in_float64(arg: Any) -> Any:
    if isinstance(arg, tuple | list):
        return tuple(map(_in_float64, arg))
    return arg.astype("float64") if isinstance(arg, np.ndarray) else arg


def _wrapped(result: Any, exact: Any) -> bool:
    if str(result.dtype) not in _MAY_OVERFLOW:
        return False
    half = 2.0 ** (8 * result.dtype.itemsize - 1)
    with np.errstate(all="ignore"):  # infinity minus infinity counts as out of range, too
        return not bool((np.abs(exact - result.astype("float64")) < half).all())


def is_float(value: Any) -> bool:
    """True for a tensor of floats, including bfloat16."""
    return isinstance(value, np.ndarray) and value.dtype.kind not in "iub"


def division(args: Sequence[Any], attrs: Any, result: Any) -> bool | Behaviour:
    """Integers: x / 0, and a quotient that does not fit. Floats: a zero's sign is not defined."""
    x, y = args[:2]
    if bool((y == 0).any()):
        return is_float(y) or Behaviour.DIVISION
    if y.dtype.kind == "i" and bool(((x == np.iinfo(x.dtype).min) & (y == -1)).any()):
        return Behaviour.OVERFLOW
    return False


NEAR_POLE = 0.07
"""Cosine of about 1.5."""


def zero_operand(args: Sequence[Any], attrs: Any, result: Any) -> bool:
    """The infinity has the sign of the zero, which is not defined."""
    return bool((args[0] == 0).any())


def pole(args: Sequence[Any], attrs: Any, result: Any) -> bool:
    x, y = args[:2]
    return bool(((x == 0) & (y < 0)).any())


def near_pole_of_tangent(args: Sequence[Any], attrs: Any, result: Any) -> bool:
    """The distance from the pole is rounded, and the tangent is its inverse."""
    x = args[0].astype("float64")
    return bool((np.abs(np.cos(x[np.isfinite(x)])) < NEAR_POLE).any())


def angle_of_signed_zero(args: Sequence[Any], attrs: Any, result: Any) -> bool:
    """On the negative half of the axis the result has the sign of a zero."""
    y, x = args[:2]
    return bool(((y == 0) & (x <= 0)).any())


def too_wide_shift(args: Sequence[Any], attrs: Any, result: Any) -> bool | Behaviour:
    count = args[1]
    wide = bool(((count < 0) | (count >= 8 * count.dtype.itemsize)).any())
    return wide and Behaviour.SHIFT


def unrepresentable(args: Sequence[Any], attrs: Any, result: Any) -> bool | Behaviour:
    """A number that the integer cannot hold; NaN for integers and for bool."""
    x = args[0]
    if not is_float(x) or is_float(result):
        return False
    if result.dtype == np.bool_:
        return bool(np.isnan(x).any())
    return not holds(result.dtype, x).all() and Behaviour.CONVERSION


def holds(dtype: np.dtype[Any], x: Any) -> Any:
    """A mask of the elements whose whole part an integer of the dtype can hold."""
    # The end of the range is a power of two, which float64 holds; the last number below may not be.
    info, whole = np.iinfo(dtype), np.trunc(x.astype("float64"))
    return (float(info.min) <= whole) & (whole < float(info.max // 2 + 1) * 2)


def unrepresentable_fill(args: Sequence[Any], attrs: Any, result: Any) -> bool | Behaviour:
    """The second operand, with which the result is filled, does not fit the result's dtype."""
    return unrepresentable(args[1:], attrs, result)


# Indices. NumPy raises IndexError for indices past the end.


def _negative(tensor: Any) -> bool:
    return bool(tensor.dtype.kind == "i" and (tensor < 0).any())


def past_the_end(args: Sequence[Any], attrs: Any, result: Any) -> bool:
    """Negative indices count from the end."""
    return False


def negative_index(args: Sequence[Any], attrs: Any, result: Any) -> bool | Behaviour:
    return any(map(_negative, arrays(args[1:2]))) and Behaviour.INDEX


def negative_take(args: Sequence[Any], attrs: Any, result: Any) -> bool | Behaviour:
    """The modes clip and wrap define negative indices."""
    if attrs is not None and str(attrs.mode) in ("clip", "wrap"):
        return False
    return negative_index(args, attrs, result)


def negative_class(args: Sequence[Any], attrs: Any, result: Any) -> bool | Behaviour:
    targets = args[1]
    counted = targets if attrs is None else targets[targets != int(attrs.ignore_index)]
    return _negative(counted) and Behaviour.INDEX


def length_out_of_range(args: Sequence[Any], attrs: Any, result: Any) -> bool | Behaviour:
    """A length that is negative, or larger than the axis, leads to a read out of bounds."""
    x, lengths = args[:2]
    size = min(x.shape) if attrs is None else x.shape[int(attrs.seq_axis)]
    return bool(((lengths < 0) | (lengths > size)).any()) and Behaviour.INDEX


def updates(attrs: Any) -> bool:
    """True if the order of two updates of one place matters: the last one wins or counts more."""
    return attrs is None or str(attrs.reduction) in ("update", "mean")


def _open(args: Sequence[Any], attrs: Any, result: Any) -> bool:
    """A maximum or minimum with NaN among the operands; a sum that may leave the range."""
    reduction = "max" if attrs is None else str(getattr(attrs, "reduction", "add"))
    if reduction == "update":
        return False
    if reduction in ("max", "min"):
        return any(bool(np.isnan(x).any()) for x in filter(is_float, arrays(args)))
    return sum_overflow(args, attrs, result)


def repeated_element(args: Sequence[Any], attrs: Any, result: Any) -> bool:
    """Negative indices count from the end as in ONNX's operator, the model for this one."""
    x, indices = args[:2]
    axes = range(indices.ndim) if attrs is None else (int(attrs.axis),)
    again = any(_again(indices, axis, x.shape[axis]) for axis in axes)
    return (updates(attrs) and again) or _open(args, attrs, result)


def _again(indices: Any, axis: int, size: int) -> bool:
    """True if an index occurs twice along the axis, perhaps once as a negative number."""
    places = np.sort(np.where(indices < 0, indices + size, indices), axis=axis)
    return bool((np.diff(places, axis=axis) == 0).any())


def repeated_row(args: Sequence[Any], attrs: Any, result: Any) -> bool | Behaviour:
    places = args[1].reshape(-1, args[1].shape[-1])
    if _negative(places):
        return Behaviour.INDEX
    return (updates(attrs) and _repeated(places)) or _open(args, attrs, result)


def repeated_place(args: Sequence[Any], attrs: Any, result: Any) -> bool | Behaviour:
    places = np.stack(np.broadcast_arrays(*arrays(args[1:2]))).reshape(len(args[1]), -1).T
    if _negative(places):
        return Behaviour.INDEX
    if getattr(attrs, "accumulate", False):
        return _open(args, attrs, result)
    return _repeated(places)


INDEXED: frozenset[UndefinedRule | None] = frozenset(
    {past_the_end, negative_index, negative_take, repeated_element, repeated_row, repeated_place}
)
"""The rules of operators that take indices; the reference raises for indices outside."""


def _repeated(rows: Any) -> bool:
    return len(np.unique(rows, axis=0)) < len(rows)


def boundaries_not_increasing(args: Sequence[Any], attrs: Any, result: Any) -> bool:
    """The documentation asks for strictly increasing boundaries."""
    return not bool((np.diff(args[1]) > 0).all())


def any_of(*rules: UndefinedRule | None) -> UndefinedRule:
    """The first of the rules, in this order, that finds the result undefined."""
    given = [rule for rule in rules if rule is not None]

    def asked(args: Sequence[Any], attrs: Any, result: Any) -> bool | Behaviour:
        found = (rule(args, attrs, result) for rule in given)
        return next((each for each in found if each), False)

    return asked


def two_dtypes(args: Sequence[Any], attrs: Any, result: Any) -> bool:
    """Type inference accepts some pairs of dtypes for which no document names a result."""
    return len({tensor.dtype for tensor in arrays(args[:2])}) > 1


def no_distribution(args: Sequence[Any], attrs: Any, result: Any) -> bool | Behaviour:
    """True unless each row adds up to 1, samples are in [0, 1), and each sample has its row."""
    prob, sample = (arg.astype("float64") for arg in args[:2])
    rows = args[2]
    if bool(((rows < 0) | (rows >= len(prob))).any()):
        return Behaviour.INDEX
    sums = prob.sum(axis=-1)
    return not bool(
        (prob >= 0).all()
        and (np.abs(sums - 1) < 1e-3).all()
        and (sample >= 0).all()
        and (sample < 1).all()
    )


def tie(args: Sequence[Any], attrs: Any, result: Any) -> bool:
    """The maximum may be any of several equal elements."""
    return bool(len(np.unique(args[1])) < args[1].size)


# Sums


def sum_overflow(args: Sequence[Any], attrs: Any, result: Any) -> bool:
    """Intermediate sums and squares may leave the range of the floats in some order."""
    for tensor in filter(is_float, arrays(args)):
        low, high = finite_range(tensor)
        if max(-low, high) > float(ml_dtypes.finfo(tensor.dtype).max) ** 0.5 / 16:
            return True
    return False


def finite_range(tensor: Any) -> tuple[float, float]:
    """The least and the largest of the finite elements; (0, 0) if there are none."""
    if tensor.size and tensor.dtype.kind == "f":  # without a copy, where all are finite
        low, high = float(tensor.min()), float(tensor.max())
        if np.isfinite(low) and np.isfinite(high):
            return low, high
    finite = tensor[np.isfinite(tensor)].astype("float64")
    return (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)


def cancelling(args: Sequence[Any], attrs: Any, result: Any) -> bool:
    """A variance may be the difference of two numbers that are equal up to rounding.

    TVM's code and others' compute it as the mean of the squares minus the square of the mean.
    """
    x = args[0]
    if is_float(x) and x.size:
        finite = np.abs(x[np.isfinite(x)].astype("float64"))
        # The squares may use half of the precision.
        if finite.size and finite.max() > 2.0 ** (ml_dtypes.finfo(x.dtype).nmant // 2):
            return True
    return average(args, attrs, result)


def average(args: Sequence[Any], attrs: Any, result: Any) -> bool:
    return any(x.size == 0 for x in arrays(args)) or sum_overflow(args, attrs, result)


def accumulation(args: Sequence[Any], attrs: Any, result: Any) -> bool:
    """The dtype of the sum cannot hold the operands; no document says when they are converted."""
    tensors = arrays(args)
    lossy = not all(np.can_cast(x.dtype, result.dtype) for x in tensors)
    if is_float(result) and tensors and not any(map(is_float, tensors)):
        # Products of whole numbers, which the float may round.
        products = np.prod([np.abs(x.astype("float64")).max(initial=0) for x in tensors])
        lossy = lossy or bool(products > 2.0 ** ml_dtypes.finfo(result.dtype).nmant / 16)
    return lossy or result.dtype == np.bool_ or sum_overflow(args, attrs, result)
