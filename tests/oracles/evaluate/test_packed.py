"""Packed functions that lowered modules call."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tvm.script import ir as I
from tvm.script import relax as R

from relaxfuzz import evaluate
from relaxfuzz.generators.stages import Stage, advance
from relaxfuzz.oracles.catalogue import catalogue
from relaxfuzz.oracles.check import check
from relaxfuzz.oracles.errors import Mismatch, Unsupported
from relaxfuzz.oracles.evaluate.packed import packed
from relaxfuzz.oracles.pass_runs import Outcome, PassRuns
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.values import evaluated
from relaxfuzz.oracles.violation import Case


def test_the_shape_heap() -> None:
    heap = packed("vm.builtin.alloc_shape_heap", [3])
    packed("vm.builtin.match_shape", [np.zeros((2, 5)), heap, 2, 1, 0, 1, 2, "here "])
    packed("vm.builtin.match_prim_value", [7, heap, 1, 1, ""])
    assert heap.tolist() == [2, 7, 5]
    assert packed("vm.builtin.make_shape", [heap, 3, 0, 9, 1, 2, 1, 1]) == (9, 5, 7)
    assert packed("vm.builtin.make_prim_value", [heap, 1, 0]) == 2
    packed("vm.builtin.match_shape", [(2, 4), heap, 2, 3, 0, 2, 0, "here "])
    with pytest.raises(Mismatch, match="here Expected 5 but got 4"):
        packed("vm.builtin.match_shape", [(2, 4), heap, 2, 0, 2, 3, 2, "here "])


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        (
            "check_tensor_info",
            [np.zeros((2, 3)), 2, "float64", ""],
            [np.zeros(2), 2, "float64", ""],
        ),
        ("check_tensor_info", [np.zeros(2), -1, None, ""], [np.zeros(2), 1, "float32", ""]),
        ("check_shape_info", [(2, 3), 2, ""], [(2, 3), 1, ""]),
        ("check_tuple_info", [((), 1), 2, ""], [((), 1), 3, ""]),
        ("check_prim_value_info", [2, "int64", ""], [np.zeros(2), "int64", ""]),
        ("check_func_info", [len, ""], [3, ""]),
        ("reshape", [np.zeros(6), (2, 3)], [np.zeros(6), (2, 2)]),
    ],
)
def test_checks(name: str, good: list[Any], bad: list[Any]) -> None:
    packed(f"vm.builtin.{name}", good)
    with pytest.raises(Mismatch, match="Expected"):
        packed(f"vm.builtin.{name}", bad)


def test_values() -> None:
    x = np.array([3, 0, 2, 3], "int32")
    assert packed("vm.builtin.tensor_to_shape", [x]) == (3, 0, 2, 3)
    assert packed("vm.builtin.shape_of", [np.zeros((2, 3))]) == (2, 3)
    assert packed("vm.builtin.tuple_getitem", [(1, 2), 1]) == 2
    assert packed("vm.builtin.make_tuple", [1, 2]) == (1, 2)
    assert packed("vm.builtin.null_value", []) is None
    assert packed("relax.run.print", ["{}", x]) == ()
    np.testing.assert_array_equal(packed("relax.run.unique", [x, 1, 0, 0, 0]), [0, 2, 3])
    np.testing.assert_array_equal(packed("relax.run.nonzero", [x]), [[0, 2, 3]])
    np.testing.assert_array_equal(packed("relax.run.shape_to_tensor", [(2, 3)]), [2, 3])


def test_a_view_shares_memory_and_a_copy_does_not() -> None:
    x = np.zeros(4, "float32")
    packed("vm.builtin.reshape", [x, (2, 2)])[0, 0] = 1
    packed("vm.builtin.to_device", [x, 1, 0, "global"])[1] = 1
    assert x.tolist() == [1, 0, 0, 0]


def test_closures_and_dynamic_calls() -> None:
    closure = packed("vm.builtin.make_closure", [lambda args: args, 3])
    assert packed("vm.builtin.invoke_closure", [closure, 1, 2]) == [1, 2, 3]
    assert packed("vm.builtin.call_tir_dyn", [lambda args: args, 1, (5, 6)]) == [1, 5, 6]


@I.ir_module
class Handed:
    @R.function
    def make(x: R.Tensor((2,), "float32")):
        @R.function
        def closure(y: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            return R.add(x, y)

        return (closure, x)

    @R.function
    def use(
        made: R.Tuple(
            R.Callable((R.Tensor((2,), "float32"),), R.Tensor((2,), "float32")),
            R.Tensor((2,), "float32"),
        ),
    ):
        closure = made[0]
        return closure(made[1])


def test_a_function_in_a_result_is_an_argument_of_another_call() -> None:
    made = evaluate(Handed, "make", [np.array([1, 2], "float32")])
    assert made[0](np.array([3, 4], "float32")).tolist() == [4, 6]
    assert evaluate(Handed, "use", [made]).tolist() == [2, 4]


@pytest.mark.parametrize("name", ["vm.builtin.attention_kv_cache_view", "print"])
def test_other_names_are_not_known(name: str) -> None:
    with pytest.raises(Unsupported, match=name):
        packed(name, [])


def test_arguments_that_nobody_knows_what_to_do_with() -> None:
    with pytest.raises(Unsupported, match="make_shape"):
        packed("vm.builtin.make_shape", [None])


@I.ir_module
class Captured:
    @R.function
    def main(x: R.Tensor((3,), "float32"), w: R.Tensor((3,), "float32")):
        R.func_attr({"num_input": 1})
        a = R.add(w, w)
        b = R.subtract(a, w)
        c = R.multiply(b, a)
        return R.subtract(c, x)


GRAPHS = PassCall("RewriteCUDAGraph()", config={"relax.backend.use_cuda_graph": True})


def test_a_captured_graph_computes_what_its_function_does() -> None:
    mod = advance(Captured, Stage.PLANNED)
    after = GRAPHS.run(mod)
    assert "run_or_capture" in after.script()
    x, w = np.array([1, 2, 3], "float32"), np.array([2, 3, 4], "float32")
    np.testing.assert_array_equal(evaluate(after, "main", [x, w]), 2 * w * w - x)
    assert check(Case(mod, (GRAPHS,)), oracles=["evaluated"]) == []


def test_a_wrong_value_in_a_captured_graph_is_reported() -> None:
    mod = advance(Captured, Stage.PLANNED)
    after = GRAPHS.run(mod)
    after["subtract"] = after["add"]
    runs = PassRuns(mod, (GRAPHS,), catalogue[GRAPHS.name], thorough=True, seen=Outcome(after))
    assert evaluated.ORACLE.violations(runs)
