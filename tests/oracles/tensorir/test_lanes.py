"""Loops that run in lanes give, bit by bit, what one iteration after the other gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tvm import tirx
from tvm.script import tirx as T

from relaxfuzz.oracles.dtypes import dtype_of
from relaxfuzz.oracles.errors import TooLarge, Undefined
from relaxfuzz.oracles.tensorir import STEPS, translate
from relaxfuzz.oracles.tensorir import runtime as runtime_module
from relaxfuzz.oracles.tensorir.program import compiled
from relaxfuzz.oracles.tensorir.statements import Statements

from .native import assert_close, assert_same_bits, copies, run_native


@T.prim_func
def elementwise(A: T.Buffer((4, 6), "float32"), B: T.Buffer((4, 6), "float32")):
    for i, j in T.grid(4, 6):
        B[i, j] = A[i, j] * T.float32(0.1)


@T.prim_func
def transposed(A: T.Buffer((4, 6), "float32"), B: T.Buffer((6, 4), "float32")):
    for i, j in T.grid(4, 6):
        B[j, i] = A[i, j]


@T.prim_func
def diagonal(A: T.Buffer((4, 4), "float32"), B: T.Buffer((4,), "float32")):
    for i in range(4):
        B[i] = A[i, i]


@T.prim_func
def several_depths(A: T.Buffer((3, 4, 5), "float32"), B: T.Buffer((3, 5), "float32")):
    for i in range(3):
        for k in range(5):
            B[i, k] = T.float32(0)
        for j in range(4):
            for k in range(5):
                B[i, k] = B[i, k] + A[i, j, k]
        for k in range(5):
            B[i, k] = B[i, k] * A[i, 0, k]


@T.prim_func
def sum_of_all(A: T.Buffer((7, 5), "float32"), B: T.Buffer((1,), "float32")):
    B[0] = T.float32(1)
    for i, j in T.grid(7, 5):
        B[0] = B[0] + A[i, j]


@T.prim_func
def half_sum(A: T.Buffer((3, 40), "float16"), B: T.Buffer((3,), "float16")):
    for i, k in T.grid(3, 40):
        B[i] = B[i] + A[i, k]


@T.prim_func
def column_sums(A: T.Buffer((7, 5), "float32"), B: T.Buffer((5,), "float32")):
    for k, j in T.grid(7, 5):
        B[j] = A[k, j] + B[j]


@T.prim_func
def sums_around(A: T.Buffer((3, 4, 5), "float32"), B: T.Buffer((4,), "float32")):
    for k, i, r in T.grid(3, 4, 5):
        B[i] = B[i] + A[k, i, r]


@T.prim_func
def product_of_bytes(A: T.Buffer((5, 6), "int8"), B: T.Buffer((5,), "int8")):
    for i, k in T.grid(5, 6):
        B[i] = B[i] * A[i, k]


@T.prim_func
def maximum_with_nan(A: T.Buffer((5, 6), "float32"), B: T.Buffer((5,), "float32")):
    for i, k in T.grid(5, 6):
        B[i] = T.max(B[i], A[i, k])


@T.prim_func
def maximum_the_other_way(A: T.Buffer((5, 6), "float32"), B: T.Buffer((5,), "float32")):
    for i, k in T.grid(5, 6):
        B[i] = T.max(A[i, k], B[i])


@T.prim_func
def smallest_byte(A: T.Buffer((5, 6), "uint8"), B: T.Buffer((5,), "uint8")):
    for i, k in T.grid(5, 6):
        B[i] = T.min(A[i, k], B[i])


@T.prim_func(s_tir=True)
def block_reduction(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4,), "float32")):
    for i, k0, k1 in T.grid(4, 2, 4):
        with T.sblock("sum"):
            vi = T.axis.spatial(4, i)
            vk = T.axis.reduce(8, k0 * 4 + k1)
            with T.init():
                B[vi] = T.float32(2)
            B[vi] = B[vi] + A[vi, vk]


@T.prim_func(s_tir=True)
def block_reduction_outside(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4,), "float32")):
    for k, i in T.grid(8, 4):
        with T.sblock("sum"):
            vk, vi = T.axis.remap("RS", [k, i])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi, vk]


@T.prim_func(s_tir=True)
def argmax(
    A: T.Buffer((4, 8), "float32"), B: T.Buffer((4,), "int32"), C: T.Buffer((4,), "float32")
):
    for i, k in T.grid(4, 8):
        with T.sblock("argmax"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = -1
                C[vi] = T.float32(-100)
            index: T.let[T.int32] = T.Select(C[vi] >= A[vi, vk], B[vi], vk)
            value: T.let[T.float32] = T.Select(C[vi] >= A[vi, vk], C[vi], A[vi, vk])
            B[vi] = index
            C[vi] = value


@T.prim_func(s_tir=True)
def predicate(A: T.Buffer((10,), "float32"), B: T.Buffer((10,), "float32")):
    for i, j in T.grid(3, 4):
        with T.sblock("copy"):
            v = T.axis.spatial(10, i * 4 + j)
            T.where(i * 4 + j < 10)
            B[v] = A[v] + T.float32(1)


@T.prim_func
def fused(A: T.Buffer((3, 4, 5), "float32"), B: T.Buffer((3, 4, 5), "float32")):
    for f in range(60):
        B[f // 20, f % 20 // 5, f % 5] = A[f // 20, f // 5 % 4, f % 5]


@T.prim_func
def fused_from_three(A: T.Buffer((24,), "float32"), B: T.Buffer((6, 4), "float32")):
    for a, b, c in T.grid(2, 3, 4):
        B[(c * 6 + a * 3 + b) // 4, (c * 6 + a * 3 + b) % 4] = A[c * 6 + a * 3 + b]


@T.prim_func
def digits_that_miss_one(A: T.Buffer((24,), "int32"), B: T.Buffer((2, 4), "int32")):
    for f in range(24):
        B[f // 12, f % 4] = A[f]


@T.prim_func
def windows(A: T.Buffer((4, 2), "float32"), B: T.Buffer((8,), "float32")):
    for i, j in T.grid(4, 2):
        B[i * 2 + j] = A[i, j]
        B[i * 2 + 1 - j] = B[i * 2 + 1 - j] + T.float32(1)


@T.prim_func
def guarded_pad(A: T.Buffer((4,), "float32"), B: T.Buffer((7,), "float32")):
    for i in range(7):
        B[i] = T.if_then_else(i >= 1 and i < 5, A[i - 1], T.float32(9))


@T.prim_func
def guard_that_reads(A: T.Buffer((4,), "int32"), B: T.Buffer((7,), "int32")):
    for i in range(7):
        B[i] = T.if_then_else(i < 4 and A[i] > 0, A[i], 9)


@T.prim_func
def guard_by_or(A: T.Buffer((4,), "int32"), B: T.Buffer((7,), "int32")):
    for i in range(7):
        B[i] = T.if_then_else(i >= 4 or A[i] > 0, 9, A[i])


@T.prim_func
def branches(A: T.Buffer((6,), "float32"), B: T.Buffer((4,), "float32")):
    for i in range(6):
        if i < 4:
            if A[i] > T.float32(0):
                B[i] = A[i]
            else:
                B[i] = -A[i]


@T.prim_func
def value_kept(A: T.Buffer((6,), "float32"), B: T.Buffer((6,), "float32")):
    for i in range(6):
        old: T.let[T.float32] = A[i]
        A[i] = T.float32(0)
        B[i] = old


@T.prim_func
def condition_kept(A: T.Buffer((6,), "bool"), B: T.Buffer((6,), "int32")):
    for i in range(6):
        if A[i]:
            A[i] = T.bool(False)
            B[i] = 1
        else:
            A[i] = T.bool(True)
            B[i] = 2


@T.prim_func
def divides(A: T.Buffer((6,), "int32"), B: T.Buffer((6,), "int32")):
    for i in range(6):
        B[i] = T.if_then_else(A[i] != 0, T.truncdiv(7, A[i]), 0)


@T.prim_func
def backward(A: T.Buffer((6,), "float32")):
    for i in range(6):
        A[i] = A[5 - i] + T.float32(1)


@T.prim_func
def shifts_along(A: T.Buffer((6,), "float32")):
    for i in range(5):
        A[i + 1] = A[i] + T.float32(1)


@T.prim_func
def scan(A: T.Buffer((3, 6), "float32"), B: T.Buffer((3, 6), "float32")):
    for i in range(3):
        B[i, 0] = A[i, 0]
        for j in range(5):
            B[i, j + 1] = B[i, j] + A[i, j + 1]


@T.prim_func
def scatter(A: T.Buffer((6,), "int32"), B: T.Buffer((6,), "int32")):
    for i in range(6):
        B[A[i] % 6] = i


@T.prim_func
def histogram(A: T.Buffer((6,), "int32"), B: T.Buffer((6,), "int32")):
    for i in range(6):
        B[A[i] % 6] = B[A[i] % 6] + 1


@T.prim_func
def alternating(A: T.Buffer((6,), "float32"), B: T.Buffer((1,), "float32")):
    for i in range(6):
        B[0] = A[i] - B[0]


@T.prim_func
def feeds_itself(A: T.Buffer((6,), "float32"), B: T.Buffer((2,), "float32")):
    for i in range(6):
        B[0] = B[0] + A[i] * B[1] + B[0]


@T.prim_func
def other_element(A: T.Buffer((6,), "float32"), B: T.Buffer((2,), "float32")):
    for i in range(6):
        B[0] = B[1] + A[i]


@T.prim_func(s_tir=True)
def begins_again(A: T.Buffer((3, 4), "float32"), B: T.Buffer((1,), "float32")):
    for t, k in T.grid(3, 4):
        with T.sblock("sum"):
            vt, vk = T.axis.remap("SR", [t, k])
            with T.init():
                B[0] = T.float32(0)
            B[0] = B[0] + A[vt, vk]


@T.prim_func
def overlapping(A: T.Buffer((4, 3), "float32"), B: T.Buffer((10,), "float32")):
    for i, j in T.grid(4, 3):
        B[i * 2 + j] = A[i, j]


@T.prim_func
def scratch(
    A: T.Buffer((6,), "float32"), B: T.Buffer((6,), "float32"), C: T.Buffer((1,), "float32")
):
    for i in range(6):
        C[0] = A[i]
        B[i] = C[0] * C[0]


@T.prim_func
def triangle(A: T.Buffer((5, 5), "float32"), B: T.Buffer((5,), "float32")):
    for i in range(5):
        for j in range(i):
            B[i] = B[i] + A[i, j]


@T.prim_func
def other_name(A: T.Buffer((8,), "float32")):
    B = T.decl_buffer((2, 4), "float32", data=A.data)
    for i in range(4):
        A[i] = B[1, 3 - i]
        B[0, 3 - i] = A[i] + T.float32(1)


@T.prim_func
def searches(A: T.Buffer((6,), "int32"), B: T.Buffer((6,), "int32")):
    for i in range(6):
        B[i] = 0
        while B[i] * B[i] < A[i]:
            B[i] = B[i] + 1


@T.prim_func
def strided(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in T.serial(0, 8, step=2):
        B[i] = A[i]
        B[i + 1] = -A[i]


@T.prim_func
def from_the_middle(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in T.serial(3, 7):
        B[i - 3] = A[i] + B[i - 3]


@T.prim_func
def after_each_other(A: T.Buffer((4, 3), "float32"), B: T.Buffer((4,), "float32")):
    for i, k in T.grid(4, 3):
        B[i] = A[i, k]


CASES: list[tuple[tirx.PrimFunc, int]] = [
    *((func, 0) for func in (elementwise, transposed, diagonal, several_depths)),
    *((func, 0) for func in (sum_of_all, half_sum, column_sums, sums_around, product_of_bytes)),
    *((func, 0) for func in (maximum_with_nan, smallest_byte)),
    (maximum_the_other_way, 1),
    *((func, 0) for func in (block_reduction, block_reduction_outside, predicate)),
    (argmax, 1),
    (fused, 0),
    (fused_from_three, 2),
    (digits_that_miss_one, 1),
    (windows, 1),
    *((func, 0) for func in (guarded_pad, guard_that_reads, guard_by_or, branches)),
    *((func, 0) for func in (value_kept, condition_kept, divides, strided, from_the_middle)),
    *((func, 1) for func in (backward, shifts_along, scan, scatter, histogram, alternating)),
    *((func, 1) for func in (feeds_itself, scratch, other_name, searches, after_each_other)),
    *((func, 1) for func in (overlapping, other_element, begins_again)),
    (triangle, 1),
]
"""PrimFuncs, and how many of their loops have to run one iteration after the other."""

IDS = [str(func.attrs["global_symbol"]) for func, _ in CASES]


def arguments(func: tirx.PrimFunc, seed: int, size: int = 3) -> list[Any]:
    """Arrays for the parameters; symbolic dimensions all get this size."""
    rng = np.random.default_rng(seed)
    args = []
    for param in func.params:
        shape = [int(d.value) if isinstance(d, tirx.IntImm) else size for d in param.ty.shape]
        dtype = dtype_of(str(param.ty.dtype))
        values = rng.integers(-9, 9, shape) if dtype.kind == "i" else rng.integers(0, 9, shape)
        if dtype.kind == "b":
            values = values > 4
        array = np.asarray(values).astype(dtype)
        if dtype.kind == "f":
            array = array / dtype.type(7)
            if seed == 2:
                array[rng.random(shape) < 0.3] = np.nan
        args.append(array)
    return args


def one_by_one(func: tirx.PrimFunc, args: list[Any], budget: int = STEPS) -> None:
    with np.errstate(all="ignore"):
        compiled(Statements().function(func))(budget, *args)


@pytest.mark.parametrize(("func", "serial"), CASES, ids=IDS)
def test_lanes_are_like_iterations(func: tirx.PrimFunc, serial: int) -> None:
    program = translate(func)
    assert program.text.count(" in range(") == serial, program.text
    for seed in (0, 1, 2):
        args = arguments(func, seed)
        lanes, scalars = copies(args), copies(args)
        program(*lanes)
        one_by_one(func, scalars)
        assert_same_bits(scalars, lanes, program.text)


def test_lanes_are_like_compiled_code() -> None:
    funcs = {name: func for name, (func, _) in zip(IDS, CASES, strict=True)}
    args = {name: arguments(func, 1) for name, func in funcs.items()}
    native = run_native(funcs, args)
    for name, func in funcs.items():
        mine = copies(args[name])
        translate(func)(*mine)
        assert_close(native[name], mine, name)


@T.prim_func
def large(A: T.Buffer((1000, 1200), "int32"), B: T.Buffer((1000,), "int32")):
    for i, k in T.grid(1000, 1200):
        B[i] = B[i] + A[i, k]


@T.prim_func(s_tir=True)
def large_block(A: T.Buffer((1200, 1000), "int32"), B: T.Buffer((1000,), "int32")):
    for k, i in T.grid(1200, 1000):
        with T.sblock("sum"):
            vk, vi = T.axis.remap("RS", [k, i])
            with T.init():
                B[vi] = 5
            B[vi] = B[vi] + A[vk, vi]


def test_many_lanes_take_turns() -> None:
    """More lanes than run at once, along spatial and along reduction axes."""
    a = np.arange(1_200_000, dtype="int32").reshape(1000, 1200)
    b = np.full(1000, 3, "int32")
    translate(large)(a, b)
    np.testing.assert_array_equal(b, 3 + a.sum(1, dtype="int32"))
    a = a.reshape(1200, 1000)
    translate(large_block)(a, b)
    np.testing.assert_array_equal(b, 5 + a.sum(0, dtype="int32"))


@T.prim_func
def endless(A: T.Buffer((100000, 100000), "bool"), B: T.Buffer((1,), "bool")):
    for i, j in T.grid(100000, 100000):
        B[0] = B[0] and A[i, j]


def test_too_many_lanes() -> None:
    a = np.lib.stride_tricks.as_strided(np.zeros(1, bool), (100000, 100000), (0, 0))
    with pytest.raises(TooLarge):
        translate(endless)(a, np.zeros(1, bool))


@T.prim_func
def many_iterations_of_lanes(A: T.Buffer((20000,), "float32"), B: T.Buffer((20000,), "float32")):
    for i, k in T.grid(20000, 20000):
        if k == 0:
            B[i] = T.float32(0)
        B[i] = B[i] + A[i]


def test_an_iteration_of_many_lanes_costs_more_than_one() -> None:
    a = np.zeros(20000, "float32")
    with pytest.raises(TooLarge):
        translate(many_iterations_of_lanes)(a, a.copy())


def long(value: Any) -> Any:
    for _ in range(60):
        value = value + T.float32(1)
    return T.sqrt(value)


@T.prim_func
def long_expression(A: T.Buffer((2,), "float32")):
    for _ in range(100000):
        A[0] = long(A[0])


def test_a_long_expression_costs_more_than_an_iteration() -> None:
    with pytest.raises(TooLarge):
        translate(long_expression)(np.zeros(2, "float32"))


@T.prim_func
def reads_after_end(A: T.Buffer((4,), "float32"), B: T.Buffer((5,), "float32")):
    for i in range(5):
        B[i] = A[i]


@T.prim_func
def reads_before_begin(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    for i in range(4):
        B[i] = A[i - 1]


@T.prim_func
def writes_after_end(A: T.Buffer((4,), "float32"), B: T.Buffer((3,), "float32")):
    for i in range(4):
        B[i] = A[i]


@pytest.mark.parametrize("func", [reads_after_end, reads_before_begin, writes_after_end])
def test_an_index_outside(func: tirx.PrimFunc) -> None:
    with pytest.raises(Undefined, match="of a dimension of"):
        translate(func)(*arguments(func, 0))
    with pytest.raises(Undefined, match="of a dimension of"):
        one_by_one(func, arguments(func, 0))


@T.prim_func(s_tir=True)
def symbolic(a: T.handle, b: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n, 4), "float32")
    B = T.match_buffer(b, (4,), "float32")
    for i, k in T.grid(4, n):
        with T.sblock("sum"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vk, vi]


@pytest.mark.parametrize("size", [0, 1, 5])
def test_symbolic_extents(size: int) -> None:
    """Without iterations the result stays unwritten, as in the loops."""
    args = arguments(symbolic, 1, size)
    lanes, scalars = copies(args), copies(args)
    translate(symbolic)(*lanes)
    one_by_one(symbolic, scalars)
    assert_same_bits(scalars, lanes)


def test_arguments_that_share_memory() -> None:
    """Nothing is known then of what the iterations do to each other."""
    shared = np.arange(7, dtype="float32")
    translate(copy_on)(shared[:6], shared[1:])
    np.testing.assert_array_equal(shared, np.zeros(7))


@T.prim_func
def copy_on(A: T.Buffer((6,), "float32"), B: T.Buffer((6,), "float32")):
    for i in range(6):
        B[i] = A[i]


def test_chunks_cover_a_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime_module, "CHUNK", 4)
    pieces = list(runtime_module.chunks(1, 12, 2, np.int64, 1, 3))
    np.testing.assert_array_equal(
        np.concatenate([lanes for lanes, _, _ in pieces]).ravel(), [1, 4, 7, 10]
    )
    assert all(lanes.shape == (count, 1) for lanes, _, count in pieces)
