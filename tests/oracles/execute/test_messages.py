"""Messages of compiled PrimFuncs: those of the checks of arguments, and of assertions."""

from __future__ import annotations

import numpy as np
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from relaxfuzz.oracles.execute import Failure, execute


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
