"""Comparison of results: structure, shapes, dtypes exactly; numbers up to rounding."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np

from ..generators.ops.record import Tolerance

SENSITIVITY = 16
"""How many times the effect of the smallest perturbation is still rounding."""


def perturbed(value: Any) -> Any:
    """Floats moved by a few units in the last place, up and down in turn; the rest as it is."""
    if isinstance(value, tuple | list):
        return tuple(map(perturbed, value))
    if not isinstance(value, np.ndarray) or not _is_float(value) or value.size == 0:
        return value
    signs = np.where(np.arange(value.size) % 2 == 0, 1.0, -1.0).reshape(value.shape)
    step = 4 * float(_info(value.dtype).eps)
    return (value.astype("float64") * (1 + step * signs)).astype(value.dtype)


def finite(value: Any) -> bool:
    """No NaN and no infinity anywhere."""
    return all(
        bool(np.isfinite(x.astype("float64")).all()) for _, x in leaves(value) if _is_float(x)
    )


def difference(
    expected: Any, actual: Any, sensitive: Any = None, tolerance: Tolerance | None = None
) -> str | None:
    """What the first difference is, or None.

    Args:
        expected: the reference result.
        actual: the result to judge.
        sensitive: the reference result with every operator's result `perturbed`; elements that
            move with it are allowed to differ by as much (an `argmax` between near equals, a
            `floor` of nearly a whole number).
        tolerance: bounds by dtype; None for the default.
    """
    bounds = tolerance or Tolerance()
    left, right = list(leaves(expected)), list(leaves(actual))
    if [path for path, _ in left] != [path for path, _ in right]:
        return f"structure: expected {len(left)} tensors but got {len(right)}"
    moved = dict(leaves(sensitive)) if sensitive is not None else {}
    for (path, want), (_, got) in zip(left, right, strict=True):
        if want.dtype != got.dtype:
            return f"dtype: expected {want.dtype} but got {got.dtype}"
        if want.shape != got.shape:
            return f"shape: expected {want.shape} but got {got.shape}"
        if not _close(want, got, moved.get(path), bounds):
            return f"values: expected {_text(want)} but got {_text(got)}"
    return None


def leaves(value: Any, path: tuple[int, ...] = ()) -> Iterator[tuple[tuple[int, ...], Any]]:
    if isinstance(value, tuple | list):
        for index, item in enumerate(value):
            yield from leaves(item, (*path, index))
    else:
        yield path, value if callable(value) else np.asarray(value)


def _close(want: Any, got: Any, moved: Any, bounds: Tolerance) -> bool:
    if not _is_float(want):
        if moved is None or np.array_equal(want, moved):
            return bool(np.array_equal(want, got))
        return bool(np.array_equal(want[want == moved], got[want == moved]))
    a, b = want.astype("float64"), got.astype("float64")
    relative = getattr(bounds, str(want.dtype), bounds.float16)
    allowed = relative * (1 + np.abs(a))
    if moved is not None and moved.shape == want.shape:
        allowed = allowed + SENSITIVITY * np.abs(a - moved.astype("float64"))
    with np.errstate(invalid="ignore"):
        near = np.isfinite(a) & (np.abs(a - b) <= allowed)
        return bool((near | (np.isnan(a) & np.isnan(b)) | (a == b)).all())


def _is_float(value: Any) -> bool:
    return bool(value.dtype.kind == "f" or value.dtype.name.startswith(("bfloat", "float")))


def _info(dtype: Any) -> Any:
    return ml_dtypes.finfo(dtype)


def _text(value: Any) -> str:
    return np.array2string(value, threshold=12, precision=6).replace("\n", " ")[:200]
