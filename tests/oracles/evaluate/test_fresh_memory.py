"""Which memory nobody has written to: known by whose it is, not by what it holds."""

from __future__ import annotations

from typing import Any

import numpy as np
from tvm import tirx
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from relaxfuzz.oracles.evaluate import Evaluator
from relaxfuzz.oracles.evaluate.poison import fresh, poisoned, touch
from relaxfuzz.oracles.tensorir import translate


@I.ir_module
class Chain:
    @T.prim_func(private=True, s_tir=True)
    def less(A: T.Buffer((4,), "int8"), B: T.Buffer((4,), "int8")):
        for i in range(4):
            with T.sblock("less"):
                v = T.axis.spatial(4, i)
                B[v] = A[v] - T.int8(1)

    @T.prim_func(private=True, s_tir=True)
    def less_in_place(A: T.Buffer((2, 2), "int8")):
        for i, j in T.grid(2, 2):
            with T.sblock("less"):
                v, w = T.axis.remap("SS", [i, j])
                A[v, w] = A[v, w] - T.int8(1)

    @R.function
    def main(x: R.Tensor((4,), "int8")) -> R.Tensor((4,), "int8"):
        cls = Chain
        with R.dataflow():
            a = R.call_tir(cls.less, (x,), out_ty=R.Tensor((4,), "int8"))
            b = R.call_tir(cls.less, (a,), out_ty=R.Tensor((4,), "int8"))
            R.output(b)
        return b

    @R.function(pure=False)
    def lowered(x: R.Tensor((4,), "int8")) -> R.Tensor((4,), "int8"):
        cls = Chain
        storage = R.memory.alloc_storage(R.shape([8]), 0, "global", "int8")
        a = R.memory.alloc_tensor(storage, 0, R.shape([4]), "int8")
        b = R.memory.alloc_tensor(storage, 4, R.shape([4]), "int8")
        _: R.Tuple = cls.less(x, a)
        _1: R.Tuple = cls.less(a, b)
        return b


class Noting:
    """Records which arguments of a PrimFunc are marked as fresh."""

    def __init__(self) -> None:
        self.outputs: list[list[int]] = []

    def __call__(self, func: tirx.PrimFunc, args: list[Any], outputs: list[int], _: Any) -> Any:
        self.outputs.append(outputs)
        return translate(func)(*args)


def test_values_that_look_like_fresh_memory_are_none() -> None:
    noting = Noting()
    result = Evaluator(Chain, prim=noting).run("main", [np.full(4, 127, "int8")])
    np.testing.assert_array_equal(result, np.full(4, 125, "int8"))
    assert noting.outputs == [[1], [1]]


def test_a_storage_is_fresh_until_its_first_tensor_is_written() -> None:
    noting = Noting()
    Evaluator(Chain, prim=noting).run("lowered", [np.full(4, 127, "int8")])
    assert noting.outputs == [[1], []]


def test_views_are_as_fresh_as_what_they_show() -> None:
    memory = poisoned((2, 3), np.dtype("float32"))
    view = memory.reshape(-1)[2:5]
    assert fresh(view)
    assert not fresh(view.copy())
    touch(view)
    assert not fresh(memory)


def test_what_a_prim_func_writes_reaches_an_argument_that_is_not_contiguous() -> None:
    array = np.zeros((2, 4), "int8")
    evaluator = Evaluator(Chain, prim=Noting())
    evaluator.call_global(Chain.get_global_var("less_in_place"), [array[:, ::2]])
    np.testing.assert_array_equal(array, [[-1, 0, -1, 0]] * 2)


def test_fresh_memory_is_not_reported() -> None:
    reported: dict[str, list[Any]] = {}
    Evaluator(Chain, watch=lambda var, value: reported.setdefault(var.name, []).append(value)).run(
        "lowered", [np.full(4, 127, "int8")]
    )
    assert [list(value) for value in reported["a"]] == [[126] * 4]
    assert [list(value) for value in reported["b"]] == [[125] * 4]
