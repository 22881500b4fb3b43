"""Arguments for a function's parameters: small whole numbers, so that most results are exact."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from tvm import relax, tirx

from .dtypes import dtype_of
from .errors import Unsupported

SIZES = (2, 3, 4)
"""Values of symbolic dimensions."""


def arguments(func: relax.Function, seed: int, *, positive: bool = False) -> list[Any]:
    """One argument for each parameter, the same for the same seed.

    Args:
        func: the function to call.
        seed: another seed gives other values and other sizes of symbolic dimensions.
        positive: only numbers in [1, 3] (for logarithms, divisions, roots) instead of [-3, 3].

    Raises:
        Unsupported: a parameter that is no tensor, shape, number or tuple of these.
    """
    rng = np.random.default_rng(seed)
    dims: dict[tirx.Var, int] = {}
    for param in func.params:
        _assign(param.ty, dims, rng)
    return [_draw(param.ty, dims, rng, positive) for param in func.params]


def _assign(ty: relax.Type, dims: dict[tirx.Var, int], rng: np.random.Generator) -> None:
    if isinstance(ty, relax.TupleType):
        for field in ty.fields:
            _assign(field, dims, rng)
        return
    values: Sequence[Any] = ()
    if isinstance(ty, relax.TensorType) and isinstance(ty.shape, relax.ShapeExpr):
        values = ty.shape.values
    elif isinstance(ty, relax.ShapeType):
        values = ty.values or ()
    for dim in values:
        if isinstance(dim, tirx.Var) and dim not in dims:
            dims[dim] = int(rng.choice(SIZES))


def _draw(
    ty: relax.Type, dims: dict[tirx.Var, int], rng: np.random.Generator, positive: bool
) -> Any:
    if isinstance(ty, relax.TupleType):
        return tuple(_draw(field, dims, rng, positive) for field in ty.fields)
    if isinstance(ty, relax.ShapeType):
        if ty.values is None:
            return tuple(int(rng.choice(SIZES)) for _ in range(max(ty.ndim, 0)))
        return tuple(_size(dim, dims) for dim in ty.values)
    if isinstance(ty, relax.TensorType):
        if isinstance(ty.shape, relax.ShapeExpr):
            shape = tuple(_size(dim, dims) for dim in ty.shape.values)
        else:
            shape = tuple(int(rng.choice(SIZES)) for _ in range(2 if ty.ndim < 0 else ty.ndim))
        dtype = dtype_of(str(ty.dtype) if ty.dtype is not None else "float32")
        if dtype == np.bool_:
            return rng.integers(0, 2, shape).astype(dtype)
        unsigned = np.issubdtype(dtype, np.unsignedinteger)
        low = 1 if positive else 0 if unsigned else -3
        return rng.integers(low, 4, shape).astype(dtype)
    raise Unsupported(f"parameter of type {type(ty).__name__}")


def _size(dim: Any, dims: dict[tirx.Var, int]) -> int:
    if isinstance(dim, tirx.IntImm):
        return int(dim.value)
    if isinstance(dim, tirx.Var):
        return dims[dim]
    parts = {tirx.Add: int.__add__, tirx.Mul: int.__mul__, tirx.Sub: int.__sub__}
    combine = parts.get(type(dim))
    if combine is None:
        raise Unsupported(f"dimension {type(dim).__name__}")
    return combine(_size(dim.a, dims), _size(dim.b, dims))
