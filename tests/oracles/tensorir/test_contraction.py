"""Sums of products are computed as a whole, and give what the loops give."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tvm import relax, tirx
from tvm.script import relax as R
from tvm.script import tirx as T

from relaxfuzz.oracles.tensorir import STEPS, runtime, translate
from relaxfuzz.oracles.tensorir.program import compiled
from relaxfuzz.oracles.tensorir.statements import Statements

from .native import assert_close, assert_same_bits, copies


@T.prim_func(s_tir=True)
def convolution(
    A: T.Buffer((2, 3, 9, 9), "float32"),
    W: T.Buffer((4, 3, 3, 3), "float32"),
    C: T.Buffer((2, 4, 4, 4), "float32"),
):
    for n, f, y, x, c, ky, kx in T.grid(2, 4, 4, 4, 3, 3, 3):
        with T.sblock("conv"):
            vn, vf, vy, vx, vc, vky, vkx = T.axis.remap("SSSSRRR", [n, f, y, x, c, ky, kx])
            with T.init():
                C[vn, vf, vy, vx] = T.float32(0)
            C[vn, vf, vy, vx] = (
                C[vn, vf, vy, vx] + A[vn, vc, vy * 2 + vky, vx * 2 + vkx] * W[vf, vc, vky, vkx]
            )


@T.prim_func(s_tir=True)
def depthwise(
    A: T.Buffer((3, 7), "int8"), W: T.Buffer((3, 4), "int8"), C: T.Buffer((3, 4), "int32")
):
    for k, c, x in T.grid(4, 3, 4):
        with T.sblock("conv"):
            vk, vc, vx = T.axis.remap("RSS", [k, c, x])
            with T.init():
                C[vc, vx] = 7
            C[vc, vx] = C[vc, vx] + T.Cast("int32", W[vc, vk]) * T.Cast("int32", A[vc, vx + vk])


@T.prim_func
def outer_sum(
    A: T.Buffer((5, 6), "float32"), B: T.Buffer((6, 1), "float32"), C: T.Buffer((4, 5), "float32")
):
    for k, j, i in T.grid(6, 4, 5):
        C[j, i] = A[i, k] * B[k, 0] + C[j, i]


@T.prim_func
def one_operand_sums(
    A: T.Buffer((5, 6, 3), "float32"), B: T.Buffer((5,), "float32"), C: T.Buffer((5,), "float32")
):
    for k, i, r in T.grid(6, 5, 3):
        C[i] = C[i] + A[i, k, r] * B[i]


@T.prim_func
def wraps(A: T.Buffer((6, 7), "int32"), B: T.Buffer((7, 5), "int32"), C: T.Buffer((6, 5), "int32")):
    for i, j, k in T.grid(6, 5, 7):
        C[i, j] = C[i, j] + A[i, k] * B[k, j]


@T.prim_func
def bytes_wrap(
    A: T.Buffer((6, 70), "uint8"), B: T.Buffer((70, 5), "uint8"), C: T.Buffer((6, 5), "uint8")
):
    for i, j, k in T.grid(6, 5, 70):
        C[i, j] = C[i, j] + A[i, k] * B[k, j]


FUNCS = [convolution, depthwise, outer_sum, one_operand_sums, wraps, bytes_wrap]


def drawn(func: tirx.PrimFunc, seed: int, **sizes: int) -> list[Any]:
    """Arrays for the parameters: integers of the whole range of the dtype, normal floats."""
    rng = np.random.default_rng(seed)
    args = []
    for param in func.params:
        shape = [int(dim.value) for dim in param.ty.shape]
        dtype = np.dtype(str(param.ty.dtype))
        if dtype.kind in "iu":
            info = np.iinfo(dtype)
            args.append(rng.integers(info.min, info.max, shape, dtype, endpoint=True))
        else:
            args.append(rng.standard_normal(shape).astype(dtype))
    return args


def one_by_one(func: tirx.PrimFunc, args: list[Any]) -> None:
    with np.errstate(all="ignore"):
        compiled(Statements().function(func))(STEPS, *args)


@pytest.fixture(params=["in order", "as a whole"])
def order(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Whether few products of floats are added as the loops do it, or as BLAS does it."""
    if request.param == "as a whole":
        monkeypatch.setattr(runtime, "IN_ORDER", 0)
    return str(request.param)


@pytest.mark.parametrize("func", FUNCS, ids=[str(f.attrs["global_symbol"]) for f in FUNCS])
def test_sums_of_products_are_like_loops(func: tirx.PrimFunc, order: str) -> None:
    program = translate(func)
    assert "fold_product" in program.text
    args = drawn(func, 1)
    whole, scalars = copies(args), copies(args)
    program(*whole)
    one_by_one(func, scalars)
    (assert_same_bits if order == "in order" else assert_close)(scalars, whole, program.text)


def matmul(n: int, m: int, k: int, dtype: str) -> tirx.PrimFunc:
    bb = relax.BlockBuilder()
    x, y = relax.Var("x", R.Tensor((n, k), dtype)), relax.Var("y", R.Tensor((k, m), dtype))
    with bb.function("main", [x, y]):
        bb.emit_func_output(bb.emit(relax.op.matmul(x, y)))
    func: tirx.PrimFunc = relax.transform.LegalizeOps()(bb.get())["matmul"]
    return func


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "int32"])
def test_a_large_matmul(dtype: str) -> None:
    """A billion products, of which no array could be made in the memory of a worker."""
    rng = np.random.default_rng(0)
    x = rng.integers(-9, 9, (512, 2048)).astype(dtype)
    y = rng.integers(-9, 9, (2048, 1024)).astype(dtype)
    result = np.zeros((512, 1024), dtype)
    translate(matmul(512, 1024, 2048, dtype))(x, y, result)
    expected = (x.astype("float64") @ y.astype("float64")).astype("int64").astype(dtype)
    np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("extremes", [(3e38, -3e38), (np.inf, -np.inf), (np.nan, 1.0)])
def test_sums_that_overflow_in_some_order_are_like_loops(extremes: tuple[float, float]) -> None:
    x, y = (
        np.random.default_rng(0).choice([1, -2, 0.5, *extremes], shape).astype("float32")
        for shape in ((40, 60), (60, 30))
    )
    func, whole, scalars = matmul(40, 30, 60, "float32"), *np.zeros((2, 40, 30), "float32")
    assert x.shape[0] * y.size > runtime.IN_ORDER
    translate(func)(x, y, whole)
    one_by_one(func, [x, y, scalars])
    assert_same_bits([scalars], [whole])


def test_float16_is_rounded_after_each_addition() -> None:
    """From 2048 on, adding one does not change a sum."""
    x, y = np.ones((300, 3000), "float16"), np.ones((3000, 2), "float16")
    result = np.zeros((300, 2), "float16")
    translate(matmul(300, 2, 3000, "float16"))(x, y, result)
    np.testing.assert_array_equal(result, np.full((300, 2), 2048, "float16"))
