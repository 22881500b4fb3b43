"""Types as patterns: values define their symbolic variables, and the rest is checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from tvm import relax
from tvm.ir import PrimType
from tvm.relax import Var
from tvm.tirx import IntImm

from ..dtypes import dtype_of
from ..errors import Mismatch, Unsupported
from .frame import Frame


def bind_params(frame: Frame, func: relax.Function, args: Sequence[Any]) -> None:
    """Give values to the parameters, and to the symbolic variables of their types.

    Raises:
        Mismatch: an argument that does not meet its parameter's type.
    """
    watch = frame.evaluator.watch
    for param, arg in zip(func.params, args, strict=True):
        frame.env[hash(param)] = arg
        match(frame, param.ty, arg)
        if watch is not None:
            watch(param, arg)
    if frame.pending:
        settle(frame)


def match(frame: Frame, ty: Any, value: Any) -> None:
    """Define the variables of a type that have no value yet, and check the rest of it.

    Raises:
        Mismatch: the value is not of the type.
    """
    check = _MATCH.get(type(ty))
    if check is not None:
        check(frame, ty, value)


def settle(frame: Frame) -> None:
    """Check the dimensions that were postponed until all variables had values."""
    pending, frame.pending = frame.pending, []
    for dim, size in pending:
        expected = _known(frame, dim)
        if expected is not None and expected != size:
            raise Mismatch(f"Expected {dim} == {expected} but got {size}")


def _tensor(frame: Frame, ty: relax.TensorType, value: Any) -> None:
    if not isinstance(value, np.ndarray):
        raise Mismatch(f"Expected {ty} but got {value!r}")
    if ty.dtype is not None and value.dtype != dtype_of(str(ty.dtype)):
        raise Mismatch(f"Expected {ty} but got dtype {value.dtype}")
    shape = ty.shape
    if type(shape) is relax.ShapeExpr:
        _dims(frame, shape.values, value.shape)
    elif ty.ndim not in (-1, value.ndim):
        raise Mismatch(f"Expected {ty} but got rank {value.ndim}")
    elif shape is not None and frame.env.setdefault(hash(shape), value.shape) != value.shape:
        raise Mismatch(f"Expected {shape} == {frame.value(shape)} but got {value.shape}")


def _shape(frame: Frame, ty: relax.ShapeType, value: Any) -> None:
    if not isinstance(value, tuple) or not all(isinstance(dim, int) for dim in value):
        raise Mismatch(f"Expected {ty} but got {value!r}")
    if ty.values is not None:
        _dims(frame, ty.values, value)
    elif ty.ndim not in (-1, len(value)):
        raise Mismatch(f"Expected {ty} but got {value!r}")


def _tuple(frame: Frame, ty: relax.TupleType, value: Any) -> None:
    fields = ty.fields
    if not isinstance(value, tuple | list) or len(value) != len(fields):
        raise Mismatch(f"Expected {ty} but got {value!r}")
    for field, item in zip(fields, value, strict=True):
        match(frame, field, item)


def _number(frame: Frame, ty: PrimType, value: Any) -> None:
    if not isinstance(value, int | float):
        raise Mismatch(f"Expected {ty} but got {value!r}")


def _function(frame: Frame, ty: relax.FuncType, value: Any) -> None:
    if not callable(value):
        raise Mismatch(f"Expected {ty} but got {value!r}")


def _dims(frame: Frame, dims: Sequence[Any], sizes: Sequence[int]) -> None:
    if len(dims) != len(sizes):
        raise Mismatch(f"Expected rank {len(dims)} but got {tuple(sizes)}")
    # Variables first: a dimension may be computed from a later one.
    composite: list[tuple[Any, int]] = []
    for dim, size in zip(dims, sizes, strict=True):
        if type(dim) is IntImm:
            if dim.value != size:
                raise Mismatch(f"Expected {dim.value} but got {size} in {tuple(sizes)}")
        elif type(dim) is Var:
            known = frame.env.setdefault(hash(dim), int(size))
            if known != size:
                raise Mismatch(f"Expected {dim.name} == {known} but got {size}")
        else:
            composite.append((dim, size))
    for dim, size in composite:
        expected = _known(frame, dim)
        if expected is None:
            frame.pending.append((dim, size))
        elif expected != size:
            raise Mismatch(f"Expected {dim} == {expected} but got {size}")


def _known(frame: Frame, dim: Any) -> int | None:
    """The value of a dimension; None if a later parameter gives one of its variables a value."""
    try:
        return int(frame.value(dim))
    except Unsupported:
        return None


_MATCH: Mapping[type, Callable[[Frame, Any, Any], None]] = {
    relax.TensorType: _tensor,
    relax.ShapeType: _shape,
    relax.TupleType: _tuple,
    PrimType: _number,
    relax.FuncType: _function,
}
