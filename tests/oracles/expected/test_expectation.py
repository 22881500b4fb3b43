"""What a call must give, and when nothing can be said of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax, tirx
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from relaxfuzz.oracles.contract import PassContract
from relaxfuzz.oracles.expected import expectations, inputs
from relaxfuzz.oracles.expected.expectation import Expectation
from relaxfuzz.oracles.expected.expectations import Expectations
from relaxfuzz.oracles.expected.inputs import InputKind
from relaxfuzz.oracles.pass_runs import Outcome, PassRuns
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.values import evaluated
from relaxfuzz.oracles.values.sides import LOOSE


@I.ir_module
class Kernels:
    @T.prim_func(private=True)
    def first(x: T.Buffer((T.int64(2),), "int64"), y: T.Buffer((T.int64(2),), "int64")):
        y[0] = x[0]

    @T.prim_func(private=True)
    def both(x: T.Buffer((T.int64(2),), "int64"), y: T.Buffer((T.int64(2),), "int64")):
        for i in range(2):
            y[i] = x[i]

    @R.function
    def partly(x: R.Tensor((2,), "int64")) -> R.Tensor((2,), "int64"):
        return R.call_tir(Kernels.first, (x,), out_ty=R.Tensor((2,), "int64"))

    @R.function
    def whole(x: R.Tensor((2,), "int64")) -> R.Tensor((2,), "int64"):
        return R.call_tir(Kernels.both, (x,), out_ty=R.Tensor((2,), "int64"))


def expected(function: str) -> Expectation:
    e = Expectation(Kernels, function, [np.array([3, 4])], None)
    e.result = e.evaluate()
    return e


@pytest.mark.parametrize(("function", "arbitrary"), [("partly", True), ("whole", False)])
def test_what_nobody_has_written_differs_from_nothing(function: str, arbitrary: bool) -> None:
    e = expected(function)
    assert e.arbitrary == arbitrary
    assert (e.differs(np.array([3, 5])) is None) == arbitrary
    assert e.differs(e.evaluate()) is None
    assert e.differs(np.array([2, 4])) is not None  # the first element is written by both
    assert e.differs(np.array([3, 4, 5])) is not None


def test_what_is_compared_with_undefined_values_is_arbitrary_too() -> None:
    @T.prim_func
    def kernel(x: T.Buffer((2,), "int32"), y: T.Buffer((3,), "int32")):
        v: T.let[T.int32] = T.undef()
        y[0] = x[0]
        y[1] = T.if_then_else(v > 0, 1, 2)
        y[2] = v

    e = Expectation(tvm.IRModule({"kernel": kernel}), "kernel", [np.array([3, 4], "int32")], None)
    e.args.append(np.zeros(3, "int32"))
    e.result = e.evaluate()
    assert e.differs((e.result[0], np.array([3, 9, 9], "int32"))) is None
    assert e.differs((e.result[0], np.array([4, 9, 9], "int32"))) is not None


@pytest.mark.parametrize("dtype", ["bool", "int64", "float32"])
def test_what_a_prim_func_has_not_written_differs_from_nothing(dtype: str) -> None:
    @T.prim_func
    def kernel(x: T.Buffer((2,), "int64"), y: T.Buffer((2,), dtype)):
        total = T.alloc_buffer((2,), dtype)
        for i in range(2):
            if x[i] > T.int64(3):
                total[i] = T.Cast(dtype, 1)
        y[0] = total[0]

    e = Expectation(tvm.IRModule({"kernel": kernel}), "kernel", [np.array([3, 4])], None)
    e.args.append(np.zeros(2, dtype))
    e.result = e.evaluate()
    assert e.arbitrary


def test_memory_is_as_before_afterwards() -> None:
    e = expected("partly")
    assert e.arbitrary
    assert np.array_equal(e.evaluate(), e.result)


def test_a_sum_near_zero_is_off_by_as_much_as_its_summands() -> None:
    x, w = (np.full((1, 48), 7.0, "float32"), np.full((48, 1), 7.0, "float32"))
    w[::2] = -7.0
    x[0, 0] += 1 / 8
    types = [relax.TensorType(each.shape, "float32") for each in (x, w)]
    variables = [relax.Var(name, ty) for name, ty in zip("xw", types, strict=True)]
    builder = relax.BlockBuilder()
    with builder.function("main", variables):
        builder.emit_func_output(builder.emit(relax.op.matmul(*variables)))
    e = Expectation(builder.get(), "main", [x, w], x @ w, InputKind.WHOLE)
    assert e.differs(x @ w + 0.5) is not None
    assert e.differs(x @ w + 0.5, LOOSE) is None
    assert e.differs(x @ w + 500, LOOSE) is not None


@T.prim_func(s_tir=True)
def endless(A: T.Buffer((2,), "float32")):
    for _ in range(1 << 40):
        A[0] = A[0] * T.float32(0.5) + A[1]


@T.prim_func(s_tir=True)
def counted(A: T.Buffer((2,), "float32"), count: T.int32):
    for _ in range((1 << 40) + count):
        A[0] = A[0] * T.float32(0.5) + A[1]


@pytest.mark.parametrize(("func", "once"), [(endless, True), (counted, False)])
def test_what_is_too_large_is_not_tried_with_other_elements(
    func: tirx.PrimFunc, once: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[InputKind] = []

    def drawn(func: tirx.PrimFunc, kind: InputKind, *rest: Any) -> list[Any]:
        tried.append(kind)
        return inputs.drawn(func, kind, *rest)

    monkeypatch.setattr(expectations, "drawn", drawn)
    mod = tvm.IRModule({"main": func.with_attr("global_symbol", "main")})
    assert list(Expectations(mod).of("main")) == []
    assert (len(tried) == 1) is once


@I.ir_module
class Curve:
    @R.function
    def main(x: R.Tensor((3, 2), "float32")):
        return R.sigmoid(x)


@I.ir_module
class OtherFormula:
    @R.function
    def main(x: R.Tensor((3, 2), "float32")):
        one = R.const(1, "float32")
        return R.divide(one, R.add(one, R.exp(R.negative(x))))


@I.ir_module
class ThroughFloat16:
    @R.function
    def main(x: R.Tensor((3, 2), "float32")):
        return R.astype(R.astype(R.sigmoid(x), "float16"), "float32")


@pytest.mark.parametrize(("after", "reported"), [(OtherFormula, False), (ThroughFloat16, True)])
def test_a_result_has_all_digits_of_its_type(after: tvm.IRModule, reported: bool) -> None:
    call = PassCall("ToNonDataflow()")
    runs = PassRuns(
        Curve, (call,), PassContract(name=call.name), thorough=True, seen=Outcome(after)
    )
    assert bool(evaluated.ORACLE.violations(runs)) == reported


def test_a_number_that_a_prim_func_returns_is_the_same_in_whole_numbers() -> None:
    """Of a PrimFunc that is computed without overflow, what it returns counts as well."""
    builder = relax.BlockBuilder()
    n = relax.Var("n", tvm.ir.PrimType("int64"))
    one = relax.const(np.array([1]), "int64")
    with builder.function("main", [n]):
        builder.emit_func_output(builder.emit(relax.op.add(one, n + 1)))
    mod = relax.transform.ComputePrimValue()(builder.get())
    e = Expectation(mod, "main", [4], None)
    assert e.in_whole_numbers.tolist() == e.value().tolist() == [6]


@I.ir_module
class Buckets:
    """Distances as T5 has them: those that are near are not taken from the logarithm."""

    @R.function
    def chosen(x: R.Tensor((9,), "float32")) -> R.Tensor((9,), "int32"):
        logarithm = R.log(x)
        far = R.astype(logarithm, "int32")
        near = R.astype(x, "int32")
        small = R.less_equal(x, R.const(0.0, "float32"))
        return R.where(small, near, far)

    @R.function
    def used(x: R.Tensor((9,), "float32")) -> R.Tensor((9,), "int32"):
        logarithm = R.log(x)
        return R.astype(logarithm, "int32")


def test_a_conversion_that_nothing_depends_on_is_no_obstacle() -> None:
    made = list(Expectations(Buckets).of("chosen", kinds=[InputKind.WHOLE], partial=True))
    assert [(e.converts, e.partial, e.arbitrary) for e in made] == [(True, True, False)]
    made = list(Expectations(Buckets).of("used", partial=True))
    assert not any(e.converts for e in made)


@I.ir_module
class Steep:
    @R.function
    def main(x: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        return R.exp(R.multiply(x, R.const(16.0, "float32")))


class Counted(Expectation):
    """A call that counts how often it is evaluated with other rounding."""

    shakes = 0

    def evaluate(self, args: list[Any] | None = None, **options: Any) -> Any:
        self.shakes += "perturb" in options
        return super().evaluate(args, **options)


def test_rounding_is_tried_as_often_as_it_takes() -> None:
    e = Counted(Steep, "main", [np.array([0.9, 1.0, 1.1], "float32")], None)
    e.result = e.evaluate()
    near = e.result * np.float32(1 + 6e-5)
    assert e.differs(near) is None
    assert e.shakes == 0, "the usual tolerance is enough"
    precise = e.precisely()
    assert precise.differs(near) is None
    assert precise.shakes == 1
    assert precise.differs(e.result * np.float32(1.01)) is not None
    assert precise.shakes == 3
    assert e.shaken() is not None
    assert e.shakes == 0, "both have the same results"
