"""The packed functions that TVM's own passes call and whose behaviour is known.

A function of another name is not called, even if this process has one: the result must not depend
on it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ...generators.ops import table
from ..dtypes import dtype_of
from ..errors import Mismatch, Unsupported
from .poison import poisoned, touch

ASSERT_IMMEDIATE, STORE, SKIP, ASSERT_LOADED = range(4)
"""Codes of `vm.builtin.match_shape`: the action for a dimension."""
IMMEDIATE, LOAD = range(2)
"""Codes of `vm.builtin.make_shape`: the source of a dimension."""


# Shapes on the heap


def _match(heap: Any, code: int, register: int, value: int, context: str) -> None:
    if code == STORE:
        touch(heap)
        heap[register] = value
    elif code != SKIP:
        expected = register if code == ASSERT_IMMEDIATE else int(heap[register])
        if expected != value:
            raise Mismatch(f"{context}Expected {expected} but got {value}")


def _match_shape(value: Any, heap: Any, rank: int, *rest: Any) -> None:
    shape = value.shape if isinstance(value, np.ndarray) else value
    *codes, context = rest
    if len(shape) != rank:
        raise Mismatch(f"{context}Expected rank {rank} but got {shape}")
    for index, size in enumerate(shape):
        _match(heap, codes[2 * index], codes[2 * index + 1], size, context)


def _match_prim_value(value: Any, heap: Any, code: int, register: int, context: str) -> None:
    _match(heap, code, register, int(value), context)


def _make_prim_value(heap: Any, code: int, register: int) -> int:
    return register if code == IMMEDIATE else int(heap[register])


def _make_shape(heap: Any, rank: int, *codes: int) -> tuple[int, ...]:
    return tuple(_make_prim_value(heap, *codes[2 * i : 2 * i + 2]) for i in range(rank))


# Checks of types


def _check_tensor(value: Any, rank: int, *rest: Any) -> None:
    dtype, context = rest if len(rest) == 2 else (None, rest[0])
    if not isinstance(value, np.ndarray):
        raise Mismatch(f"{context}Expected a tensor but got {value!r}")
    if rank not in (-1, value.ndim):
        raise Mismatch(f"{context}Expected rank {rank} but got {value.ndim}")
    if dtype is not None and dtype_of(dtype) != value.dtype:
        raise Mismatch(f"{context}Expected dtype {dtype} but got {value.dtype}")


def _check_shape(value: Any, rank: int, context: str) -> None:
    if not isinstance(value, tuple) or rank not in (-1, len(value)):
        raise Mismatch(f"{context}Expected a shape of rank {rank} but got {value!r}")


def _check_tuple(value: Any, length: int, context: str) -> None:
    if not isinstance(value, tuple | list) or len(value) != length:
        raise Mismatch(f"{context}Expected a tuple of {length} but got {value!r}")


def _check_prim_value(value: Any, dtype: str, context: str) -> None:
    if not isinstance(value, int | float):
        raise Mismatch(f"{context}Expected a number of {dtype} but got {value!r}")


def _check_function(value: Any, context: str) -> None:
    if not callable(value):
        raise Mismatch(f"{context}Expected a function but got {value!r}")


# Tensors


def _view(value: Any, shape: Sequence[int] | None, dtype: str | None, offset: int | None) -> Any:
    """The tensor's bytes under another shape, dtype and offset; None leaves one unchanged."""
    kind = value.dtype if dtype is None else dtype_of(dtype)
    sizes = value.shape if shape is None else tuple(shape)
    start, size = offset or 0, math.prod(sizes) * kind.itemsize
    data = value.reshape(-1).view("uint8")
    if start + size > data.size:
        raise Mismatch(
            f"Expected a view of {size} bytes at offset {start} but got {data.size} bytes"
        )
    return data[start : start + size].view(kind).reshape(sizes)


def _reshape(value: Any, shape: Sequence[int]) -> Any:
    if math.prod(shape) != value.size:
        raise Mismatch(f"Expected {math.prod(shape)} elements but got shape {value.shape}")
    return value.reshape(tuple(shape))


def _reference(name: str) -> Callable[..., Any]:
    """A packed function that runs an operator on the operator's operands."""
    return lambda *args: table[name].reference(args, None)


def _assert(condition: Any, text: str, *values: Any) -> None:
    if not bool(condition):
        raise Mismatch(f"Assertion failed: {text.format(*values) if text else values}")


# Calls


def _void(function: Callable[..., None]) -> Callable[..., tuple[()]]:
    """The function with an empty tuple as its result, as its Relax type demands."""

    def call(*args: Any) -> tuple[()]:
        function(*args)
        return ()

    return call


def _make_closure(function: Callable[[list[Any]], Any], *captured: Any) -> Any:
    return lambda args: function([*args, *captured])


def packed(name: str, args: Sequence[Any]) -> Any:
    """The result of the packed function of this name.

    Raises:
        Unsupported: the name is not known, or the function is not defined for these arguments.
        Mismatch: the function is a check that fails, or its check of the arguments fails.
    """
    function = PACKED.get(name)
    if function is None:
        raise Unsupported(f"packed function {name}")
    try:
        return function(*args)
    except (TypeError, ValueError, IndexError, AttributeError) as error:
        raise Unsupported(f"arguments that {name} is not defined for: {error}") from error


PACKED: Mapping[str, Callable[..., Any]] = {
    "vm.builtin.alloc_shape_heap": lambda size: poisoned((size,), np.dtype("int64")),
    "vm.builtin.match_shape": _void(_match_shape),
    "vm.builtin.match_prim_value": _void(_match_prim_value),
    "vm.builtin.make_shape": _make_shape,
    "vm.builtin.make_prim_value": _make_prim_value,
    "vm.builtin.check_tensor_info": _void(_check_tensor),
    "vm.builtin.check_shape_info": _void(_check_shape),
    "vm.builtin.check_tuple_info": _void(_check_tuple),
    "vm.builtin.check_prim_value_info": _void(_check_prim_value),
    "vm.builtin.check_func_info": _void(_check_function),
    "vm.builtin.make_closure": _make_closure,
    "vm.builtin.invoke_closure": lambda closure, *args: closure(list(args)),
    "vm.builtin.cuda_graph.get_cached_alloc": lambda allocate, index: allocate([]),
    "vm.builtin.cuda_graph.run_or_capture": lambda capture, args, index: capture([*args]),
    "vm.builtin.call_tir_dyn": lambda func, *args: func([*args[:-1], *args[-1]]),
    "vm.builtin.shape_of": lambda value: tuple(int(size) for size in value.shape),
    "vm.builtin.tensor_to_shape": lambda value: tuple(int(size) for size in value),
    "vm.builtin.reshape": _reshape,
    "vm.builtin.copy": lambda value: value,
    "vm.builtin.null_value": lambda: None,
    "vm.builtin.to_device": lambda value, *device: value.copy(),
    "vm.builtin.ensure_zero_offset": lambda value: value,
    "vm.builtin.make_tuple": lambda *values: values,
    "vm.builtin.tuple_getitem": lambda values, index: values[index],
    "vm.builtin.read_if_cond": bool,
    "runtime.TVMTensorCreateView": _view,
    "relax.run.print": lambda *values: (),
    "relax.run.assert_op": _void(_assert),
    "relax.run.shape_to_tensor": lambda shape: np.asarray(shape, "int64"),
    "relax.run.unique": _reference("unique"),
    "relax.run.nonzero": _reference("nonzero"),
}
"""Packed functions by name: values in, a value out. The null object is None."""
