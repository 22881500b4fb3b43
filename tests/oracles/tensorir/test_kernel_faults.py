"""One kernel for each fault that threads can have, and a near twin that has none."""

from __future__ import annotations

from typing import Any

import numpy as np
import tvm
from tvm import tirx
from tvm.script import ir as I
from tvm.script import tirx as T

from relaxfuzz.oracles.tensorir import Fault, sanitize
from relaxfuzz.oracles.tensorir.sanitizer.run import checked_run
from relaxfuzz.oracles.tensorir.sanitizer.runtime import (
    CONVERSION,
    DIVERGENT,
    DIVISION,
    OVERFLOW,
    RACE,
    READ_OUTSIDE,
    UNINITIALISED,
    UNWRITTEN,
    WRITE_OUTSIDE,
)


def floats(*shape: int) -> np.ndarray[Any, Any]:
    return np.arange(1, 1 + np.prod(shape, dtype=int), dtype="float32").reshape(shape)


def found(func: tirx.PrimFunc, *args: Any, outputs: tuple[int, ...] = (1,)) -> Fault:
    fault = sanitize(func, args, outputs=outputs, synchronised=True)
    assert fault is not None
    return fault


def clean(func: tirx.PrimFunc, *args: Any, outputs: tuple[int, ...] = (1,)) -> list[Any]:
    fault, own = checked_run(func, args, outputs=outputs, synchronised=True)
    assert fault is None, str(fault)
    return own


# Races within a block


@T.prim_func(private=True, s_tir=True)
def reversed_rows(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    bx = T.launch_thread("blockIdx.x", 2)
    tx = T.launch_thread("threadIdx.x", 32)
    S = T.alloc_buffer((32,), "float32", scope="shared")
    S[tx] = A[bx * 32 + tx]
    T.evaluate(T.tvm_storage_sync("shared"))
    B[bx * 32 + tx] = S[31 - tx]


@T.prim_func(private=True, s_tir=True)
def reversed_without_barrier(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    bx = T.launch_thread("blockIdx.x", 2)
    tx = T.launch_thread("threadIdx.x", 32)
    S = T.alloc_buffer((32,), "float32", scope="shared")
    S[tx] = A[bx * 32 + tx]
    B[bx * 32 + tx] = S[31 - tx]


def test_a_read_of_what_another_thread_has_written_needs_a_barrier() -> None:
    (_, b) = clean(reversed_rows, floats(64), floats(64))
    assert b[:32].tolist() == floats(64)[:32][::-1].tolist()
    fault = found(reversed_without_barrier, floats(64), floats(64))
    assert (fault.kind, fault.buffer, fault.index, fault.shape) == (RACE, "S", (31,), (32,))
    assert fault.statement == "B[bx * 32 + tx] = S[31 - tx]"


def test_before_barriers_are_put_statements_follow_each_other() -> None:
    args = [floats(64), floats(64)]
    assert sanitize(reversed_without_barrier, args, outputs=[1]) is None
    assert sanitize(reversed_without_barrier, args, outputs=[1], synchronised=False) is None


def test_races_may_be_looked_for_in_memory_of_one_scope() -> None:
    args = [floats(64), floats(64)]
    fault = sanitize(reversed_without_barrier, args, outputs=[1], synchronised="shared")
    assert fault is not None
    assert (fault.kind, fault.buffer) == (RACE, "S")
    assert sanitize(reversed_without_barrier, args, outputs=[1], synchronised="shared.dyn") is None


@T.prim_func(private=True, s_tir=True)
def summed(A: T.Buffer((4, 32), "float32"), B: T.Buffer((32,), "float32")):
    tx = T.launch_thread("threadIdx.x", 32)
    S = T.alloc_buffer((32,), "float32", scope="shared")
    L = T.alloc_buffer((1,), "float32", scope="local")
    L[0] = T.float32(0)
    for i in range(4):
        T.evaluate(T.tvm_storage_sync("shared"))
        S[tx] = A[i, tx]
        T.evaluate(T.tvm_storage_sync("shared"))
        L[0] = L[0] + S[31 - tx]
    B[tx] = L[0]


@T.prim_func(private=True, s_tir=True)
def summed_with_one_barrier(A: T.Buffer((4, 32), "float32"), B: T.Buffer((32,), "float32")):
    tx = T.launch_thread("threadIdx.x", 32)
    S = T.alloc_buffer((32,), "float32", scope="shared")
    L = T.alloc_buffer((1,), "float32", scope="local")
    L[0] = T.float32(0)
    for i in range(4):
        S[tx] = A[i, tx]
        T.evaluate(T.tvm_storage_sync("shared"))
        L[0] = L[0] + S[31 - tx]
    B[tx] = L[0]


def test_a_write_over_what_another_thread_still_reads_needs_a_barrier() -> None:
    (_, b) = clean(summed, floats(4, 32), floats(32))
    assert b.tolist() == floats(4, 32).sum(axis=0)[::-1].tolist()
    fault = found(summed_with_one_barrier, floats(4, 32), floats(32))
    assert (fault.kind, fault.statement) == (RACE, "S[tx] = A[i, tx]")


@T.prim_func(private=True, s_tir=True)
def everyone_writes(A: T.Buffer((1,), "float32"), B: T.Buffer((2,), "float32")):
    bx = T.launch_thread("blockIdx.x", 2)
    tx = T.launch_thread("threadIdx.x", 8)
    S = T.alloc_buffer((1,), "float32", scope="shared")
    S[0] = A[0] + T.Cast("float32", tx * 0)
    B[bx] = S[0]


@T.prim_func(private=True, s_tir=True)
def everyone_writes_something_else(A: T.Buffer((1,), "float32"), B: T.Buffer((2,), "float32")):
    bx = T.launch_thread("blockIdx.x", 2)
    tx = T.launch_thread("threadIdx.x", 8)
    S = T.alloc_buffer((1,), "float32", scope="shared")
    S[0] = A[0] + T.Cast("float32", tx)
    B[bx] = S[0]


def test_threads_may_write_one_value_but_not_two() -> None:
    clean(everyone_writes, floats(1), floats(2))
    fault = found(everyone_writes_something_else, floats(1), floats(2))
    assert (fault.kind, fault.buffer) == (RACE, "S")


@T.prim_func(private=True, s_tir=True)
def a_vector_to_one_element(A: T.Buffer((2, 4), "float32"), B: T.Buffer((2,), "float32")):
    tx = T.launch_thread("threadIdx.x", 2)
    B[T.Broadcast(tx, 4)] = A[tx, T.Ramp(0, 1, 4)]


def test_a_vector_may_write_one_value_but_not_two_to_an_element() -> None:
    clean(a_vector_to_one_element, np.ones((2, 4), "float32"), floats(2))
    fault = found(a_vector_to_one_element, floats(2, 4), floats(2))
    assert (fault.kind, fault.buffer) == (RACE, "B")


@T.prim_func(private=True, s_tir=True)
def tree(A: T.Buffer((32,), "float32"), B: T.Buffer((1,), "float32")):
    tx = T.launch_thread("threadIdx.x", 32)
    S = T.alloc_buffer((32,), "float32", scope="shared")
    S[tx] = A[tx]
    for i in range(5):
        T.evaluate(T.tvm_storage_sync("warp"))
        if tx < T.shift_right(16, i):
            S[tx] = S[tx] + S[tx + T.shift_right(16, i)]
    if tx == 0:
        B[0] = S[0]


@T.prim_func(private=True, s_tir=True)
def tree_of_two_warps(A: T.Buffer((64,), "float32"), B: T.Buffer((1,), "float32")):
    tx = T.launch_thread("threadIdx.x", 64)
    S = T.alloc_buffer((64,), "float32", scope="shared")
    S[tx] = A[tx]
    for i in range(6):
        T.evaluate(T.tvm_storage_sync("warp"))
        if tx < T.shift_right(32, i):
            S[tx] = S[tx] + S[tx + T.shift_right(32, i)]
    if tx == 0:
        B[0] = S[0]


def test_a_barrier_of_a_warp_orders_its_own_threads_only() -> None:
    (_, b) = clean(tree, floats(32), floats(1))
    assert b[0] == floats(32).sum()
    assert found(tree_of_two_warps, floats(64), floats(1)).kind == RACE


# Races between blocks


@T.prim_func(private=True, s_tir=True)
def halves(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    bx = T.launch_thread("blockIdx.x", 2)
    tx = T.launch_thread("threadIdx.x", 8)
    B[bx * 8 + tx] = A[bx * 8 + tx]


@T.prim_func(private=True, s_tir=True)
def overlapping(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    bx = T.launch_thread("blockIdx.x", 3)
    tx = T.launch_thread("threadIdx.x", 8)
    B[bx * 4 + tx] = A[bx * 4 + tx] + T.Cast("float32", bx)


@T.prim_func(private=True, s_tir=True)
def passed_on(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    bx = T.launch_thread("blockIdx.x", 2)
    tx = T.launch_thread("threadIdx.x", 8)
    A[bx * 8 + tx] = T.float32(2)
    T.evaluate(T.tvm_storage_sync("shared"))
    B[bx * 8 + tx] = A[15 - bx * 8 - tx]


def test_nothing_orders_blocks() -> None:
    clean(halves, floats(16), floats(16))
    assert found(overlapping, floats(16), floats(16)).kind == RACE
    assert found(passed_on, floats(16), floats(16)).kind == RACE


# Barriers


@T.prim_func(private=True, s_tir=True)
def some_wait(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    tx = T.launch_thread("threadIdx.x", 8)
    if tx < 3:
        T.evaluate(T.tvm_storage_sync("shared"))
    B[tx] = A[tx]


@T.prim_func(private=True, s_tir=True)
def some_blocks_wait(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    bx = T.launch_thread("blockIdx.x", 2)
    tx = T.launch_thread("threadIdx.x", 8)
    if bx < 1:
        T.evaluate(T.tvm_storage_sync("shared"))
    B[bx * 8 + tx] = A[bx * 8 + tx]


@T.prim_func(private=True, s_tir=True)
def some_wait_longer(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    tx = T.launch_thread("threadIdx.x", 8)
    for _ in range(tx):
        T.evaluate(T.tvm_storage_sync("shared"))
    B[tx] = A[tx]


def test_all_threads_of_a_block_reach_a_barrier() -> None:
    assert found(some_wait, floats(8), floats(8)).kind == DIVERGENT
    assert found(some_wait_longer, floats(8), floats(8)).kind == DIVERGENT
    clean(some_blocks_wait, floats(16), floats(16))


# Memory


@T.prim_func(private=True, s_tir=True)
def guarded(A: T.Buffer((60,), "float32"), B: T.Buffer((60,), "float32")):
    bx = T.launch_thread("blockIdx.x", 2)
    tx = T.launch_thread("threadIdx.x", 32)
    if bx * 32 + tx < 60:
        B[bx * 32 + tx] = A[bx * 32 + tx]


@T.prim_func(private=True, s_tir=True)
def unguarded(A: T.Buffer((60,), "float32"), B: T.Buffer((60,), "float32")):
    bx = T.launch_thread("blockIdx.x", 2)
    tx = T.launch_thread("threadIdx.x", 32)
    B[bx * 32 + tx] = T.if_then_else(bx * 32 + tx < 60, A[bx * 32 + tx], T.float32(0))


@T.prim_func(private=True, s_tir=True)
def read_unguarded(A: T.Buffer((60,), "float32"), B: T.Buffer((64,), "float32")):
    bx = T.launch_thread("blockIdx.x", 2)
    tx = T.launch_thread("threadIdx.x", 32)
    B[bx * 32 + tx] = A[bx * 32 + tx]


def test_accesses_outside_of_a_buffer() -> None:
    clean(guarded, floats(60), floats(60))
    fault = found(unguarded, floats(60), floats(60))
    assert (fault.kind, fault.buffer, fault.index) == (WRITE_OUTSIDE, "B", (60,))
    fault = found(read_unguarded, floats(60), floats(64))
    assert (fault.kind, fault.buffer, fault.index, fault.shape) == (READ_OUTSIDE, "A", (60,), (60,))


@T.prim_func(private=True, s_tir=True)
def off_by_one(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32")):
    tx = T.launch_thread("threadIdx.x", 32)
    S = T.alloc_buffer((33,), "float32", scope="shared")
    S[tx + 1] = A[tx]
    T.evaluate(T.tvm_storage_sync("shared"))
    B[tx] = S[tx]


@T.prim_func(private=True, s_tir=True)
def outside_of_a_tile(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32")):
    tx = T.launch_thread("threadIdx.x", 32)
    S = T.alloc_buffer((32,), "float32", scope="shared")
    S[tx + 1] = A[tx]
    T.evaluate(T.tvm_storage_sync("shared"))
    B[tx] = S[tx]


@T.prim_func(private=True, s_tir=True)
def half(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32")):
    tx = T.launch_thread("threadIdx.x", 16)
    B[tx] = A[tx]


def test_memory_that_nobody_has_written() -> None:
    fault = found(off_by_one, floats(32), floats(32))
    assert (fault.kind, fault.buffer, fault.index) == (UNINITIALISED, "S", (0,))
    fault = found(outside_of_a_tile, floats(32), floats(32))
    assert (fault.kind, fault.buffer, fault.index) == (WRITE_OUTSIDE, "S", (32,))
    assert found(half, floats(32), floats(32)).kind == UNWRITTEN


@T.prim_func(private=True, s_tir=True)
def merged(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    tx = T.launch_thread("threadIdx.x", 16)
    memory = T.alloc_buffer((128,), "uint8", scope="shared.dyn")
    S = T.decl_buffer((16,), "float32", data=memory.data, scope="shared.dyn")
    H = T.decl_buffer((32,), "float16", data=memory.data, scope="shared.dyn")
    S[tx] = A[tx]
    T.evaluate(T.tvm_storage_sync("shared.dyn"))
    B[tx] = S[15 - tx]
    T.evaluate(T.tvm_storage_sync("shared.dyn"))
    H[tx] = T.Cast("float16", A[tx])
    T.evaluate(T.tvm_storage_sync("shared.dyn"))
    B[tx] = B[tx] + T.Cast("float32", H[15 - tx])


@T.prim_func(private=True, s_tir=True)
def merged_too_closely(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    tx = T.launch_thread("threadIdx.x", 16)
    memory = T.alloc_buffer((128,), "uint8", scope="shared.dyn")
    S = T.decl_buffer((16,), "float32", data=memory.data, scope="shared.dyn")
    H = T.decl_buffer((32,), "float16", data=memory.data, scope="shared.dyn")
    S[tx] = A[tx]
    T.evaluate(T.tvm_storage_sync("shared.dyn"))
    B[tx] = S[15 - tx]
    H[tx] = T.Cast("float16", A[tx])
    T.evaluate(T.tvm_storage_sync("shared.dyn"))
    B[tx] = B[tx] + T.Cast("float32", H[15 - tx])


def test_two_buffers_in_one_memory() -> None:
    (_, b) = clean(merged, floats(16), floats(16))
    assert b.tolist() == (2 * floats(16)[::-1]).tolist()
    fault = found(merged_too_closely, floats(16), floats(16))
    assert (fault.kind, fault.buffer) == (RACE, "H")


@T.prim_func(private=True, s_tir=True)
def merged_as_tvm_does(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    """The shapes are those of the buffers, the indices those in the memory."""
    tx = T.launch_thread("threadIdx.x", 16)
    memory = T.alloc_buffer((128,), "uint8", scope="shared.dyn")
    R = T.decl_buffer((16,), "float32", data=memory.data, scope="shared.dyn")
    S = T.decl_buffer((16,), "float32", data=memory.data, scope="shared.dyn")
    R[tx] = A[tx]
    S[tx + 16] = A[tx]
    T.evaluate(T.tvm_storage_sync("shared.dyn"))
    B[tx] = R[15 - tx] + S[31 - tx]


@T.prim_func(private=True, s_tir=True)
def merged_beyond_the_memory(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    tx = T.launch_thread("threadIdx.x", 16)
    memory = T.alloc_buffer((128,), "uint8", scope="shared.dyn")
    S = T.decl_buffer((16,), "float32", data=memory.data, scope="shared.dyn")
    S[tx + 17] = A[tx]
    T.evaluate(T.tvm_storage_sync("shared.dyn"))
    B[tx] = S[tx + 17]


def test_what_is_merged_is_found_behind_the_shape_of_its_view() -> None:
    (_, b) = clean(merged_as_tvm_does, floats(16), floats(16))
    assert b.tolist() == (2 * floats(16)[::-1]).tolist()
    fault = found(merged_beyond_the_memory, floats(16), floats(16))
    assert (fault.kind, fault.buffer, fault.index) == (WRITE_OUTSIDE, "S", (32,))


# Registers


@T.prim_func(private=True, s_tir=True)
def poison_unused(A: T.Buffer((32,), "float32"), B: T.Buffer((1,), "float32")):
    tx = T.launch_thread("threadIdx.x", 32)
    L = T.alloc_buffer((1,), "float32", scope="local")
    if tx < 8:
        L[0] = A[tx]
    for i in range(3):
        L[0] = L[0] + T.tvm_warp_shuffle_down(
            T.uint32(0xFFFFFFFF), L[0], T.shift_right(4, i), 32, 32
        )
    if tx == 0:
        B[0] = L[0]


@T.prim_func(private=True, s_tir=True)
def poison_used(A: T.Buffer((32,), "float32"), B: T.Buffer((1,), "float32")):
    tx = T.launch_thread("threadIdx.x", 32)
    L = T.alloc_buffer((1,), "float32", scope="local")
    if tx < 7:
        L[0] = A[tx]
    for i in range(3):
        L[0] = L[0] + T.tvm_warp_shuffle_down(
            T.uint32(0xFFFFFFFF), L[0], T.shift_right(4, i), 32, 32
        )
    if tx == 0:
        B[0] = L[0]


@T.prim_func(private=True, s_tir=True)
def poison_decides(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    tx = T.launch_thread("threadIdx.x", 8)
    L = T.alloc_buffer((1,), "float32", scope="local")
    if tx < 7:
        L[0] = A[tx]
    if L[0] > T.float32(0):
        B[tx] = A[tx]


@T.prim_func(private=True, s_tir=True)
def asks_the_absent(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    tx = T.launch_thread("threadIdx.x", 8)
    B[tx] = T.tvm_warp_shuffle_down(T.uint32(0xFFFFFFFF), A[tx], 4, 32, 32)


def test_registers_may_be_unwritten_as_long_as_nobody_sees_it() -> None:
    (_, b) = clean(poison_unused, floats(32), floats(1))
    assert b[0] == floats(32)[:8].sum()
    fault = found(poison_used, floats(32), floats(1))
    assert (fault.kind, fault.buffer) == (UNINITIALISED, "L")
    assert found(poison_decides, floats(8), floats(8)).kind == UNINITIALISED
    assert found(asks_the_absent, floats(8), floats(8)).kind == UNINITIALISED


# Arithmetic


@T.prim_func(private=True, s_tir=True)
def divided(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
    tx = T.launch_thread("threadIdx.x", 8)
    if tx > 0:
        B[tx] = T.floordiv(A[tx], tx)
    else:
        B[tx] = 0


@T.prim_func(private=True, s_tir=True)
def divided_by_zero(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
    tx = T.launch_thread("threadIdx.x", 8)
    B[tx] = T.floordiv(A[tx], tx)


@T.prim_func(private=True, s_tir=True)
def converted(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "int8")):
    tx = T.launch_thread("threadIdx.x", 8)
    B[tx] = T.Cast("int8", A[tx])


def test_arithmetic_of_active_threads() -> None:
    ints, out = np.arange(8, dtype="int32"), np.zeros(8, "int32")
    clean(divided, ints, out)
    assert found(divided_by_zero, ints, out).kind == DIVISION
    clean(converted, floats(8), np.zeros(8, "int8"))
    assert found(converted, 100 * floats(8), np.zeros(8, "int8")).kind == CONVERSION


# The host


@I.ir_module(s_tir=True)
class Module:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
        T.func_attr({"global_symbol": "main", "target": T.target("cuda", host="llvm")})
        bx = T.launch_thread("blockIdx.x", 2)
        tx = T.launch_thread("threadIdx.x", 32)
        S = T.alloc_buffer((32,), "float32", scope="shared")
        S[tx] = A[bx * 32 + tx]
        B[bx * 32 + tx] = S[31 - tx]


def test_a_kernel_that_is_split_from_the_host_has_its_barriers() -> None:
    args = [floats(64), floats(64)]
    assert sanitize(Module["main"], args, outputs=[1]) is None
    split = tirx.transform.SplitHostDevice()(Module)
    fault = sanitize(split["main"], args, outputs=[1], module=split)
    assert fault is not None
    assert fault.kind == RACE
    synchronised = tvm.s_tir.transform.ThreadSync("shared")(Module)
    split = tirx.transform.SplitHostDevice()(synchronised)
    assert sanitize(split["main"], args, outputs=[1], module=split) is None


# Integers that overflow


@T.prim_func(private=True, s_tir=True)
def doubled(A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32")):
    tx = T.launch_thread("threadIdx.x", 8)
    if tx // 2 < 2:
        B[tx // 2] = A[tx // 2 + 1] * 2 - A[tx // 2]


@T.prim_func(private=True, s_tir=True)
def registers(A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32")):
    tx = T.launch_thread("threadIdx.x", 4)
    R = T.alloc_buffer((1,), "int32", scope="local")
    S = T.alloc_buffer((1,), "int32", scope="local")
    if tx < 2:
        R[0] = A[tx]
    S[0] = R[0] * 1000
    if tx < 2:
        B[tx] = S[0]


def overflows(func: tirx.PrimFunc, *numbers: int) -> bool:
    given = np.int32(numbers)
    fault = sanitize(func, [given, given.copy()], overflow=True)
    assert fault is None or fault.kind == OVERFLOW
    assert sanitize(func, [given, given.copy()]) is None
    return fault is not None


def test_sums_and_products_of_threads_may_overflow() -> None:
    assert not overflows(doubled, 2**31 - 1, 0, 2**30 - 1, 7)
    assert overflows(doubled, 2**31 - 1, -1, 0, 0)
    assert overflows(doubled, 0, 2**30, 0, 0)
    assert not overflows(doubled, 0, 0, 0, 2**30)  # of threads that do not take part


def test_what_nobody_has_written_does_not_overflow() -> None:
    assert not overflows(registers, 1, 2, 3, 4)
    assert overflows(registers, 1, 2**30, 3, 4)


@T.prim_func(private=True, s_tir=True)
def last_word(A: T.Buffer((16,), "float32"), B: T.Buffer((1,), "float32")):
    tx = T.launch_thread("threadIdx.x", 16)
    S = T.alloc_buffer((1,), "float32", scope="shared")
    S[0] = A[tx]
    B[0] = S[0]


def test_no_barrier_orders_the_threads_of_one_statement() -> None:
    args = [floats(16), np.zeros(1, "float32")]
    fault = sanitize(last_word, args, outputs=(1,))
    assert fault is not None
    assert (fault.kind, fault.buffer) == (RACE, "S")
    args[0][:] = 3
    assert sanitize(last_word, args, outputs=(1,)) is None
