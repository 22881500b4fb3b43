"""Calls of functions of the runtime as LowerTVMBuiltin makes them.

Arguments are written to a stack, each a record of fields, and so are the `DLTensor`s that describe
arrays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import tvm_ffi

from ..errors import Undefined, Unsupported
from .intrinsics import DTYPES
from .runtime import alloc, view

ADDRESS = 0
"""The field that is the record itself; all fields are in tvm/tirx/builtin.h, TVMStructFieldKind."""

DATA, SHAPE, STRIDES, RANK, CODE, BITS, LANES, BEGIN = range(1, 9)
"""Fields of a `DLTensor`."""

TYPE, ITEM = 13, 15
"""Fields of an argument."""

TENSOR = 7
"""tvm/ffi/c_api.h, TVMFFITypeIndex."""

PLAIN: Mapping[int, Any] = {1: int, 2: bool, 3: float, 8: str}
"""By the same index: the arguments that are no tensors."""

Record = dict[int, Any]
"""Values by fields."""


def on_stack(kind: str, count: int) -> Any:
    """Memory for so many records, or for so many numbers of shapes.

    Raises:
        Unsupported: it is for something else.
    """
    if kind == "shape":
        return alloc((count,), np.int64)
    if kind in ("array", "tvm_ffi_any"):
        return [Record() for _ in range(count)]
    raise Unsupported(f"{kind} on the stack")


def record_of(stack: Sequence[Record], place: int) -> Record:
    """One of the records."""
    if not 0 <= place < len(stack):
        raise Undefined(f"number {place} of {len(stack)} on the stack")
    return stack[place]


def set_field(stack: Sequence[Record], place: int, field: int, value: Any) -> None:
    """Write a field of a record."""
    record_of(stack, place)[field] = value


def given(stack: Sequence[Record], begin: int, end: int) -> list[Any]:
    """The arguments of a call."""
    return [_argument(record_of(stack, place)) for place in range(begin, end)]


def _argument(record: Record) -> Any:
    kind, value = _field(record, TYPE), _field(record, ITEM)
    if kind == TENSOR:
        return _array(value)
    if kind not in PLAIN:
        raise Unsupported(f"an argument of type {kind} of a function")
    return PLAIN[kind](value)


def _array(tensor: Record) -> np.ndarray[Any, Any]:
    code, bits, lanes = (int(_field(tensor, field)) for field in (CODE, BITS, LANES))
    dtype = str(tvm_ffi.dtype.from_dlpack_data_type((code, bits, lanes)))
    if dtype not in DTYPES or _field(tensor, STRIDES) is not None:
        raise Unsupported(f"an array of {dtype} with strides on the stack")
    shape = [int(dim) for dim in _field(tensor, SHAPE)[: _field(tensor, RANK)]]
    begin = int(_field(tensor, BEGIN)) // np.dtype(DTYPES[dtype]).itemsize
    return view(_field(tensor, DATA), DTYPES[dtype], shape, [], begin)


def _field(record: Record, field: int) -> Any:
    if field not in record:
        raise Undefined(f"a read of field {field} on the stack, which nobody has written")
    return record[field]


NAMES: Mapping[str, Any] = {
    function.__name__: function for function in (on_stack, record_of, set_field, given)
}
"""What generated programs see."""
