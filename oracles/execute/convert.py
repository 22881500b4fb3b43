"""NumPy values in and out of TVM's VM."""

from __future__ import annotations

from typing import Any

import tvm
import tvm_ffi


def from_numpy(value: Any) -> Any:
    """An argument for the VM: ndarray to tensor, tuple of int to shape, list or tuple to tuple.

    A function becomes one that the VM can call; it is given NumPy values, and gives some.
    """
    if callable(value):
        return tvm_ffi.convert(lambda *args: from_numpy(value(*map(to_numpy, args))))
    if isinstance(value, tuple) and all(isinstance(item, int) for item in value):
        return tvm.runtime.ShapeTuple(value)
    if isinstance(value, tuple | list):
        return tuple(map(from_numpy, value))
    if isinstance(value, int | float):
        return value
    return tvm.runtime.tensor(value)


def to_numpy(value: Any) -> Any:
    """A result of the VM: tensors to ndarrays, arrays to tuples, shapes to tuples of int."""
    if isinstance(value, tvm.runtime.Tensor):
        return value.numpy()
    if isinstance(value, tvm.runtime.ShapeTuple):
        return tuple(int(dim) for dim in value)
    if isinstance(value, str):
        return value
    if isinstance(value, tuple | list) or hasattr(value, "__len__"):
        return tuple(map(to_numpy, value))
    return value
