"""What kernels compute: threads in lockstep, and what they do together."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tvm
from tvm import tirx
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from relaxfuzz.oracles.errors import TooLarge, Unsupported
from relaxfuzz.oracles.evaluate import evaluate
from relaxfuzz.oracles.tensorir import sanitize, translate


def numbers(*shape: int, dtype: str = "float32") -> np.ndarray[Any, Any]:
    return np.arange(1, 1 + np.prod(shape, dtype=int)).reshape(shape).astype(dtype)


def run(func: tirx.PrimFunc, *args: Any) -> Any:
    """The last argument after a call."""
    own = [arg.copy() if isinstance(arg, np.ndarray) else arg for arg in args]
    translate(func)(*own)
    return own[-1]


@T.prim_func(private=True, s_tir=True)
def transposed(a: T.handle, b: T.handle):
    n, m = T.int64(), T.int64()
    A = T.match_buffer(a, (n, m), "float32")
    B = T.match_buffer(b, (m, n), "float32")
    by = T.launch_thread("blockIdx.y", (n + T.int64(3)) // T.int64(4))
    bx = T.launch_thread("blockIdx.x", (m + T.int64(3)) // T.int64(4))
    ty = T.launch_thread("threadIdx.y", 4)
    tx = T.launch_thread("threadIdx.x", 4)
    S = T.alloc_buffer((4, 4), "float32", scope="shared")
    if by * T.int64(4) + T.Cast("int64", ty) < n and bx * T.int64(4) + T.Cast("int64", tx) < m:
        S[ty, tx] = A[by * T.int64(4) + T.Cast("int64", ty), bx * T.int64(4) + T.Cast("int64", tx)]
    T.evaluate(T.tvm_storage_sync("shared"))
    if bx * T.int64(4) + T.Cast("int64", ty) < m and by * T.int64(4) + T.Cast("int64", tx) < n:
        B[bx * T.int64(4) + T.Cast("int64", ty), by * T.int64(4) + T.Cast("int64", tx)] = S[tx, ty]


@pytest.mark.parametrize("shape", [(1, 1), (4, 8), (7, 3), (0, 5)])
def test_tiles_of_shared_memory(shape: tuple[int, int]) -> None:
    a = numbers(*shape)
    np.testing.assert_array_equal(run(transposed, a, numbers(*shape[::-1])), a.T)


@T.prim_func(private=True, s_tir=True)
def triangle(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
    tx = T.launch_thread("threadIdx.x", 8)
    B[tx] = 0
    for i in range(tx, 8):
        if A[i] % 2 == 0:
            B[tx] = B[tx] + A[i]
        else:
            B[tx] = B[tx] - 1


@T.prim_func(private=True, s_tir=True)
def halved(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
    tx = T.launch_thread("threadIdx.x", 8)
    n = T.alloc_buffer((1,), "int32", scope="local")
    n[0] = A[tx]
    B[tx] = 0
    while n[0] > 1:
        n[0] = n[0] // 2
        B[tx] = B[tx] + 1


def test_threads_diverge() -> None:
    a = numbers(8, dtype="int32")
    expected = [sum(int(x) if x % 2 == 0 else -1 for x in a[i:]) for i in range(8)]
    assert run(triangle, a, a).tolist() == expected
    assert run(halved, a, a).tolist() == [0, 1, 1, 2, 2, 2, 2, 3]


@T.prim_func(private=True, s_tir=True)
def vectors(A: T.Buffer((16,), "float16"), B: T.Buffer((16,), "float16")):
    tx = T.launch_thread("threadIdx.x", 4)
    L = T.alloc_buffer((2,), "float16x2", scope="local")
    L[0] = A[T.Ramp(tx * 4, 1, 2)]
    L[1] = T.Broadcast(A[tx], 2) * T.Broadcast(T.float16(2), 2)
    B[T.Ramp(tx * 4, 2, 2)] = L[0] + L[1]
    B[T.Ramp(tx * 4 + 1, 2, 2)] = T.if_then_else(
        tx < 3, A[T.Ramp(tx * 4 + 4, 1, 2)], T.Broadcast(T.float16(0), 2)
    )


@T.prim_func(private=True, s_tir=True)
def vectors_of_the_host(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
    for i in range(2):
        B[T.Ramp(i * 4, 1, 4)] = T.Select(
            A[T.Ramp(i * 4, 1, 4)] > T.Broadcast(3, 4), T.Ramp(i, 2, 4), T.Broadcast(-1, 4)
        )


def test_vectors() -> None:
    a = numbers(16, dtype="float16")
    expected = []
    for t in range(4):
        first = a[4 * t : 4 * t + 2] + 2 * a[t]
        second = a[4 * t + 4 : 4 * t + 6] if t < 3 else np.zeros(2)
        expected += [first[0], second[0], first[1], second[1]]
    assert run(vectors, a, a).tolist() == expected
    ints = numbers(8, dtype="int32")
    assert run(vectors_of_the_host, ints, ints).tolist() == [-1, -1, -1, 6, 1, 3, 5, 7]


@T.prim_func(private=True, s_tir=True)
def shuffled(A: T.Buffer((64,), "int32"), B: T.Buffer((4, 64), "int32")):
    tx = T.launch_thread("threadIdx.x", 64)
    mask = T.alloc_buffer((1,), "uint32", scope="local")
    mask[0] = T.tvm_warp_activemask()
    same = T.Cast("uint64", A[tx] * 0) + T.uint64(3)
    B[0, tx] = T.tvm_warp_shuffle(mask[0], A[tx], same, 32, 32)
    B[1, tx] = T.tvm_warp_shuffle_up(mask[0], A[tx], 2, 32, 32)
    B[2, tx] = T.tvm_warp_shuffle_down(mask[0], A[tx], 5, 8, 32)
    B[3, tx] = T.Cast("int32", mask[0] & T.uint32(0xFF))


def test_shuffles_stay_in_their_warp() -> None:
    got = run(shuffled, np.arange(64, dtype="int32"), np.zeros((4, 64), "int32"))
    lane = np.arange(64)
    assert got[0].tolist() == [3] * 32 + [35] * 32
    assert got[1].tolist() == [int(i) if i % 32 < 2 else int(i) - 2 for i in lane]
    assert got[2].tolist() == [int(i) + 5 if i % 8 < 3 else int(i) for i in lane]
    assert set(got[3].tolist()) == {0xFF}


@T.prim_func(private=True, s_tir=True)
def reduced(A: T.Buffer((2, 3, 5), "float32"), B: T.Buffer((2, 3), "float32")):
    bx = T.launch_thread("blockIdx.x", 2)
    ty = T.launch_thread("threadIdx.y", 3)
    tx = T.launch_thread("threadIdx.x", 5)
    L = T.alloc_buffer((1,), "float32", scope="local")
    with T.attr(T.comm_reducer(lambda x, y: x + y, [T.float32(0)]), "reduce_scope", T.int32(0)):
        T.tvm_thread_allreduce(T.uint32(1), A[bx, ty, tx], tx != 2, L[0], tx)
    B[bx, ty] = L[0]


def test_an_allreduce_is_along_its_threads_only() -> None:
    a = numbers(2, 3, 5)
    got = run(reduced, a, numbers(2, 3))
    np.testing.assert_array_equal(got, a.sum(axis=-1) - a[..., 2])


@T.prim_func(private=True, s_tir=True)
def scheduled_twice(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    with T.sblock("root"):
        S = T.sblock_alloc_buffer((8,), "float32", scope="shared")
        for tx in T.thread_binding(8, thread="threadIdx.x"):
            for k in range(2):
                for ax in T.thread_binding(8, thread="threadIdx.x"):
                    with T.sblock("copy"):
                        v, vk = T.axis.remap("SS", [ax, k])
                        S[v] = A[v] * T.Cast("float32", vk + 1)
                with T.sblock("use"):
                    v = T.axis.spatial(8, tx)
                    B[v] = S[7 - v]


def test_a_thread_that_is_bound_twice_is_one_thread() -> None:
    assert run(scheduled_twice, numbers(8), numbers(8)).tolist() == (2 * numbers(8)[::-1]).tolist()


@T.prim_func(private=True)
def read_by_the_host(A: T.Buffer((8,), "float32"), B: T.Buffer((1,), "float32")):
    S = T.alloc_buffer((1,), "float32")
    for tx in T.thread_binding(8, thread="threadIdx.x"):
        if tx == 5:
            S[0] = A[tx]
    B[0] = S[0]


def test_what_stands_beside_a_loop_over_threads_is_the_hosts() -> None:
    assert run(read_by_the_host, numbers(8), numbers(1)).tolist() == [6]
    flat = tirx.transform.FlattenBuffer()(tvm.IRModule({"main": read_by_the_host}))
    lowered = tvm.s_tir.transform.UnifyThreadBinding()(flat)
    assert run(lowered["main"], numbers(8), numbers(1)).tolist() == [6]


@T.prim_func(private=True, s_tir=True)
def with_tensor_cores(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    tx = T.launch_thread("threadIdx.x", 8)
    T.evaluate(T.tvm_mma_sync(B.data, 0, A.data, 0, A.data, 0, B.data, 0))
    B[tx] = A[tx]


@T.prim_func(private=True, s_tir=True)
def with_fragments(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    tx = T.launch_thread("threadIdx.x", 8)
    F = T.alloc_buffer((8,), "float32", scope="wmma.accumulator")
    F[tx] = A[tx]
    B[tx] = F[tx]


def test_what_is_not_known_is_named() -> None:
    with pytest.raises(Unsupported, match="tvm_mma_sync"):
        translate(with_tensor_cores)
    with pytest.raises(Unsupported, match="scope wmma"):
        translate(with_fragments)


@I.ir_module(s_tir=True)
class Split:
    @T.prim_func(s_tir=True)
    def double(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
        T.func_attr({"global_symbol": "double", "target": T.target("cuda", host="llvm")})
        bx = T.launch_thread("blockIdx.x", 2)
        tx = T.launch_thread("threadIdx.x", 32)
        B[bx * 32 + tx] = A[bx * 32 + tx] * T.float32(2)

    @R.function
    def main(x: R.Tensor((64,), "float32")):
        cls = Split
        with R.dataflow():
            y = R.call_tir(cls.double, (x,), out_ty=R.Tensor((64,), "float32"))
            R.output(y)
        return y


def test_the_host_launches_kernels_of_the_module() -> None:
    split = tirx.transform.SplitHostDevice()(Split)
    assert len(split.functions) == 3
    x = numbers(64)
    np.testing.assert_array_equal(evaluate(split, "main", [x]), 2 * x)
    with pytest.raises(Unsupported, match=r"call_ffi_kernel|double_kernel"):
        translate(split["double"])


@T.prim_func(private=True, s_tir=True)
def repeated(A: T.Buffer((4,), "float32"), count: T.int32):
    tx = T.launch_thread("threadIdx.x", 4)
    for _ in range(count):
        A[tx] = A[tx] * T.float32(0.5) + T.float32(1)


def test_few_threads_take_long_for_many_iterations() -> None:
    own = numbers(4)
    translate(repeated)(own, 1000)
    np.testing.assert_allclose(own, 2)
    # A step of few lanes costs what some ten iterations of a Python loop do.
    with pytest.raises(TooLarge):
        translate(repeated)(numbers(4), 500_000)


def sort(a: Any, b: Any) -> Any:
    shape = T.tvm_stack_make_shape(8)
    floats = T.tvm_stack_make_array(a.data, shape, 0, 1, T.float32(0), 0)
    integers = T.tvm_stack_make_array(b.data, shape, 0, 1, 0, 0)
    return T.call_packed("tvm.contrib.sort.argsort", floats, integers, 0, True)


@T.prim_func(private=True, s_tir=True)
def sorts(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "int32")):
    T.evaluate(sort(A, B))


@T.prim_func(private=True, s_tir=True)
def sorts_in_a_kernel(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "int32")):
    for _ in T.thread_binding(1, thread="threadIdx.x"):
        T.evaluate(sort(A, B))


def test_what_a_function_of_the_host_does_to_the_memory_of_kernels_is_not_known() -> None:
    args = [numbers(8), np.zeros(8, "int32")]
    assert sanitize(sorts, args, outputs=[1]) is None
    with pytest.raises(Unsupported, match=r"function tvm\.contrib\.sort\.argsort next to kernels"):
        sanitize(sorts_in_a_kernel, args, outputs=[1])
