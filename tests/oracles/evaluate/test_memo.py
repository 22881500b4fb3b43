"""Values of calls on large tensors are computed once, and nobody's writes reach them."""

from __future__ import annotations

import functools
import gc

import numpy as np
import pytest
import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from relaxfuzz.oracles.evaluate import Evaluator, evaluate, evaluator, operators
from relaxfuzz.oracles.evaluate import memo as module
from relaxfuzz.oracles.evaluate.memo import Constants, Memo

LARGE = np.arange(1 << 14, dtype="float32")
SMALL = LARGE[:16]


def test_a_call_on_equal_operands_is_computed_once() -> None:
    memo, made = Memo(), []

    def value(array: np.ndarray, what: str = "sum") -> float:
        return memo.value([what], [array], lambda: made.append(what) or array.sum())

    assert value(LARGE) == value(LARGE.copy()) == LARGE.sum()
    assert made == ["sum"]
    value(LARGE, "other")
    value(LARGE + 1)
    value(LARGE.reshape(2, -1))
    value(LARGE.astype("int32"))
    assert len(made) == 5
    value(SMALL)
    value(SMALL)
    assert len(made) == 7, "small tensors cost less than their hash"


def test_a_write_reaches_no_value_that_is_kept() -> None:
    memo = Memo()
    for _ in range(2):
        value = memo.value(["copy"], [LARGE], lambda: (LARGE.copy(),), own=True)
        assert value[0][0] == 0
        value[0][0] = 7


def test_a_function_among_the_operands_is_computed_each_time() -> None:
    memo, made = Memo(), []
    for _ in range(2):
        memo.value(["call"], [LARGE, len], lambda: made.append(1))
    assert len(made) == 2


def test_values_are_forgotten_beyond_the_limit() -> None:
    memo, made = Memo(most=LARGE.nbytes), []

    def value(array: np.ndarray) -> None:
        memo.value(["same"], [array], lambda: made.append(1) or array.copy())

    for array in (LARGE, LARGE + 1, LARGE):
        value(array)
    assert len(made) == 3


def _first(array: np.ndarray) -> float:
    return float(array[0])


def test_an_address_that_is_used_again_is_another_array() -> None:
    memo = Memo()
    for number in range(20):
        array = np.full(1 << 14, number, "float32")
        memo.fixed(array)
        assert memo.value(["first"], [array], functools.partial(_first, array)) == number
        del array
        gc.collect()


def test_a_large_constant_is_one_array_that_nobody_writes_to() -> None:
    constants, tensor = Constants(Memo()), tvm.runtime.tensor(LARGE)
    first = constants.array(tensor)
    assert first is constants.array(tensor)
    np.testing.assert_array_equal(first, LARGE)
    with pytest.raises(ValueError, match="read-only"):
        first[0] = 1


@I.ir_module
class Written:
    @T.prim_func(private=True, s_tir=True)
    def inc(x: T.Buffer((16384,), "float32")) -> None:
        for i in range(16384):
            with T.sblock("inc"):
                v = T.axis.spatial(16384, i)
                x[v] = x[v] + T.float32(1)

    @R.function
    def main(x: R.Tensor((16384,), "float32")) -> R.Tensor((16384,), "float32"):
        cls = Written
        a = R.add(x, x)
        b = R.call_tir_inplace(
            cls.inc, (a,), inplace_indices=[0], out_ty=R.Tensor((16384,), "float32")
        )
        c = R.add(x, x)
        return R.multiply(b, c)


def test_an_update_in_place_does_not_change_an_equal_call() -> None:
    for _ in range(2):
        np.testing.assert_array_equal(
            evaluate(Written, "main", [SMALL.repeat(1024)]),
            (2 * SMALL.repeat(1024) + 1) * 2 * SMALL.repeat(1024),
        )


def test_an_operator_is_not_evaluated_again(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    monkeypatch.setattr(operators, "_arrays", lambda value: calls.append(1) or value)
    x = LARGE + 0.25

    @I.ir_module
    class Twice:
        @R.function
        def main(x: R.Tensor((16384,), "float32")) -> R.Tensor((16384,), "float32"):
            a = R.nn.relu(x)
            b = R.nn.relu(x)
            return R.add(a, b)

    np.testing.assert_array_equal(evaluate(Twice, "main", [x]), 2 * x)
    assert len(calls) == 2


def test_of_values_made_fast_only_digests_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    memo, made, hashed = Memo(), [], []
    digest = module._digest
    monkeypatch.setattr(module, "_digest", lambda array: hashed.append(1) or digest(array))
    memo.fixed(LARGE)
    for _ in range(2):
        # The pages of zeros are not even touched.
        value = memo.value(["zeros"], [LARGE], lambda: made.append(1) or np.zeros(1 << 24, "int8"))
        memo.value(["use"], [value], lambda: len(made))
    assert len(made) == 2
    assert len(hashed) == 2, "the operand and the first value"


def test_values_with_other_rounding_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    for place in (operators, evaluator):
        monkeypatch.setattr(place, "memo", None)
    Evaluator(Written, perturb=lambda value: value).run("main", [LARGE])
