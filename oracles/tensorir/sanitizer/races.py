"""Accesses to one element by iterations that must not depend on each other.

There are two kinds of such iterations. One is iterations of loops that are declared parallel or
vectorised or are bound to blocks of threads. The other is instances of a block that differ in its
spatial variables ("all iterations are independent", "we can confidently parallelize or reorder
loops associated with" them: docs/deep_dive/tensor_ir/abstraction.rst). Loops over the threads of
one block are left out: threads may work together, as on a reduction, and wait for each other.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import tvm
import tvm_ffi
from tvm import tirx

from ....compat import ir

SPATIAL = 0
"""The type of an iteration variable of a block whose iterations are independent."""

_UNORDERED = (ir.ForKind.PARALLEL, ir.ForKind.VECTORIZED)


def unordered(loop: ir.For) -> bool:
    """True if a loop declares that its iterations need no order."""
    if loop.kind == ir.ForKind.THREAD_BINDING:
        return str(loop.thread_binding.thread_tag).startswith("blockIdx")
    return loop.kind in _UNORDERED


def spatial(block: ir.SBlock) -> list[Any]:
    """The spatial variables of a block that take more than one value."""
    return [
        iter_var.var
        for iter_var in block.iter_vars
        if iter_var.iter_type == SPATIAL
        and not (isinstance(iter_var.dom.extent, tirx.IntImm) and int(iter_var.dom.extent) == 1)
    ]


def variables(expr: Any) -> set[int]:
    """Handles of the variables in an expression."""
    found: set[int] = set()
    tvm_ffi.structural_walk(expr, [(tirx.Var, lambda var: found.add(var.__chandle__()))])
    return found


def conflicts(body: Any, keys: Sequence[Any], private: Collection[int] = ()) -> frozenset[int]:
    """Buffers in which the indices do not prevent two iterations from accessing one element.

    The indices prevent it if each variable that distinguishes iterations is itself an index of all
    accesses of the buffer, in the same dimension.

    Args:
        body: the code of an iteration.
        keys: the variables that distinguish iterations; none if nothing is to be proven.
        private: buffers that belong to a single iteration.
    """
    stores: dict[int, list[Sequence[Any]]] = {}
    accesses: dict[int, list[Sequence[Any]]] = {}
    own = set(private)
    roots: dict[int, int] = {}

    def load(node: Any) -> None:
        accesses.setdefault(ir.tensor_of(node).__chandle__(), []).append(node.indices)

    def store(node: Any) -> None:
        stores.setdefault(node.buffer.__chandle__(), []).append(node.indices)

    def block(node: Any) -> None:
        own.update(buffer.__chandle__() for buffer in node.alloc_buffers)
        for match in node.match_buffers:
            roots[match.buffer.__chandle__()] = ir.tensor_of(match.source).__chandle__()

    def view(node: Any) -> None:
        if isinstance(node.data, tvm.ir.Call) and len(node.data.args):
            roots[node.buffer.__chandle__()] = node.data.args[0].__chandle__()

    entries = [
        (ir.TensorLoad, load),
        (ir.BufferStore, store),
        (ir.SBlock, block),
        (ir.AllocBuffer, lambda node: own.add(node.buffer.__chandle__())),
        (ir.DeclBuffer, view),
    ]
    tvm_ffi.structural_walk(body, entries)

    def root(buffer: int) -> int:
        while buffer in roots:
            buffer = roots[buffer]
        return buffer

    seen = {root(view) for view in roots}
    written = {root(buffer) for buffer in stores} - own
    disjoint = {
        buffer
        for buffer in written
        if keys
        and buffer not in seen
        and _disjoint([*stores[buffer], *accesses.get(buffer, ())], keys)
    }
    open_ = written - disjoint
    return frozenset(
        buffer for buffer in {*stores, *accesses, *roots, *open_} if root(buffer) in open_
    )


def _disjoint(accesses: Sequence[Sequence[Any]], keys: Sequence[Any]) -> bool:
    rows = [[_handle(index) for index in indices] for indices in accesses]
    return all(
        any(all(row[axis] == key.__chandle__() for row in rows) for axis in range(len(rows[0])))
        for key in keys
    )


def _handle(index: Any) -> int | None:
    return index.__chandle__() if isinstance(index, tirx.Var) else None
