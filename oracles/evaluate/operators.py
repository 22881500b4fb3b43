"""Operators of the op table, evaluated by their NumPy references."""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import Any

import numpy as np
import tvm_ffi
from tvm.ir import Call, PrimType, Type
from tvm.relax import ShapeType, TensorType, TupleType

from ...generators.ops import table
from ...generators.ops.record import Op
from ...generators.ops.undefined import INDEXED, Behaviour, OutsideError, arrays, holds
from ..dtypes import dtype_of
from ..errors import (
    NoResult,
    NoValue,
    OtherKind,
    RefusedOperands,
    TooLarge,
    Undefined,
    Unpromised,
    Unsupported,
)
from ..pace import NO_TIME, iterations
from ..silence import inventory
from ..silence.log import is_loud
from .frame import Evaluation, Frame
from .memo import memo
from .poison import MAX_BYTES, filled

UNPROMISED = {Behaviour.OPEN: Unpromised, Behaviour.KIND: OtherKind}
"""The behaviours that only leave the result open, with the exception for each."""


def operator(frame: Frame, call: Call, name: str) -> Any:
    """The result of an operator of the table.

    Raises:
        Unsupported: there is no such operator, or it promises nothing for the operands.
        NoValue: it has no value for the operands; the maximum of no elements is an example.
        TooLarge: an operand or the result has more than `MAX_BYTES`, or the time is used up.
        Undefined: compiled code has undefined behaviour for the operands.
    """
    record = table.get(name.removeprefix("relax."))
    if record is None:
        raise Unsupported(f"operator {name}")
    args = [frame.value(arg) for arg in call.args]
    if not iterations(1):
        raise TooLarge(NO_TIME)
    for value, arg in zip(args, call.args, strict=True):
        if not isinstance(arg.ty, ShapeType):
            continue
        # NumPy infers a negative size from the rest.
        if min(value, default=0) < 0:
            raise Undefined(f"a tensor of shape {value}")
        if math.prod(value) > MAX_BYTES:
            raise TooLarge(f"a tensor of shape {value}, which {name} is given")
    if record.numbers:
        args = [_array(value, arg.ty) for value, arg in zip(args, call.args, strict=True)]
    if _too_large(args):
        raise TooLarge(f"an operand of {name} with more than {MAX_BYTES} bytes")
    try:
        result = _result(frame.evaluator, record, args, call.attrs, name)
    except NoResult as error:
        if frame.evaluator.valued or not isinstance(error, NoValue):
            error.operands = args
            raise
        result = _zeros(frame, call.ty, error)
    if _too_large([result]):
        raise TooLarge(f"a result of {name} with more than {MAX_BYTES} bytes")
    if frame.evaluator.writes and not record.views:
        return _own(result, args)
    return result


def _result(evaluator: Evaluation, record: Op, args: list[Any], attrs: Any, name: str) -> Any:
    if evaluator.perturb is not None:
        return evaluator.perturb(_computed(record, args, attrs, name))

    def run() -> tuple[Any, Behaviour | None]:
        result = _computed(record, args, attrs, name)
        return result, record.undefined_for(args, result, attrs, wraps=evaluator.wraps)

    what: tuple[Hashable, ...] = ()
    if memo.keeps(args):
        of_attrs = None if attrs is None else tvm_ffi.structural_hash(attrs)
        what = record.name, of_attrs, evaluator.wraps
    result, why = memo.value(what, args, run, own=evaluator.writes)
    if why is Behaviour.CONVERSION and evaluator.converts and _is_alike(args[0], result):
        return np.where(holds(result.dtype, args[0]), result, filled(result.dtype))
    if why is Behaviour.KIND and evaluator.foreign is not None:
        evaluator.foreign.add(name)
        return result
    if why in UNPROMISED and evaluator.promised and not is_loud(inventory.OPEN):
        text = f"operands that {name} is not defined for"
        raise (NoValue if _empty(args) else UNPROMISED[why])(text)
    if why is not None and why not in UNPROMISED and not is_loud(inventory.UNDEFINED):
        raise Undefined(f"{why}: {name}")
    return result


def _computed(record: Op, args: list[Any], attrs: Any, name: str) -> Any:
    """The result of the operator's reference."""
    try:
        return _arrays(record.reference(args, attrs))
    except Exception as error:
        if isinstance(error, OutsideError) or (
            isinstance(error, IndexError) and record.undefined in INDEXED
        ):
            raise Undefined(f"{Behaviour.INDEX}: {name}: {error}") from error
        text = f"operands that {name} is not defined for: {error}"
        raise (NoValue if _empty(args) else RefusedOperands)(text) from error


def _too_large(values: list[Any]) -> bool:
    return any(array.nbytes > MAX_BYTES for array in arrays(values))


def _zeros(frame: Frame, ty: Type, error: NoValue) -> Any:
    """A result of this type for an evaluation that goes on without a value."""
    if isinstance(ty, TupleType):
        return tuple(_zeros(frame, field, error) for field in ty.fields)
    if not isinstance(ty, TensorType) or ty.shape is None or ty.dtype is None:
        raise error
    shape = frame.value(ty.shape)
    if min(shape, default=0) < 0:  # the operator subtracts more than the operand has
        raise error
    return np.zeros(shape, dtype_of(str(ty.dtype)))


def _is_alike(operand: Any, result: Any) -> bool:
    """True for two tensors of one shape: the result converts each element of the operand."""
    tensors = isinstance(operand, np.ndarray) and isinstance(result, np.ndarray)
    return tensors and operand.shape == result.shape


def _empty(args: list[Any]) -> bool:
    """True if a tensor has no elements.

    Only then is the effect on memory promised without a value: compiled code has undefined
    behaviour for a class or an index outside of a tensor.
    """
    return any(array.size == 0 for array in arrays(args))


def _array(value: Any, ty: Type) -> Any:
    """A scalar that stands for a tensor, as an array of rank 0; any other value unchanged."""
    return np.asarray(value, str(ty.dtype)) if isinstance(ty, PrimType) else value


def _arrays(result: Any) -> Any:
    """The result with arrays of rank 0 for NumPy's scalars, which operands of rank 0 give."""
    if isinstance(result, tuple | list):
        return tuple(map(_arrays, result))
    return np.asarray(result) if isinstance(result, np.generic) else result


def _own(result: Any, args: list[Any]) -> Any:
    """The results in separate memory, so that a write to an operand does not reach them."""
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
