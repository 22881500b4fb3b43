"""Operators of the op table, evaluated by their NumPy references."""

from __future__ import annotations

from typing import Any

import numpy as np
import tvm_ffi
from tvm.ir import Call, PrimType, Type
from tvm.relax import ShapeType, TensorType, TupleType

from ...generators.ops import table
from ...generators.ops.record import Op
from ...generators.ops.undefined import INDEXED, Behaviour, OutsideError, arrays
from ..dtypes import dtype_of
from ..errors import (
    NoResult,
    NoValue,
    RefusedOperands,
    TooLarge,
    Undefined,
    Unpromised,
    Unsupported,
)
from ..silence import inventory
from ..silence.log import is_loud
from .frame import Frame, Host
from .memo import memo
from .poison import MAX_BYTES

VIEWS = ("relax.reshape", "relax.memory.ensure_zero_offset")
"""Operators whose result shares the operand's memory when it runs; the others make their own."""


def operator(frame: Frame, call: Call, name: str) -> Any:
    """The result of an operator of the table.

    Raises:
        Unsupported: no such operator, or operands for which nothing is promised.
        NoValue: operands for which it has no value, elements of which there are none among them.
        TooLarge: an operand has more than `MAX_BYTES`.
        Undefined: operands for which compiled code has undefined behaviour.
    """
    record = table.get(name.removeprefix("relax."))
    if record is None:
        raise Unsupported(f"operator {name}")
    args = [frame.value(arg) for arg in call.args]
    for value, arg in zip(args, call.args, strict=True):
        # For NumPy, a negative size stands for whatever fits.
        if isinstance(arg.ty, ShapeType) and min(value, default=0) < 0:
            raise Undefined(f"a tensor of shape {value}")
    if record.numbers:
        args = [_array(value, arg.ty) for value, arg in zip(args, call.args, strict=True)]
    if any(isinstance(arg, np.ndarray) and arg.nbytes > MAX_BYTES for arg in args):
        raise TooLarge(f"an operand of {name} with more than {MAX_BYTES} bytes")
    try:
        result = _result(frame.evaluator, record, args, call.attrs, name)
    except NoResult as error:
        if frame.evaluator.valued or not isinstance(error, NoValue):
            error.operands = args
            raise
        result = _zeros(frame, call.ty, error)
    if frame.evaluator.writes and name not in VIEWS:
        return _own(result, args)
    return result


def _result(evaluator: Host, record: Op, args: list[Any], attrs: Any, name: str) -> Any:
    try:
        result = _computed(record, args, attrs, own=evaluator.writes)
    except Exception as error:
        if isinstance(error, OutsideError) or (
            isinstance(error, IndexError) and record.undefined in INDEXED
        ):
            raise Undefined(f"{Behaviour.INDEX}: {name}: {error}") from error
        text = f"operands that {name} is not defined for: {error}"
        raise (NoValue if _empty(args) else RefusedOperands)(text) from error
    if evaluator.perturb is None:
        why = record.undefined_for(args, result, attrs, wraps=evaluator.wraps)
        if why is Behaviour.OPEN and evaluator.promised and not is_loud(inventory.OPEN):
            text = f"operands that {name} is not defined for"
            raise (NoValue if _empty(args) else Unpromised)(text)
        if why not in (None, Behaviour.OPEN) and not is_loud(inventory.UNDEFINED):
            raise Undefined(f"{why}: {name}")
    else:
        result = evaluator.perturb(result)
    return result


def _zeros(frame: Frame, ty: Type, error: NoValue) -> Any:
    """A result of this type where the evaluation goes on without a value."""
    if isinstance(ty, TupleType):
        return tuple(_zeros(frame, field, error) for field in ty.fields)
    if not isinstance(ty, TensorType) or ty.shape is None or ty.dtype is None:
        raise error
    return np.zeros(frame.value(ty.shape), dtype_of(str(ty.dtype)))


def _computed(record: Op, args: list[Any], attrs: Any, *, own: bool) -> Any:
    """The result of an operator's reference.

    Args:
        own: tensors may be written to after they are made.
    """

    def run() -> Any:
        return _arrays(record.reference(args, attrs))

    if not memo.keeps(args):
        return run()
    what = record.name, None if attrs is None else tvm_ffi.structural_hash(attrs)
    return memo.value(what, args, run, own=own)


def _empty(args: list[Any]) -> bool:
    """A tensor has no elements.

    Only then is memory promised without a value: what code makes of a class or an index outside of
    a tensor is undefined.
    """
    return any(array.size == 0 for array in arrays(args))


def _array(value: Any, ty: Type) -> Any:
    """A number that stands for a tensor as an array of rank 0; all else as it is."""
    return np.asarray(value, str(ty.dtype)) if isinstance(ty, PrimType) else value


def _arrays(result: Any) -> Any:
    """NumPy's scalars, which it gives for operands of rank 0, as arrays of rank 0."""
    if isinstance(result, tuple | list):
        return tuple(map(_arrays, result))
    return np.asarray(result) if isinstance(result, np.generic) else result


def _own(result: Any, args: list[Any]) -> Any:
    """Results in memory of their own, so that a write to an operand does not reach them."""
    if isinstance(result, tuple):
        return tuple(_own(part, args) for part in result)
    if isinstance(result, np.ndarray) and (
        result.base is not None
        or not result.flags.writeable
        or not result.flags.c_contiguous
        or any(result is arg for arg in args)
    ):
        return result.copy()
    return result
