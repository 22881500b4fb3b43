"""Faulty passes over kernels of devices, for the oracles that must see what is wrong with them."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import tvm
import tvm_ffi
from tvm import tirx
from tvm.script import ir as I
from tvm.script import tirx as T

from relaxfuzz.compat import ir
from tests.oracles.tensorir_faults import rewriting

Pass = tvm.transform.Pass


@I.ir_module
class Scheduled:
    """A kernel whose last threads have nothing to do."""

    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((50,), "float32"), B: T.Buffer((50,), "float32")):
        T.func_attr({"tirx.is_scheduled": True})
        for block in T.thread_binding(2, thread="blockIdx.x"):
            for thread in T.thread_binding(32, thread="threadIdx.x"):
                with T.sblock("add"):
                    v = T.axis.spatial(50, block * 32 + thread)
                    T.where(block * 32 + thread < 50)
                    B[v] = A[v] + T.float32(1)


@I.ir_module
class Synchronized:
    """Each thread reads what another one has written, twice."""

    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32")):
        T.func_attr({"tirx.is_scheduled": True})
        thread = T.launch_thread("threadIdx.x", 32)
        S = T.alloc_buffer((32,), "float32", scope="shared")
        S[thread] = A[thread]
        T.evaluate(T.tvm_storage_sync("shared"))
        B[thread] = S[31 - thread]
        T.evaluate(T.tvm_storage_sync("shared"))
        S[thread] = B[thread] * T.float32(2)
        T.evaluate(T.tvm_storage_sync("shared"))
        B[thread] = S[31 - thread]


@I.ir_module
class Unsynchronized:
    """Each thread reads what another one has written, and no barrier is there yet."""

    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32")):
        T.func_attr({"target": T.target("cuda", host="llvm"), "tirx.is_scheduled": True})
        thread = T.launch_thread("threadIdx.x", 32)
        S = T.alloc_buffer((32,), "float32", scope="shared")
        S[thread] = A[thread]
        B[thread] = S[31 - thread]


@I.ir_module
class Twice:
    """The same, twice."""

    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32")):
        T.func_attr({"target": T.target("cuda", host="llvm"), "tirx.is_scheduled": True})
        thread = T.launch_thread("threadIdx.x", 32)
        S = T.alloc_buffer((32,), "float32", scope="shared")
        S[thread] = A[thread]
        B[thread] = S[31 - thread]
        S[thread] = B[thread] * T.float32(2)
        B[thread] = S[31 - thread]


@I.ir_module
class Reversed:
    """What `Unsynchronized` computes, without memory in common."""

    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32")):
        T.func_attr({"target": T.target("cuda", host="llvm"), "tirx.is_scheduled": True})
        thread = T.launch_thread("threadIdx.x", 32)
        B[thread] = A[31 - thread]


@I.ir_module
class Sums:
    """Each element is a sum of all operands, which are 80,000 bytes."""

    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((20000,), "float32"), B: T.Buffer((64,), "float32")):
        T.func_attr({"target": T.target("metal", host="llvm")})
        for i, k in T.grid(64, 20000):
            with T.sblock("step"):
                v, w = T.axis.remap("SR", [i, k])
                with T.init():
                    B[v] = T.float32(0)
                B[v] = B[v] + A[w]


@I.ir_module
class Steps:
    """Each element is one operand's; they are 80,000 bytes, too."""

    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((20000,), "float32"), B: T.Buffer((20000,), "float32")):
        T.func_attr({"target": T.target("metal", host="llvm")})
        for i in range(20000):
            with T.sblock("step"):
                v = T.axis.spatial(20000, i)
                B[v] = A[v] + T.float32(1)


@I.ir_module
class HalfFull:
    """A kernel with 20,000 bytes of shared memory, of the 32,768 that there are."""

    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32")):
        T.func_attr({"target": T.target("metal", host="llvm"), "tirx.is_scheduled": True})
        thread = T.launch_thread("threadIdx.x", 32)
        S = T.alloc_buffer((5000,), "float32", scope="shared")
        S[thread] = A[thread]
        B[thread] = S[thread]


Split = tirx.transform.SplitHostDevice()(
    tirx.transform.BindTarget(tvm.target.Target("cuda", host="llvm"))(Synchronized)
)
"""The same, its kernel split from the host."""


def adds_a_statement() -> Pass:
    """Right: it does nothing."""
    nothing = tirx.Evaluate(tirx.IntImm("int32", 0))
    return rewriting(ir.BufferStore, lambda store: tirx.SeqStmt([store, nothing]))


def too_few_threads() -> Pass:
    """A tile is half as wide as it is to be."""

    def halved(loop: Any) -> Any:
        if loop.thread_binding is None or loop.thread_binding.thread_tag != "threadIdx.x":
            return loop
        half = loop.extent // 2
        binding = tirx.IterVar(None, loop.thread_binding.var, 1, "threadIdx.x")
        return tirx.For(loop.loop_var, 0, half, loop.kind, loop.body, binding)

    return rewriting(ir.For, halved)


def forgets_the_predicate() -> Pass:
    """The threads behind the end of the buffers work, too."""

    def unconditional(realize: Any) -> Any:
        return ir.SBlockRealize(realize.iter_values, True, realize.block)

    return rewriting(ir.SBlockRealize, unconditional)


def forgets_barriers(which: Collection[int], name: str) -> Pass:
    """Those of these numbers."""

    def transform(func: tirx.PrimFunc, mod: tvm.IRModule, context: Any) -> tirx.PrimFunc:
        seen = 0

        def dropped(call: Any) -> Any:
            nonlocal seen
            if getattr(getattr(call.value, "op", None), "name", "") == "tirx.tvm_storage_sync":
                seen += 1
                return tirx.Evaluate(tirx.IntImm("int32", 0)) if seen in which else call
            return call

        body = tvm_ffi.structural_map(func.body, (tirx.Evaluate, dropped), order="post")
        return func.with_body(body)

    return tirx.transform.prim_func_pass(transform, opt_level=0, name=name)


def forgets_a_barrier() -> Pass:
    """The second one: the others stay."""
    return forgets_barriers((2,), "forgets_a_barrier")


def forgets_all_barriers() -> Pass:
    """Nothing is left to show that there were any."""
    return forgets_barriers((1, 2, 3), "forgets_all_barriers")


def forgets_a_barrier_of_a_kernel() -> Pass:
    """The same, where the kernel is split from the host."""
    return forgets_a_barrier()


def splits_and_forgets_a_barrier() -> Pass:
    """SplitHostDevice, and one barrier less."""

    def transform(mod: tvm.IRModule, context: Any) -> tvm.IRModule:
        cuda = tvm.target.Target("cuda", host="llvm")
        bound = tirx.transform.BindTarget(cuda)(forgets_a_barrier()(mod))
        return tirx.transform.SplitHostDevice()(bound)

    return tvm.transform.module_pass(transform, opt_level=0, name="splits_and_forgets_a_barrier")


def puts_no_barrier() -> Pass:
    """ThreadSync that does nothing."""
    return tvm.transform.Sequential([], name="puts_no_barrier")


def puts_too_few_barriers() -> Pass:
    """ThreadSync without the second barrier."""
    sync = tvm.s_tir.transform.ThreadSync("shared")
    return tvm.transform.Sequential([sync, forgets_a_barrier()], name="puts_too_few_barriers")


def exchanges_without_a_barrier() -> Pass:
    """LowerThreadAllreduce whose threads read what others have just written."""
    return tvm.transform.module_pass(
        lambda mod, context: Unsynchronized, opt_level=0, name="exchanges_without_a_barrier"
    )


def stages_operands() -> Pass:
    """Each block of threads loads all operands that it needs into shared memory: right if they fit
    in.
    """

    def transform(mod: tvm.IRModule, context: Any) -> tvm.IRModule:
        sch = tvm.s_tir.Schedule(mod)
        block = sch.get_sblock("step")
        staged = sch.cache_read(block, 0, "shared")
        outer, inner = sch.split(sch.get_loops(block)[0], [None, 32])
        sch.bind(outer, "blockIdx.x")
        sch.bind(inner, "threadIdx.x")
        sch.compute_at(staged, outer)
        sch.mod.update_func(
            sch.mod.get_global_var("main"), sch.mod["main"].with_attr("tirx.is_scheduled", True)
        )
        return sch.mod

    return tvm.transform.module_pass(transform, opt_level=0, name="stages_operands")


def allocates_once_more() -> Pass:
    """MergeSharedMemoryAllocations that adds a buffer instead of taking one away."""

    def twice(alloc: Any) -> Any:
        ty = alloc.buffer.ty
        buffer = tirx.decl_buffer(ty.shape, ty.dtype, "again", scope=str(ty.storage_scope))
        return tirx.SeqStmt([alloc, ir.AllocBuffer(buffer)])

    return rewriting(ir.AllocBuffer, twice)


FAULTS = {
    "too_few_threads": (Scheduled, "evaluated", None),
    "forgets_the_predicate": (Scheduled, "sanitized", None),
    "forgets_a_barrier": (Synchronized, "sanitized", None),
    "forgets_all_barriers": (Synchronized, "sanitized", None),
    "forgets_a_barrier_of_a_kernel": (Split, "sanitized", None),
    "splits_and_forgets_a_barrier": (Synchronized, "sanitized", None),
    "puts_no_barrier": (Unsynchronized, "sanitized", "s_tir.ThreadSync"),
    "puts_too_few_barriers": (Twice, "sanitized", "s_tir.ThreadSync"),
    "allocates_once_more": (HalfFull, "postcondition", "s_tir.MergeSharedMemoryAllocations"),
    "exchanges_without_a_barrier": (Reversed, "sanitized", "s_tir.LowerThreadAllreduce"),
}
"""By pass, the module that it is to be tried on, the oracle that must see it, and the pass whose
contract it has."""
