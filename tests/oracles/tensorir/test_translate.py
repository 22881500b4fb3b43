"""Statements of TensorIR, arguments, and the errors of a program without a result."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tvm
from tvm import te, tirx, topi
from tvm.script import tirx as T

from relaxfuzz.compat import ir
from relaxfuzz.oracles.errors import Mismatch, TooLarge, Undefined, Unsupported
from relaxfuzz.oracles.tensorir import sanitize, translate

from .native import assert_close, copies, run_native


def floats(*shape: int) -> Any:
    return np.random.default_rng(len(shape)).uniform(-2, 2, shape).astype("float32")


@T.prim_func(s_tir=True)
def two_blocks(A: T.Buffer((4, 6), "float32"), B: T.Buffer((4, 6), "float32")):
    C = T.sblock_alloc_buffer((4, 6))
    for i, j in T.grid(4, 6):
        with T.sblock("first"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj] + T.float32(1)
    for i, j in T.grid(4, 6):
        with T.sblock("second"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = C[vi, 5 - vj] * T.float32(2)


@T.prim_func(s_tir=True)
def regions(A: T.Buffer((8, 6), "float32"), B: T.Buffer((8, 6), "float32")):
    for i, j in T.grid(4, 3):
        with T.sblock("tile"):
            vi, vj = T.axis.remap("SS", [i, j])
            a = T.match_buffer(A[vi * 2 : vi * 2 + 2, vj * 2 : vj * 2 + 2], (2, 2), offset_factor=1)
            s = T.int32()
            b = T.match_buffer(B[vi * 2, vj * 2 : vj * 2 + 2], (2,), strides=[s], offset_factor=1)
            for k in range(2):
                b[k] = a[1, k] + T.Cast("float32", s)


@T.prim_func
def views(A: T.Buffer((4, 6), "float32"), B: T.Buffer((24,), "int32")):
    bits = T.decl_buffer((24,), "int32", data=A.data)
    part = T.decl_buffer((2, 6), "int32", data=A.data, elem_offset=12)
    for i in range(24):
        B[i] = bits[i] & 255
    for i, j in T.grid(2, 6):
        part[i, j] = 0


@T.prim_func
def local_buffers(A: T.Buffer((5,), "float32"), B: T.Buffer((5,), "float32")):
    for i in range(5):
        C = T.alloc_buffer((2,), "float32")
        C[0] = A[i]
        C[1] = C[0] * C[0]
        B[i] = C[0] + C[1]


@T.prim_func
def jumps(A: T.Buffer((9,), "int32"), B: T.Buffer((1,), "int32")):
    B[0] = 0
    for i in range(9):
        if A[i] < 0:
            continue
        if A[i] > 6:
            break
        B[0] = B[0] + A[i]


@T.prim_func
def scalars(n: T.int64, x: T.float32, flag: T.bool, B: T.Buffer((4,), "float32")):
    for i in range(n):
        B[i] = T.if_then_else(flag, x, T.Cast("float32", i))


@T.prim_func
def gives_back(n: T.int32) -> T.int32:
    return n * 3


@T.prim_func
def symbolic(a: T.handle, b: T.handle):
    n = T.int64()
    m = T.int64()
    A = T.match_buffer(a, (n, m * 2), "float32")
    B = T.match_buffer(b, (m, n + 1), "float32")
    for i, j in T.grid(n, m):
        B[j, i + 1] = A[i, j] + T.Cast("float32", n * m)


def sizes(n: int, m: int) -> list[Any]:
    return [floats(n, 2 * m), np.zeros((m, n + 1), "float32")]


@T.prim_func
def asserts(A: T.Buffer((2,), "int32"), B: T.Buffer((2,), "int32")):
    assert A[0] < 5, "too much"
    B[0] = A[0]


NATIVE: dict[str, tuple[tirx.PrimFunc, list[Any]]] = {
    "two_blocks": (two_blocks, [floats(4, 6), floats(4, 6)]),
    "regions": (regions, [floats(8, 6), floats(8, 6)]),
    "views": (views, [floats(4, 6), np.zeros(24, "int32")]),
    "jumps": (jumps, [np.array([1, -2, 3, 4, 9, 1, 1, 1, 1], "int32"), np.zeros(1, "int32")]),
    "local_buffers": (local_buffers, [floats(5), floats(5)]),
    "scalars": (scalars, [3, 0.25, True, floats(4)]),
    "scalars_false": (scalars, [3, 0.25, False, floats(4)]),
}


def test_statements_do_what_compiled_code_does() -> None:
    native = run_native(
        {name: func for name, (func, _) in NATIVE.items()},
        {name: args for name, (_, args) in NATIVE.items()},
    )
    for name, (func, args) in NATIVE.items():
        mine = copies(args)
        program = translate(func)
        program(*mine)
        assert_close(native[name], mine, program.text)


def test_shapes_define_symbols() -> None:
    args = sizes(3, 2)
    translate(symbolic)(*args)
    np.testing.assert_array_equal(args[1][:, 1:], args[0][:, :2].T + np.float32(6))


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (
            [floats(3, 4), np.zeros((2, 5), "float32")],
            r"a dimension of n \+ T\.int64\(1\) but got 5",
        ),
        ([floats(3, 5), np.zeros((2, 4), "float32")], "but got 5"),
        (
            [floats(3, 4).astype("float64"), np.zeros((2, 4), "float32")],
            "Expected float32 of rank 2",
        ),
        ([floats(3), np.zeros((2, 4), "float32")], r"rank 2 but got float32\[3\]"),
        ([floats(3, 4), 7], "but got 7"),
        ([floats(3, 4)], "Expected 2 arguments but got 1"),
    ],
)
def test_arguments_that_do_not_fit(args: list[Any], message: str) -> None:
    with pytest.raises(Mismatch, match=message):
        translate(symbolic)(*args)


def test_a_known_shape_that_does_not_fit() -> None:
    with pytest.raises(Mismatch, match=r"Expected float32\[5\] but got float32\[4\]"):
        translate(local_buffers)(floats(4), floats(5))


def test_an_assertion() -> None:
    b = np.zeros(2, "int32")
    translate(asserts)(np.array([4, 0], "int32"), b)
    assert b[0] == 4
    with pytest.raises(Mismatch, match="too much"):
        translate(asserts)(np.array([5, 0], "int32"), b)


def test_which_parameters_are_written() -> None:
    assert translate(two_blocks).writes == (1,)
    assert translate(views).writes == (0, 1)
    assert translate(scalars).writes == (3,)
    assert translate(gives_back).writes == ()


def test_equal_functions_share_a_program() -> None:
    copy = tvm.ir.load_json(tvm.ir.save_json(tvm.IRModule({"f": two_blocks})))["f"]
    assert not copy.same_as(two_blocks)
    assert translate(copy) is translate(two_blocks)


@T.prim_func
def forever(B: T.Buffer((1,), "int32")):
    B[0] = 0
    while B[0] < 5:
        B[0] = B[0] * 2


def test_a_loop_without_end() -> None:
    with pytest.raises(TooLarge):
        translate(forever)(np.zeros(1, "int32"))


@T.prim_func
def region_outside(A: T.Buffer((4, 4), "float32"), B: T.Buffer((1,), "float32")):
    C = T.decl_buffer((5, 4), "float32", data=A.data)
    B[0] = C[4, 0]


def test_a_view_that_leaves_its_memory() -> None:
    with pytest.raises(Undefined, match="leaves its memory"):
        translate(region_outside)(floats(4, 4), floats(1))


@T.prim_func
def attributed(A: T.Buffer((4,), "float32")):
    with T.attr(A.data, "somebody_elses", 1):
        A[0] = T.float32(0)


def test_an_attribute_that_is_not_known() -> None:
    with pytest.raises(Unsupported, match="TensorIR attribute somebody_elses"):
        translate(attributed)


def test_handles_are_not_known() -> None:
    func = tirx.PrimFunc([tirx.Var("p", "handle")], ir.Evaluate(tirx.const(0, "int32")))
    with pytest.raises(Unsupported, match="handle"):
        translate(func)


# Functions of the runtime


def sorting() -> dict[str, tuple[tirx.PrimFunc, list[Any]]]:
    rng = np.random.default_rng(0)
    cases: dict[str, tuple[tirx.PrimFunc, list[Any]]] = {}
    for dtype in ("int32", "float32", "float64", "int64"):
        data = te.placeholder((3, 5, 2), dtype, "data")
        # Many equal elements: their order is seen in the indices.
        values = rng.integers(0, 3, (3, 5, 2)).astype(dtype)
        for axis in (1, -1):
            for ascending in (True, False):
                tag = f"{dtype}_{abs(axis)}_{ascending}"
                results: dict[str, list[Any]] = {
                    "sort": [topi.sort(data, axis, ascending)],
                    "argsort": [topi.argsort(data, None, axis, ascending, "int64")],
                    "topk": topi.topk(data, 2, axis, "both", ascending, "int32"),
                }
                for name, out in results.items():
                    arrays = [
                        np.zeros([int(d) for d in o.shape], str(o.dtype).removeprefix("T."))
                        for o in out
                    ]
                    func = te.create_prim_func([data, *out])
                    cases[f"{name}_{tag}"] = (func, [values, *arrays])
    return cases


def test_sorts_of_the_runtime() -> None:
    cases = sorting()
    native = run_native(
        {name: func for name, (func, _) in cases.items()},
        {name: args for name, (_, args) in cases.items()},
    )
    for name, (func, args) in cases.items():
        mine = copies(args)
        translate(func)(*mine)
        assert_close(native[name], mine, name)


def test_a_sort_of_nan_has_no_order() -> None:
    data = te.placeholder((4,), "float32", "data")
    func = te.create_prim_func([data, topi.sort(data)])
    with pytest.raises(Unsupported, match="NaN"):
        translate(func)(np.array([1, np.nan, 0, 2], "float32"), np.zeros(4, "float32"))


def test_a_sort_along_an_axis_that_is_not_there() -> None:
    data = te.placeholder((4,), "float32", "data")
    func = te.create_prim_func([data, topi.sort(data, 1)])
    values, out = np.zeros(4, "float32"), np.zeros(4, "float32")
    with pytest.raises(Unsupported, match="axis 1 is out of bounds"):
        translate(func)(values, out)
    with pytest.raises(Unsupported, match="axis 1 is out of bounds"):
        sanitize(func, [values, out])


def test_an_empty_operand_behind_a_condition_that_is_never_met() -> None:
    data, empty = te.placeholder((2, 2), "float32", "data"), te.placeholder((2, 0), "float32", "no")
    func = te.create_prim_func([data, empty, topi.concatenate((data, empty), 1)])
    values, out = np.arange(4, dtype="float32").reshape(2, 2), np.zeros((2, 2), "float32")
    translate(func)(values, np.zeros((2, 0), "float32"), out)
    np.testing.assert_array_equal(out, values)


def test_a_vector_that_goes_to_one_element_leaves_its_last_scalar() -> None:
    @T.prim_func
    def last(A: T.Buffer((4,), "int32"), B: T.Buffer((1,), "int32")) -> None:
        B[T.Broadcast(0, 4)] = A[T.Ramp(0, 1, 4)]

    b = np.zeros(1, "int32")
    translate(last)(np.arange(4, dtype="int32"), b)
    assert b[0] == 3


def test_so_does_one_that_goes_to_an_element_of_a_matrix() -> None:
    @T.prim_func
    def last(A: T.Buffer((4,), "int32"), B: T.Buffer((2, 3), "int32")) -> None:
        for i in range(2):
            B[i, T.Broadcast(1, 4)] = A[T.Ramp(0, 1, 4)] + i

    b = np.zeros((2, 3), "int32")
    translate(last)(np.arange(4, dtype="int32"), b)
    np.testing.assert_array_equal(b, [[0, 3, 0], [0, 4, 0]])


def test_a_jump_out_of_no_loop_is_undefined() -> None:
    body = tirx.Evaluate(tirx.break_loop())
    with pytest.raises(Undefined, match="a jump out of no loop"):
        translate(tirx.PrimFunc([], body))()


@T.prim_func(private=True, s_tir=True)
def strided(a: T.handle, B: T.Buffer((2, 3), "float32")):
    rows = T.int32()
    A = T.match_buffer(a, (T.int64(2), T.int64(3)), strides=(rows, 1))
    for i, j in T.grid(2, 3):
        with T.sblock("copy"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + T.Cast("float32", rows * 10)


def test_a_stride_has_a_dtype_of_its_own() -> None:
    a, b = np.arange(6, dtype="float32").reshape(2, 3), np.zeros((2, 3), "float32")
    translate(strided)(a, b)
    np.testing.assert_array_equal(b, a + 30)
