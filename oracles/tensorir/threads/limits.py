"""The limits of targets, and the resources that kernels use."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import tvm
from tvm import tirx

from ....compat import ir
from ....compat.structural import structural_map
from ...inspect import attr, nodes
from ..values import width_of
from .launch import launch, tag
from .lockstep import shared

Sizes: TypeAlias = Mapping[int, tirx.IntImm]
"""Values of variables in the shapes of a PrimFunc's parameters, by the variable's handle."""


def over_limits(
    func: tirx.PrimFunc,
    target: tvm.target.Target | None = None,
    sizes: Sizes | None = None,
) -> str | None:
    """The first limit of its target that a kernel of a PrimFunc exceeds, or None.

    The limits are attributes of the target, and those in `GRID` for its kind. Only amounts known
    when code is generated count, not symbolic extents and sizes. Shared memory counts once blocks
    are lowered; before that, buffers still have the shapes of whole tensors.

    Args:
        target: replaces the one that the PrimFunc is bound to.
        sizes: of one call. Only kernels that each call launches count with them: a PrimFunc may
            ask for the sizes first.
    """
    target = attr(func, "target") if target is None else target
    if target is None:
        return None
    kernels = _kernels(func.body) if sizes is None else _of_each_call(func.body, sizes)
    for kernel in kernels:
        for name, (what, used) in LIMITS.items():
            limit, amount = target.attrs.get(name), used(kernel)
            if limit is not None and amount is not None and amount > int(limit):
                return f"{amount} {what}, and {target.kind.name} has {name} = {int(limit)}"
        for axis, limit in GRID.get(str(target.kind.name), {}).items():
            amount = _extent(kernel, f"blockIdx.{axis}")
            if amount is not None and amount > limit:
                return f"{amount} blocks along {axis}, and {target.kind.name} launches {limit}"
    return None


def shared_memory(func: tirx.PrimFunc) -> int:
    """The bytes of shared memory in a block, for the kernel that uses the most.

    Buffers that blocks of TensorIR allocate count as they are declared.
    """
    return max(map(_allocated, _kernels(func.body)), default=0)


def shared_buffers(root: Any) -> list[Any]:
    """The buffers in shared memory that a node allocates inside."""
    buffers = [alloc.buffer for alloc in nodes(root, ir.AllocBuffer)]
    buffers += [each for block in nodes(root, ir.SBlock) for each in block.alloc_buffers]
    return list(filter(shared, buffers))


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


def _of_each_call(body: Any, sizes: Sizes) -> Iterator[Any]:
    """The kernels that do not depend on a condition or the extent of a loop, with these sizes."""
    deciding = [
        each
        for each in nodes(body, ir.For, ir.IfThenElse, ir.While)
        if not (type(each) is ir.For and each.kind == ir.ForKind.THREAD_BINDING)
    ]
    decided = {part.__chandle__() for each in deciding for part in nodes(each, ir.For, ir.AttrStmt)}

    def known(var: Any) -> Any:
        return sizes.get(var.__chandle__(), var)

    for kernel in _kernels(body):
        if kernel.__chandle__() not in decided:
            yield structural_map(kernel, [(tirx.Var, known)])


def _threads(kernel: Any) -> int | None:
    return _extent(kernel, "threadIdx.")


def _along(axis: str) -> Callable[[Any], int | None]:
    return lambda kernel: _extent(kernel, f"threadIdx.{axis}")


def _extent(kernel: Any, prefix: str) -> int | None:
    sizes = [size for name, size in launch(kernel).items() if name.startswith(prefix)]
    return _product(sizes)


def _shared(kernel: Any) -> int | None:
    return None if nodes(kernel, ir.SBlock) else _allocated(kernel)


def _allocated(kernel: Any) -> int:
    types = [buffer.ty for buffer in shared_buffers(kernel)]
    return sum((_product(ty.shape) or 0) * width_of(ty.dtype) * _bytes(ty.dtype) for ty in types)


def _bytes(dtype: Any) -> int:
    return (int(tvm.DataType(str(dtype)).bits) + 7) // 8


def _product(sizes: Sequence[Any]) -> int | None:
    known = [
        size if isinstance(size, tirx.IntImm) else ir.Analyzer().simplify(size) for size in sizes
    ]
    if not all(isinstance(size, tirx.IntImm) for size in known):
        return None
    return math.prod(int(size.value) for size in known)


LIMITS: Mapping[str, tuple[str, Callable[[Any], int | None]]] = {
    "max_threads_per_block": ("threads in a block", _threads),
    "max_num_threads": ("threads in a block", _threads),
    "max_block_size_x": ("threads along x", _along("x")),
    "max_block_size_y": ("threads along y", _along("y")),
    "max_block_size_z": ("threads along z", _along("z")),
    "max_shared_memory_per_block": ("bytes of shared memory in a block", _shared),
}
"""Limits by attribute of the target: the resource in words, and the amount a kernel uses.

Virtual threads have no limit: InjectVirtualThread turns them into loops or copies of statements.
"""

GRID: Mapping[str, Mapping[str, int]] = {"cuda": {"x": 2**31 - 1, "y": 65535, "z": 65535}}
"""The most blocks along each axis of a grid, by the kind of target.

CUDA C++ programming guide, technical specifications per compute capability: "Maximum x-dimension of
a grid of thread blocks", "Maximum y- or z-dimension". A launch with more fails, as in
apache/tvm#20106.
"""
