"""Evaluation of Relax functions in NumPy."""

# ruff: noqa: RET504, SIM108  (TVMScript reads statements, it does not execute them)

from __future__ import annotations

import numpy as np
import pytest
import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from relaxfuzz.oracles.errors import Mismatch, TooLarge, Undefined, Unsupported
from relaxfuzz.oracles.evaluate import MAX_CALLS, MAX_DEPTH, Evaluator


@I.ir_module
class Module:
    @R.function
    def branch(c: R.Tensor((), "bool"), x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        if c:
            y = R.add(x, x)
        else:
            y = R.nn.relu(x)
        return y

    @R.function
    def wide_branch(c: R.Tensor((2,), "bool"), x: R.Tensor((2,), "float32")) -> R.Tensor(
        (2,), "float32"
    ):
        if c:
            y = R.add(x, x)
        else:
            y = R.nn.relu(x)
        return y

    @R.function
    def symbolic(x: R.Tensor(("n", "m"), "float32")) -> R.Tensor(("n * m",), "float32"):
        n = T.int64()
        m = T.int64()
        y = R.reshape(x, (n * m,))
        return y

    @R.function
    def caller(x: R.Tensor((2,), "float32")) -> R.Tuple(
        R.Tensor((2,), "float32"), R.Tensor((2,), "float32")
    ):
        cls = Module
        y = cls.branch(R.const(True), x)
        pair = (x, y)
        first = pair[1]
        return (first, y)

    @R.function
    def cast(x: R.Tensor("float32", ndim=1)) -> R.Tensor((3,), "float32"):
        y = R.match_cast(x, R.Tensor((3,), "float32"))
        return y

    @R.function
    def endless(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        cls = Module
        z = R.add(x, x)
        y: R.Tensor((2,), "float32") = cls.endless(z)
        return y

    @R.function
    def circle(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        cls = Module
        y: R.Tensor((2,), "float32") = cls.circle(x)
        return y

    @R.function(pure=False)
    def unknown(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        y = R.call_packed("some function", x, ty_args=R.Tensor((2,), "float32"))
        return y

    @R.function
    def divides(x: R.Tensor((2,), "int32"), y: R.Tensor((2,), "int32")) -> R.Tensor((2,), "int32"):
        z = R.floor_divide(x, y)
        return z


X = np.array([-1, 2], "float32")


def run(name: str, *args: object) -> object:
    return Evaluator(Module).run(name, args)


@pytest.mark.parametrize(("condition", "expected"), [(True, [-2, 4]), (False, [0, 2])])
def test_a_branch(condition: bool, expected: list[float]) -> None:
    np.testing.assert_array_equal(run("branch", np.array(condition), X), expected)


@I.ir_module
class ShapeAtRunTime:
    @R.function
    def main(x: R.Tensor((2, 2), "float32"), sizes: R.Tensor((2,), "int64")) -> R.Tensor(
        "float32", ndim=2
    ):
        shape = R.tensor_to_shape(sizes)
        y = R.reshape(x, shape)
        return y


def test_no_size_stands_for_whatever_fits() -> None:
    x = np.zeros((2, 2), "float32")
    evaluator = Evaluator(ShapeAtRunTime)
    assert evaluator.run("main", [x, np.array([4, 1], "int64")]).shape == (4, 1)
    for sizes in ([-3, 1], [4, -1]):
        with pytest.raises(Undefined, match="a tensor of shape"):
            evaluator.run("main", [x, np.array(sizes, "int64")])


def test_symbolic_dimensions_come_from_the_arguments() -> None:
    result = run("symbolic", np.zeros((2, 3), "float32"))
    assert isinstance(result, np.ndarray)
    assert result.shape == (6,)


def test_calls_and_tuples() -> None:
    np.testing.assert_array_equal(run("caller", X), [[-2, 4], [-2, 4]])


def test_a_branch_on_several_elements_has_no_meaning() -> None:
    with pytest.raises(Undefined, match="no scalar: its shape is \\(2,\\)"):
        run("wide_branch", np.array([True, False]), X)


def test_a_false_cast_raises() -> None:
    with pytest.raises(Mismatch, match="3"):
        run("cast", X)


def test_an_argument_of_another_dtype_raises() -> None:
    with pytest.raises(Mismatch, match="float64"):
        run("branch", np.array(True), X.astype("float64"))


def test_recursion_ends() -> None:
    with pytest.raises(Unsupported, match=str(MAX_DEPTH)):
        run("endless", X)
    with pytest.raises(Undefined, match="recursion without end"):
        run("circle", X)


def test_what_is_not_known_is_never_guessed() -> None:
    with pytest.raises(Unsupported, match="some function"):
        run("unknown", X)


def test_undefined_operands_are_reported() -> None:
    one, zero = np.array([1, 1], "int32"), np.array([1, 0], "int32")
    np.testing.assert_array_equal(run("divides", one, one), [1, 1])
    with pytest.raises(Undefined, match="floor_divide"):
        run("divides", one, zero)


@pytest.mark.parametrize(("end", "defined"), [(2, True), (3, True), (4, False), (-1, False)])
def test_a_slice_that_promises_to_be_inside_must_be(end: int, defined: bool) -> None:
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((3,), "float32"))
    with builder.function("main", [x]):
        cut = relax.op.strided_slice(x, [0], [0], [end], assume_inbound=True)
        builder.emit_func_output(builder.emit(cut))
    if defined:
        assert Evaluator(builder.get()).run("main", [np.ones(3, "float32")]).shape == (end,)
    else:
        with pytest.raises(Unsupported, match="assume_inbound"):
            Evaluator(builder.get()).run("main", [np.ones(3, "float32")])


def test_the_watcher_sees_every_binding_in_order() -> None:
    seen: list[str] = []

    def watch(var: relax.Var, value: object) -> None:
        seen.append(str(var.name))

    Evaluator(Module, watch=watch).run("caller", [X])
    assert seen[:5] == ["x", "c", "x", "y_then", "y"]
    assert seen[-2:] == ["pair", "first"]
    assert isinstance(Module, tvm.IRModule)


def calling(functions: int) -> tvm.IRModule:
    """A chain of calls of so many functions."""
    builder = relax.BlockBuilder()
    ty = relax.TensorType((2,), "float32")
    callees = []
    for number in range(functions):
        x = relax.Var("x", ty)
        with builder.function(f"part{number}", [x], private=True):
            gvar = builder.emit_func_output(builder.emit(relax.op.negative(x)))
        callees.append(gvar)
    x = relax.Var("x", ty)
    with builder.function("main", [x]):
        value = x
        for gvar in callees:
            value = builder.emit(relax.Call(gvar, [value]))
        builder.emit_func_output(value)
    return builder.get()


def test_every_function_of_a_large_module_may_be_called() -> None:
    x = np.array([1, -2], "float32")
    np.testing.assert_array_equal(Evaluator(calling(2 * MAX_CALLS)).run("main", [x]), x)


def test_repeated_calls_end() -> None:
    @I.ir_module
    class Doubling:
        @R.function
        def main(x: R.Tensor((2,), "float32"), n: R.Tensor((), "int32")) -> R.Tensor(
            (2,), "float32"
        ):
            done = R.less(n, R.const(0))
            if done:
                y = x
            else:
                less = R.subtract(n, R.const(1))
                one = Doubling.main(x, less)
                y = Doubling.main(one, less)
            return y

    args = [np.zeros(2, "float32"), np.array(MAX_DEPTH - 5, "int32")]
    with pytest.raises(TooLarge, match=f"more than {MAX_CALLS} calls"):
        Evaluator(Doubling).run("main", args)


@pytest.mark.parametrize("dtype", ["float16", "float32", "int32"])
def test_one_hot_has_the_dtype_of_its_number(dtype: str) -> None:
    x = relax.Var("x", R.Tensor((2,), "int64"))
    on, off = (relax.prim_value(tvm.tirx.const(number, dtype)) for number in (1, 0))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(relax.op.one_hot(x, on, off, 2)))
    found = Evaluator(builder.get()).run("main", [np.array([1, 0])])
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, [[0, 1], [1, 0]])


def test_negative_indices_of_scatter_elements_count_from_the_end() -> None:
    x, updates = (relax.Var(name, R.Tensor((3,), "float32")) for name in ("x", "updates"))
    indices = relax.Var("indices", R.Tensor((3,), "int64"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x, indices, updates]):
        builder.emit_func_output(builder.emit(relax.op.scatter_elements(x, indices, updates)))
    args = [np.zeros(3, "float32"), np.array([0, -1, 1]), np.arange(3, dtype="float32")]
    np.testing.assert_array_equal(Evaluator(builder.get()).run("main", args), [0, 2, 1])
    args[1] = np.array([0, -4, 1])
    with pytest.raises(Undefined, match="index outside"):
        Evaluator(builder.get()).run("main", args)


def test_full_converts_one_number_for_all_elements() -> None:

    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((), "float32"))
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(relax.op.full((2,), x, "int32")))
    with pytest.raises(Undefined, match="conversion to an integer"):
        Evaluator(builder.get(), converts=True).run("main", [np.array(1e30, "float32")])
