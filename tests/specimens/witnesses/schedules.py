"""Kernels on which schedules, and passes that lower their threads, are wrong; and others."""

from __future__ import annotations

from typing import Any

import numpy as np
import tvm
from tvm import te, tirx
from tvm.script import tirx as T

from relaxfuzz.generators.stages import Stage, advance

from ..witness import Problem, Witness


def kernel(*operands: Any, target: str = "cuda") -> tvm.IRModule:
    """A PrimFunc of these tensors, bound to a device."""
    func = te.create_prim_func(list(operands)).with_attr("global_symbol", "main")
    bound = tvm.target.Target({"kind": target}, host="llvm")
    return tirx.transform.BindTarget(bound)(tvm.IRModule({"main": func}))


def elementwise(*shape: int, target: str = "cuda") -> tvm.IRModule:
    a = te.placeholder(shape, "float32", "A")
    return kernel(a, te.compute(shape, lambda *i: a(*i) * 2.0, "B"), target=target)


def chain(*shape: int) -> tvm.IRModule:
    a = te.placeholder(shape, "float32", "A")
    b = te.compute(shape, lambda *i: a(*i) * 2.0, "B")
    return kernel(a, te.compute(shape, lambda *i: b(*i) + 1.0, "C"))


def reduction(
    *shape: int, by: Any = te.sum, dtype: str = "float32", wide: str = ""
) -> tvm.IRModule:
    a = te.placeholder(shape, dtype, "A")
    k = te.reduce_axis((0, shape[-1]), "k")

    def value(*i: Any) -> Any:
        return by(a(*i, k).astype(wide or dtype), axis=k)

    return kernel(a, te.compute(shape[:-1], value, "B"))


def normalized(*shape: int) -> tvm.IRModule:
    """Sums over the last axis, and a row of them added to the elements of another tensor."""
    a = te.placeholder(shape, "float32", "A")
    k = te.reduce_axis((0, shape[-1]), "k")
    b = te.compute(shape[:-1], lambda *i: te.sum(a(*i, k), axis=k), "B")
    return kernel(a, te.compute(shape[:-1], lambda *i: b(*i) * 2.0 + te.exp(b(*i)), "C"))


@T.prim_func(s_tir=True)
def one_thread_stores(A: T.Buffer((4, 32), "float32"), B: T.Buffer((4, 32), "float32")):
    bx = T.launch_thread("blockIdx.x", 4)
    tx = T.launch_thread("threadIdx.x", 32)
    S = T.alloc_buffer((1,), "float32", scope="shared")
    if tx == 3:
        S[0] = A[bx, tx]
    B[bx, tx] = S[0]


@T.prim_func(s_tir=True)
def threads_swap(A: T.Buffer((4, 32), "float32"), B: T.Buffer((4, 32), "float32")):
    bx = T.launch_thread("blockIdx.x", 4)
    tx = T.launch_thread("threadIdx.x", 32)
    S = T.alloc_buffer((32,), "float32", scope="shared")
    for i in range(2):
        S[tx] = A[bx, tx] + T.Cast("float32", i)
        B[bx, tx] = S[31 - tx]


def two_buffers(again: bool) -> tvm.IRModule:
    @T.prim_func(s_tir=True)
    def later(A: T.Buffer((4, 32), "float32"), B: T.Buffer((4, 32), "float32")):
        bx = T.launch_thread("blockIdx.x", 4)
        tx = T.launch_thread("threadIdx.x", 32)
        S = T.alloc_buffer((32,), "float32", scope="shared")
        U = T.alloc_buffer((32,), "float32", scope="shared")
        S[tx] = A[bx, tx]
        B[bx, tx] = S[tx]
        U[tx] = A[bx, tx] * T.float32(2)
        B[bx, tx] = U[tx] + B[bx, tx]

    @T.prim_func(s_tir=True)
    def both(A: T.Buffer((4, 32), "float32"), B: T.Buffer((4, 32), "float32")):
        bx = T.launch_thread("blockIdx.x", 4)
        tx = T.launch_thread("threadIdx.x", 32)
        S = T.alloc_buffer((32,), "float32", scope="shared")
        U = T.alloc_buffer((32,), "float32", scope="shared")
        S[tx] = A[bx, tx]
        B[bx, tx] = S[tx]
        U[tx] = A[bx, tx] * T.float32(2)
        B[bx, tx] = U[tx] + S[tx]

    return module(both if again else later)


def module(func: tirx.PrimFunc) -> tvm.IRModule:
    return tvm.IRModule({"main": func.with_attr("global_symbol", "main")})


SHOWN: list[tuple[str, tvm.IRModule]] = [
    ("fuses_all_loops", elementwise()),
    ("binds_many_threads", elementwise(4, 100, target="vulkan")),
    ("binds_epilogues", normalized(3, 5, 70)),
    ("keeps_tiles_in_registers", chain(3, 40)),
    ("accumulates_in_operand_type", reduction(3, 300, dtype="int8", wide="int32")),
    ("pads_reductions", reduction(3, 20, by=te.max)),
    ("synchronizes_threads", module(one_thread_stores)),
    ("merges_shared_buffers", two_buffers(again=True)),
]

RIGHT: list[tuple[str, tvm.IRModule]] = [
    ("fuses_all_loops", elementwise(3, 40)),
    ("binds_many_threads", elementwise(3, 1000)),
    ("binds_epilogues", normalized(3, 32, 70)),
    ("keeps_tiles_in_registers", chain(3, 128)),
    ("accumulates_in_operand_type", reduction(3, 70)),
    ("pads_reductions", reduction(3, 20)),
    ("synchronizes_threads", module(threads_swap)),
    ("merges_shared_buffers", two_buffers(again=False)),
]


def arguments(mod: tvm.IRModule) -> tuple[Any, ...]:
    """Negative numbers too; the last one is the output."""
    args: list[Any] = []
    for param in mod["main"].params:
        shape = [int(dim.value) for dim in param.ty.shape]
        size = int(np.prod(shape))
        values = (np.arange(size) * 7 % 90 - 100).reshape(shape)
        args.append(values.astype(str(param.ty.dtype)))
    return tuple(args)


CORRECT: list[tuple[str, tvm.IRModule]] = [
    ("halves_loops", advance(reduction(7, 50), Stage.FLATTENED)),
    ("renews_loops", reduction(7, 50)),
    ("loads_through_shared_memory", elementwise(3, 40)),
    ("loads_through_shared_memory", elementwise(130)),
    ("copies_on_every_thread", elementwise(3, 40)),
]


def witness(name: str, problem: Problem | None, mod: tvm.IRModule) -> Witness:
    synchronised = name in ("synchronizes_threads", "merges_shared_buffers")
    again = name != "halves_loops"
    return Witness(name, problem, mod, arguments(mod), again=again, synchronised=synchronised)


PROBLEMS: dict[str, Problem] = {
    "fuses_all_loops": "crash",
    "binds_epilogues": "postcondition",
    "binds_many_threads": "postcondition",
}

WITNESSES = (
    *(witness(name, PROBLEMS.get(name, "values"), mod) for name, mod in SHOWN),
    *(witness(name, None, mod) for name, mod in [*RIGHT, *CORRECT]),
)
