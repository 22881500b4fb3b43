"""Random arrays, and the expressions that remake large ones.

Reproducers and messages never write out an array of more than `LARGE` elements. A large argument is
made by evaluating an expression, which a reproducer contains instead of the numbers.
"""

from __future__ import annotations

import functools
import hashlib
import math
from collections import OrderedDict
from types import CodeType
from typing import Any

import numpy as np

from .comparison import bits

LARGE = 1000
"""Limit of the elements of an array that is written out."""

MOST = 1 << 25
"""Limit of the elements of one call's arguments, as a check holds several sets of arguments."""

PERIOD = 8191
"""Period of the random numbers in a large array, since drawing millions takes seconds. It is prime,
so two rows or columns are hardly ever equal."""

REMEMBERED = 4096
"""Number of expressions that are kept."""


def random(template: str, rng: np.random.Generator, shape: tuple[int, ...], dtype: Any) -> Any:
    """An array of random numbers.

    Args:
        template: an expression of `rng`, `shape` and `np`.
        rng: gives a large array its seed; each `rng` of the template starts from it.
    """
    if math.prod(shape) <= LARGE:
        numbers = eval(_compiled(template), {"np": np, "rng": rng, "shape": shape})
        return np.asarray(numbers).astype(dtype)
    own = f"np.random.default_rng({rng.integers(1 << 16)})"
    name = f'"{dtype}"' if dtype.kind in "fiub" else f'np.dtype("{dtype}")'
    numbers = template.replace("rng", own).replace("shape", str(PERIOD))
    text = f"np.resize({numbers}.astype({name}), {shape})"
    array = eval(text, {"np": np})
    _made[_digest(array)] = text
    if len(_made) > REMEMBERED:
        _made.popitem(last=False)
    return array


def recipe(array: Any) -> str | None:
    """The expression that remakes a large array, bit by bit; None if no expression made it."""
    return _made.get(_digest(array))


def is_large(value: Any) -> bool:
    """True if the value contains an array that is not written out."""
    if isinstance(value, tuple | list):
        return any(map(is_large, value))
    return isinstance(value, np.ndarray) and value.size > LARGE


_made: OrderedDict[tuple[Any, ...], str] = OrderedDict()
"""Expressions by the content of an array: copies are recognised, changed arrays are not."""


def _digest(array: Any) -> tuple[Any, ...]:
    content = hashlib.blake2b(bits(array).data, digest_size=16).digest()
    return array.shape, str(array.dtype), content


@functools.lru_cache(maxsize=256)
def _compiled(template: str) -> CodeType:
    return compile(template, "<random>", "eval")
