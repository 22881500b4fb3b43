"""Buffers of vectors, as `float32x4`: in NumPy, the last axis of an array has their scalars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tvm import tirx

from ..errors import Unsupported
from ..tensorir.packed_api import is_packed, parameters
from ..tensorir.values import width_of


def vectors_of(func: Any) -> dict[int, str]:
    """The dtypes of the parameters of a PrimFunc that are buffers of vectors, by their positions;
    none of another function."""
    if not isinstance(func, tirx.PrimFunc):
        return {}
    try:
        params = parameters(func) if is_packed(func) else func.params
    except Unsupported:
        return {}
    buffers = {at: var.ty for at, var in enumerate(params) if isinstance(var.ty, tirx.BufferType)}
    return {at: str(ty.dtype) for at, ty in buffers.items() if width_of(ty.dtype) > 1}


def with_vectors(tensors: Sequence[Any], vectors: Mapping[int, str]) -> list[Any]:
    """The arguments of compiled code: those of `vectors_of` as tensors of vectors."""
    given = list(tensors)
    for at, dtype in vectors.items():
        given[at] = given[at]._create_view(given[at].shape[:-1], dtype)
    return given
