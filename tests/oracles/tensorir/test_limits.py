"""What kernels ask of a device."""

from __future__ import annotations

import pytest
from tvm import tirx
from tvm.script import tirx as T
from tvm.target import Target

from relaxfuzz.oracles.tensorir.threads.limits import over_limits


def kernel(threads: int, elements: int, dtype: str = "float32") -> tirx.PrimFunc:
    @T.prim_func(private=True, s_tir=True)
    def func(A: T.Buffer((1024,), "float32")):
        T.launch_thread("blockIdx.x", 100000)
        ty = T.launch_thread("threadIdx.y", 2)
        tx = T.launch_thread("threadIdx.x", threads)
        S = T.alloc_buffer((elements,), dtype, scope="shared")
        S[tx] = T.Cast(dtype, tx)
        A[tx] = T.Cast("float32", S[ty])

    return func


@pytest.mark.parametrize(
    ("target", "threads", "elements", "fault"),
    [
        ("cuda", 512, 64, None),
        ("cuda", 513, 64, "1026 threads in a block, and cuda has max_num_threads = 1024"),
        ("metal", 128, 8192, None),
        (
            "metal",
            128,
            8193,
            "32772 bytes of shared memory in a block, and metal has "
            "max_shared_memory_per_block = 32768",
        ),
        (
            {"kind": "vulkan", "max_block_size_x": 64},
            65,
            8,
            "65 threads along x, and vulkan has max_block_size_x = 64",
        ),
        ("llvm", 5000, 8, None),
    ],
)
def test_limits(target: object, threads: int, elements: int, fault: str | None) -> None:
    assert over_limits(kernel(threads, elements), Target(target)) == fault


def launched(blocks: int, axis: str) -> tirx.PrimFunc:
    @T.prim_func(private=True, s_tir=True)
    def func(A: T.Buffer((70000,), "float32")):
        block = T.launch_thread(f"blockIdx.{axis}", blocks)
        A[block] = T.float32(0)

    return func


@pytest.mark.parametrize("axis", ["y", "z"])
def test_a_grid_of_cuda_is_long_along_x_only(axis: str) -> None:
    assert over_limits(launched(70000, "x"), Target("cuda")) is None
    assert over_limits(launched(65535, axis), Target("cuda")) is None
    fault = f"70000 blocks along {axis}, and cuda launches 65535"
    assert over_limits(launched(70000, axis), Target("cuda")) == fault
    assert over_limits(launched(70000, axis), Target("vulkan")) is None


def test_the_target_is_that_of_the_function() -> None:
    func = kernel(600, 8)
    assert over_limits(func) is None
    assert over_limits(func.with_attr("target", Target("cuda"))) is not None
