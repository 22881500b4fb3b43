"""Storage and its tensors, which are views of its bytes, so that overlaps are real.

Memory is freed by variable, as in the virtual machine: killing a storage or a tensor ends its
variable, while tensors in the storage, and views of the tensor, live on.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from tvm import relax
from tvm.ir import Call

from ..dtypes import dtype_of
from ..errors import NoResult, Undefined, Unsupported
from .frame import Frame
from .packed import packed
from .poison import poisoned


@dataclass(frozen=True, slots=True, eq=False)
class Lost:
    """A stand-in for the value of a variable that has none."""

    error: NoResult | None = None
    """The error that a use raises; None: the variable was killed."""


KILLED: Final = Lost()
"""The value of a variable that was killed."""


@dataclass(frozen=True, slots=True, eq=False)
class Storage:
    """A block of bytes that tensors are made in."""

    data: np.ndarray[Any, Any]

    def tensor(self, offset: int, shape: Sequence[int], dtype: str) -> np.ndarray[Any, Any]:
        """The tensor that lies at this offset.

        Raises:
            Undefined: it does not lie inside the storage, or has a negative size.
        """
        kind = dtype_of(dtype)
        size = math.prod(_sizes(shape)) * kind.itemsize
        if offset < 0 or offset + size > self.data.size:
            raise Undefined(
                f"{size} bytes at offset {offset} of a storage of {self.data.size} bytes"
            )
        return self.data[offset : offset + size].view(kind).reshape(tuple(shape))


def _byte_storage(frame: Frame, call: Call) -> Storage:
    """`memory.alloc_storage`: the size is in bytes for every dtype."""
    return Storage(poisoned((math.prod(frame.value(call.args[0])),), np.dtype("uint8")))


def _storage(frame: Frame, call: Call) -> Storage:
    """`vm.alloc_storage`: the size is in elements."""
    size, _, dtype = (frame.value(arg) for arg in call.args[:3])
    return Storage(poisoned((math.prod(size) * dtype_of(dtype).itemsize,), np.dtype("uint8")))


def _tensor(frame: Frame, call: Call) -> np.ndarray[Any, Any]:
    storage, offset, shape, dtype = (frame.value(arg) for arg in call.args[:4])
    if not isinstance(storage, Storage):
        raise Unsupported(f"a tensor in {storage!r}")
    return storage.tensor(offset, shape, dtype)


def _own_tensor(frame: Frame, call: Call) -> np.ndarray[Any, Any]:
    shape, dtype = (frame.value(arg) for arg in call.args[:2])
    return poisoned(_sizes(shape), dtype_of(dtype))


def _sizes(shape: Sequence[int]) -> Sequence[int]:
    if min(shape, default=0) < 0:
        raise Undefined(f"a tensor of shape {tuple(shape)}")
    return shape


def _view(frame: Frame, call: Call) -> Any:
    """`memory.view`: an empty tuple leaves a property unchanged."""
    value, *changes = (frame.value(arg) for arg in call.args)
    kept = [None if isinstance(each, tuple) and not each else each for each in changes]
    if isinstance(call.args[1].ty, relax.ShapeType):
        kept[0] = changes[0]  # of rank 0
    return packed("runtime.TVMTensorCreateView", [value, *kept])


def _kill(frame: Frame, call: Call) -> tuple[()]:
    (var,) = call.args
    frame.value(var)  # it must not be freed
    frame.env[hash(var)] = KILLED
    return ()


MEMORY: Mapping[str, Callable[[Frame, Call], Any]] = {
    "relax.builtin.alloc_tensor": _own_tensor,
    "relax.memory.alloc_storage": _byte_storage,
    "relax.memory.alloc_tensor": _tensor,
    "relax.memory.view": _view,
    "relax.memory.kill_storage": _kill,
    "relax.memory.kill_tensor": _kill,
    "relax.vm.alloc_storage": _storage,
    "relax.vm.alloc_tensor": _tensor,
    "relax.vm.kill_object": _kill,
}
