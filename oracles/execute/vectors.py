"""Buffers of vectors such as `float32x4`: in NumPy, the scalars are an array's last axis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tvm import tirx

from ..tensorir.values import width_of


def vectors_of(func: Any) -> dict[int, str]:
    """The dtypes of the PrimFunc parameters that are buffers of vectors, by position; empty for
    other functions."""
    if not isinstance(func, tirx.PrimFunc):
        return {}
    types = enumerate(param.ty for param in func.params)
    return {
        at: str(ty.dtype)
        for at, ty in types
        if isinstance(ty, tirx.BufferType) and width_of(ty.dtype) > 1
    }


def with_vectors(tensors: Sequence[Any], vectors: Mapping[int, str]) -> list[Any]:
    """The arguments of compiled code: those of `vectors_of` as tensors of vectors."""
    given = list(tensors)
    for at, dtype in vectors.items():
        given[at] = given[at]._create_view(given[at].shape[:-1], dtype)
    return given
