"""The checks of a PrimFunc's arguments, made before the call instead of in the code.

The checks are most of the code that LLVM emits for a small PrimFunc. So PrimFuncs are compiled
without them and called directly if the arguments are certainly valid. Otherwise the PrimFunc is
compiled with its checks and their usual messages.
"""

from __future__ import annotations

import ctypes
import functools
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import tvm
from tvm import tirx

from ...compat import ir

Function = Callable[..., Any]


def guarded(func: tirx.PrimFunc, unchecked: Function, checked: Callable[[], Function]) -> Function:
    """The compiled function without checks for arguments that need none, else the checked one.

    Args:
        checked: makes the checked function; called once at most.
    """
    params = list(func.params)
    checked = functools.cache(checked)

    def call(*args: Any) -> Any:
        return (unchecked if _in_order(params, args) else checked())(*args)

    return call


def _in_order(params: Sequence[Any], args: Sequence[Any]) -> bool:
    """True if the arguments pass every check of a compiled function, or even stricter ones."""
    if len(params) != len(args):
        return False
    known: dict[int, int] = {}
    sizes: list[tuple[Any, int]] = []
    for param, arg in zip(params, args, strict=True):
        ty = param.ty
        if isinstance(ty, tirx.BufferType):
            if not isinstance(arg, tvm.runtime.Tensor) or not _plain(ty, arg):
                return False
            sizes += zip(ty.shape, arg.shape, strict=True)
        elif type(arg) is int and str(ty) == "int64":
            known[param.__chandle__()] = arg
        else:
            return False
    for dim, size in sizes:
        if isinstance(dim, tirx.Var):
            known.setdefault(dim.__chandle__(), size)
    return all(_value(dim, known) == size for dim, size in sizes)


_CPU = tvm.cpu()


def _plain(ty: Any, tensor: tvm.runtime.Tensor) -> bool:
    """True for a compact, aligned CPU tensor at offset 0, of the buffer's dtype and rank."""
    shape = tensor.shape
    address = tensor.data_ptr()
    return (
        not ty.strides
        and isinstance(ty.elem_offset, tirx.IntImm)
        and ty.elem_offset.value == 0
        and len(ty.shape) == len(shape)
        and str(tensor.dtype) == str(ty.dtype)
        and tensor.device == _CPU
        and tensor.strides == tuple(math.prod(shape[axis + 1 :]) for axis in range(len(shape)))
        and address % ty.data_alignment == 0
        and (address != 0 or 0 in shape)
        and _byte_offset(tensor) == 0
    )


_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)

_BYTE_OFFSET = 40
"""Offset of `byte_offset` in DLPack's DLTensor: after data, device, ndim, dtype, shape, strides."""


def _byte_offset(tensor: tvm.runtime.Tensor) -> int:
    capsule = tensor.__dlpack__()
    return ctypes.c_uint64.from_address(_pointer(capsule, b"dltensor") + _BYTE_OFFSET).value


_ARITHMETIC: Mapping[type, Callable[[int, int], int]] = {
    ir.Add: operator.add,
    ir.Sub: operator.sub,
    ir.Mul: operator.mul,
}


def _value(dim: tvm.ir.Expr, known: Mapping[int, int]) -> int | None:
    """The value of a dim; None for kinds that are left to the compiled checks."""
    if isinstance(dim, tirx.IntImm):
        return int(dim.value)
    if isinstance(dim, tirx.Var):
        return known.get(dim.__chandle__())
    combine = _ARITHMETIC.get(type(dim))
    if combine is None:
        return None
    a, b = _value(dim.a, known), _value(dim.b, known)
    return None if a is None or b is None else combine(a, b)
