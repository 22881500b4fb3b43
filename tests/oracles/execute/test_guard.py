"""Arguments that are checked before a call: whatever the compiled checks refuse is left to them."""

from __future__ import annotations

import itertools
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import tvm
import tvm_ffi
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from relaxfuzz.oracles.execute import Failure, execute, guard


@T.prim_func(s_tir=True)
def static(A: T.Buffer((2, 3), "float32"), B: T.Buffer((3, 2), "float32")) -> None:
    for i, j in T.grid(2, 3):
        B[j, i] = A[i, j]


@T.prim_func(s_tir=True)
def symbolic(a: T.handle, b: T.handle, k: T.int64) -> None:
    n = T.int64()
    A = T.match_buffer(a, (n, k), "float32")
    B = T.match_buffer(b, (n * k + 1,), "float32")
    for i in range(n):
        B[i] = A[i, 0]


def shaped(*shape: int, dtype: Any = "float32") -> Any:
    return tvm.runtime.tensor(np.zeros(shape, dtype))


def view(offset: int, strides: tuple[int, int] = (3, 1)) -> Any:
    """Six elements of a larger tensor, in another order or from another address on."""
    whole = np.zeros(64, "float32")
    start = -whole.ctypes.data % 64 // 4 + offset
    part = np.lib.stride_tricks.as_strided(whole[start:], (2, 3), [4 * s for s in strides])
    return tvm_ffi.from_dlpack(part, require_contiguous=False)


TENSORS = {
    "2x3": lambda: shaped(2, 3),
    "3x2": lambda: shaped(3, 2),
    "6": lambda: shaped(6),
    "7": lambda: shaped(7),
    "0x3": lambda: shaped(0, 3),
    "1": lambda: shaped(1),
    "scalar": lambda: shaped(),
    "int32": lambda: shaped(2, 3, dtype="int32"),
    "float16": lambda: shaped(2, 3, dtype="float16"),
    "bfloat16": lambda: shaped(2, 3, dtype=ml_dtypes.bfloat16),
    "transposed": lambda: view(0, (1, 2)),
    "misaligned": lambda: view(1),
    "None": lambda: None,
    "shape": lambda: tvm.runtime.ShapeTuple([2, 3]),
}


@pytest.mark.parametrize("func", [static, symbolic], ids=["static", "symbolic"])
def test_what_is_let_through_passes_the_compiled_checks(func: Any) -> None:
    compiled = tvm.tirx.build(func)[str(func.attrs["global_symbol"])]
    rest = [[]] if func is static else [[3], [2], [True], [3.0], []]
    passed, refused = 0, 0
    for one, other, more in itertools.product(TENSORS.values(), TENSORS.values(), rest):
        args = [one(), other(), *more]
        fits = guard._in_order(list(func.params), args)
        passed += fits
        try:
            compiled(*args)
        except (TypeError, ValueError):
            assert not fits, args
            refused += 1
    assert passed
    assert refused


@I.ir_module
class Vague:
    @T.prim_func(private=True, s_tir=True)
    def copy(A: T.Buffer((2,), "float32"), B: T.Buffer((2,), "float32")) -> None:
        for i in range(2):
            B[i] = A[i]

    @R.function
    def main(x: R.Tensor("float32", ndim=1)) -> R.Tensor((2,), "float32"):
        return R.call_tir(Vague.copy, (x,), out_ty=R.Tensor((2,), "float32"))


def test_a_wrong_call_raises_like_the_compiled_checks() -> None:
    args = [np.arange(size, dtype="float32") for size in (2, 3)]
    good, failure = execute(Vague, [lambda run, x=x: run("main", [x]) for x in args]) or ()
    np.testing.assert_array_equal(good, args[0])
    assert isinstance(failure, Failure)
    assert "copy(A: Tensor([2], float32), B: Tensor([2], float32))" in failure.text


@I.ir_module
class Asserting:
    @T.prim_func(private=True, s_tir=True)
    def copy(A: T.Buffer((1,), "float32"), B: T.Buffer((1,), "float32")) -> None:
        assert A[0] > T.float32(0), "not positive"
        B[0] = A[0]

    @R.function
    def main(x: R.Tensor((1,), "float32")) -> R.Tensor((1,), "float32"):
        return R.call_tir(Asserting.copy, (x,), out_ty=R.Tensor((1,), "float32"))


def test_assertions_of_a_prim_func_stay() -> None:
    args = [np.full(1, value, "float32") for value in (1, -1)]
    good, failure = execute(Asserting, [lambda run, x=x: run("main", [x]) for x in args]) or ()
    assert good == 1
    assert isinstance(failure, Failure)
    assert "not positive" in failure.text
