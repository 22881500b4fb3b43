"""What a kernel asks of a device, against what its target has."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import tvm
from tvm import tirx

from ....compat import ir
from ...inspect import attr, nodes
from ..values import width_of
from .launch import launch, tag
from .lockstep import shared


def over_limits(func: tirx.PrimFunc, target: tvm.target.Target | None = None) -> str | None:
    """The first thing that a kernel of a PrimFunc asks for and its target does not have.

    Only what the target has an attribute for is limited, and only what is known when the code is
    generated is counted: extents and sizes that are no numbers are not. Shared memory counts once
    blocks are lowered; before, buffers still have the shapes of whole tensors.

    Args:
        target: in place of the one that the PrimFunc is bound to.
    """
    target = attr(func, "target") if target is None else target
    if target is None:
        return None
    for kernel in _kernels(func.body):
        for name, (what, used) in LIMITS.items():
            limit, amount = target.attrs.get(name), used(kernel)
            if limit is not None and amount is not None and amount > int(limit):
                return f"{amount} {what}, and {target.kind.name} has {name} = {int(limit)}"
    return None


def _kernels(body: Any) -> Iterator[Any]:
    """The outermost statements that bind threads."""
    binding = [each for each in nodes(body, ir.For, ir.AttrStmt) if tag(each) is not None]
    inner = {
        part.__chandle__()
        for each in binding
        for part in nodes(each.body, ir.For, ir.AttrStmt)
        if tag(part) is not None
    }
    return (each for each in binding if each.__chandle__() not in inner)


def _threads(kernel: Any) -> int | None:
    return _extent(kernel, "threadIdx.")


def _along(axis: str) -> Callable[[Any], int | None]:
    return lambda kernel: _extent(kernel, f"threadIdx.{axis}")


def _extent(kernel: Any, prefix: str) -> int | None:
    sizes = [size for name, size in launch(kernel).items() if name.startswith(prefix)]
    return _product(sizes)


def _shared(kernel: Any) -> int | None:
    if nodes(kernel, ir.SBlock):
        return None
    total = 0
    for alloc in nodes(kernel, ir.AllocBuffer):
        ty = alloc.buffer.ty
        if shared(alloc.buffer):
            total += (_product(ty.shape) or 0) * width_of(ty.dtype) * _bytes(ty.dtype)
    return total


def _bytes(dtype: Any) -> int:
    return (int(tvm.DataType(str(dtype)).bits) + 7) // 8


def _product(sizes: Sequence[Any]) -> int | None:
    if not all(isinstance(size, tirx.IntImm) for size in sizes):
        return None
    return math.prod(int(size.value) for size in sizes)


LIMITS: Mapping[str, tuple[str, Callable[[Any], int | None]]] = {
    "max_threads_per_block": ("threads in a block", _threads),
    "max_num_threads": ("threads in a block", _threads),
    "max_block_size_x": ("threads along x", _along("x")),
    "max_block_size_y": ("threads along y", _along("y")),
    "max_block_size_z": ("threads along z", _along("z")),
    "max_shared_memory_per_block": ("bytes of shared memory in a block", _shared),
}
"""By the target's attribute: what it limits, in words, and how much of that a kernel takes.

Virtual threads have no limit: InjectVirtualThread makes loops or copies of statements of them.
"""
