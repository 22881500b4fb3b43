"""Comparison of results: structure, shapes and dtypes exactly, numbers up to rounding."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from ...generators.ops.record import Tolerance
from ..errors import Unsupported

SENSITIVITY = 16
"""Multiple of the smallest perturbation's effect up to which a difference counts as rounding."""

SENSITIVITY_OF_SHORT = 2
"""The same multiple for floats shorter than float32. A perturbation moves a bfloat16 by 3 %. With a
multiple of 16 that is half of the value, so 3 would pass for 2."""

COARSE = math.inf
"""The multiple at which a perturbation has the size of a cast to float16."""


def _moved_up(size: int, phase: int) -> Any:
    if phase > 3:
        return np.random.default_rng(phase).random(size) < 0.5
    shift, turn = phase % 2, phase // 2
    return ((np.arange(size) >> shift) + shift + turn) % 2 == 0


def perturbed(value: Any, phase: int = 0, times: float = 1) -> Any:
    """The value with floats moved by a few units in the last place, some up, some down.

    Args:
        phase: chooses the elements to move up; 2 moves up those that 0 moves down. From 4 on it is
            the seed of a random choice.
        times: multiplies the distance, which is at most that of a cast to float16.

    Raises:
        Unsupported: a cast to float16 would make a number infinite.
    """
    if isinstance(value, tuple | list):
        return tuple(perturbed(item, phase, times) for item in value)
    if not isinstance(value, np.ndarray) or not is_float(value) or value.size == 0:
        return value
    signs = np.where(_moved_up(value.size, phase), 1.0, -1.0).reshape(value.shape)
    info = ml_dtypes.finfo(value.dtype)
    unit = float(info.eps)
    most = max(unit, float(ml_dtypes.finfo(np.float16).eps))
    step = 4 * min(times * unit, most)
    exact = value.astype("float64")
    # All subnormal numbers are equally far apart; a zero is not moved.
    least = np.where(exact == 0, 0.0, 4 * float(info.smallest_subnormal))
    size = np.where(np.isfinite(exact), np.maximum(step * np.abs(exact), least), 0.0)
    moved = exact + signs * size
    largest = float(ml_dtypes.finfo(np.float16).max)
    if times == COARSE and (np.abs(moved[np.isfinite(moved)]) > largest).any():
        raise Unsupported("numbers beyond those of float16")
    # Arithmetic turns a tensor of rank 0 into a scalar, which no parameter takes.
    return np.asarray(moved, value.dtype)


def finite(value: Any) -> bool:
    """True if there is neither NaN nor infinity anywhere."""
    return all(bool(np.isfinite(x).all()) for _, x in leaves(value) if is_float(x))


def exact(value: Any) -> bool:
    """True for small multiples of 1/8: sums and products of a few are exact in every float."""
    for _, leaf in leaves(value):
        if is_float(leaf):
            eighths = leaf.astype("float64") * 8
            if not ((eighths == np.rint(eighths)) & (np.abs(eighths) <= 2048)).all():
                return False
    return True


def difference(
    expected: Any, actual: Any, shaken: Sequence[Any] = (), tolerance: Tolerance | None = None
) -> str | None:
    """The first difference as text, or None.

    Args:
        expected: the reference result.
        actual: the result to judge.
        shaken: reference results with every operator's result `perturbed`. Elements that move in
            them may differ by as much (the `argmax` of near equals, the `floor` of nearly a whole
            number).
        tolerance: bounds by dtype; None for the default.
    """
    bounds = tolerance or Tolerance()
    left, right = list(leaves(expected)), list(leaves(actual))
    if [path for path, _ in left] != [path for path, _ in right]:
        return f"structure: expected {len(left)} tensors but got {len(right)}"
    moved = [dict(leaves(one)) for one in shaken]
    for (path, want), (_, got) in zip(left, right, strict=True):
        if callable(want) or callable(got):
            return "structure: a function is no value to compare"
        if want.dtype != got.dtype:
            return f"dtype: expected {want.dtype} but got {got.dtype}"
        if want.shape != got.shape:
            return f"shape: expected {want.shape} but got {got.shape}"
        others = [other for one in moved if (other := one.get(path)) is not None]
        # A rounding that decides a shape decides all elements, too.
        if any(other.shape != want.shape for other in others):
            continue
        if not _close(want, got, others, bounds):
            return f"values: expected {_text(want)} but got {_text(got)}"
    return None


def where_same(expected: Any, others: Sequence[Any], actual: Any) -> Any:
    """The result to judge, with expected elements at positions where the other results differ.

    A tensor of another shape or dtype than expected stays as it is.
    """
    if isinstance(expected, tuple | list):
        if not isinstance(actual, tuple | list) or len(actual) != len(expected):
            return actual
        parts = zip(expected, zip(*others, strict=True), actual, strict=True)
        return [where_same(*part) for part in parts]
    want, got = np.asarray(expected), np.asarray(actual)
    if callable(expected) or callable(actual) or (want.shape, want.dtype) != (got.shape, got.dtype):
        return actual
    same = np.ones(want.shape, "bool")
    for other in others:
        if np.asarray(other).shape != want.shape:
            return expected
        same &= (want == other) | ((want != want) & (other != other))
    return np.where(same, got, want)


def leaves(value: Any, path: tuple[int, ...] = ()) -> Iterator[tuple[tuple[int, ...], Any]]:
    if isinstance(value, tuple | list):
        for index, item in enumerate(value):
            yield from leaves(item, (*path, index))
    else:
        yield path, value if callable(value) else np.asarray(value)


def _close(want: Any, got: Any, moved: Sequence[Any], bounds: Tolerance) -> bool:
    if not want.dtype.hasobject and np.array_equal(bits(want), bits(got)):
        return True  # this takes no time even for millions of numbers
    if not is_float(want):
        firm = np.ones(want.shape, "bool")
        for other in moved:
            firm &= want == other
        return bool(np.array_equal(want[firm], got[firm]))
    a, b = want.astype("float64"), got.astype("float64")
    allowed = getattr(bounds, str(want.dtype), bounds.float16) * (1 + np.abs(a))
    times = sensitivity(want)
    with np.errstate(invalid="ignore"):
        for other in moved:
            allowed = np.fmax(allowed, times * np.abs(a - other.astype("float64")))
        near = np.isfinite(a) & (np.abs(a - b) <= allowed)
        return bool((near | (np.isnan(a) & np.isnan(b)) | (a == b)).all())


def sensitivity(array: Any) -> int:
    """The multiple of the smallest perturbation's effect on an array that counts as rounding."""
    return SENSITIVITY if array.dtype.itemsize >= 4 else SENSITIVITY_OF_SHORT


def bits(array: Any) -> Any:
    """The content of an array of numbers, as bytes."""
    return np.ascontiguousarray(array).reshape(-1).view("uint8")


def is_float(value: Any) -> bool:
    if callable(value):  # a function, also inside a tuple
        return False
    return bool(value.dtype.kind == "f" or value.dtype.name.startswith(("bfloat", "float")))


def _text(value: Any) -> str:
    return np.array2string(value, threshold=12, precision=6).replace("\n", " ")[:200]
