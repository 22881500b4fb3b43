"""Parameters and casts: they define symbolic variables, and a mismatch raises."""

# ruff: noqa: F841, RET504  (TVMScript reads statements, it does not execute them)

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from relaxfuzz.oracles.errors import Mismatch
from relaxfuzz.oracles.evaluate import Evaluator


@I.ir_module
class Module:
    @R.function
    def later(x: R.Tensor(("n * 4 + 1",), "float32"), y: R.Tensor(("n",), "float32")) -> R.Shape(
        ["n * 2"]
    ):
        n = T.int64()
        return R.shape([n * 2])

    @R.function
    def number(n: R.Prim("int64"), x: R.Tensor(("n", 2), "float32")) -> R.Tensor(
        ("n * 2",), "float32"
    ):
        n = T.int64()
        y = R.reshape(x, (n * 2,))
        return y

    @R.function
    def several(
        s: R.Shape(["m", 3]), t: R.Tuple(R.Tensor(("m",), "int64"), R.Tensor(ndim=1))
    ) -> R.Tensor(("m",), "int64"):
        m = T.int64()
        u = t[0]
        return u

    @R.function
    def casts(x: R.Tensor("float32")) -> R.Shape(ndim=1):
        a = T.int64()
        b = T.int64()
        y = R.match_cast(x, R.Tensor((a, b, a + b), "float32"))
        return R.shape([a + b])


def run(name: str, *args: Any) -> Any:
    return Evaluator(Module).run(name, args)


def zeros(*shape: int, dtype: str = "float32") -> Any:
    return np.zeros(shape, dtype)


def test_a_dimension_computed_of_a_later_one() -> None:
    assert run("later", zeros(13), zeros(3)) == (6,)
    with pytest.raises(Mismatch, match="13"):
        run("later", zeros(12), zeros(3))


def test_a_number_is_a_dimension() -> None:
    assert run("number", 3, zeros(3, 2)).shape == (6,)
    with pytest.raises(Mismatch, match="n == 4"):
        run("number", 4, zeros(3, 2))


def test_shapes_and_tuples() -> None:
    assert run("several", (2, 3), (zeros(2, dtype="int64"), zeros(5))).shape == (2,)


@pytest.mark.parametrize(
    ("args", "text"),
    [
        (((2, 4), (zeros(2, dtype="int64"), zeros(5))), "Expected 3 but got 4"),
        (((2,), (zeros(2, dtype="int64"), zeros(5))), "rank 2"),
        (((2, 3), (zeros(3, dtype="int64"), zeros(5))), "m == 2"),
        (((2, 3), (zeros(2, dtype="int64"), zeros(5, 1))), "rank 2"),
        (((2, 3), (zeros(2, dtype="int64"),)), "Tuple"),
        ((zeros(2), (zeros(2, dtype="int64"), zeros(5))), "Shape"),
    ],
)
def test_a_mismatch_raises(args: Any, text: str) -> None:
    with pytest.raises(Mismatch, match=re.escape(text)):
        run("several", *args)


def test_a_cast_defines_variables() -> None:
    assert run("casts", zeros(2, 3, 5)) == (5,)
    with pytest.raises(Mismatch, match="Expected a \\+ b == 5 but got 4"):
        run("casts", zeros(2, 3, 4))
