"""Storage that tensors share, and the stages of lowering that make it."""

# ruff: noqa: RET504  (TVMScript reads statements, it does not execute them)

from __future__ import annotations

import weakref
from typing import Any

import numpy as np
import pytest
from tvm import relax, tirx
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from relaxfuzz.generators.stages import Stage, advance
from relaxfuzz.oracles.errors import Mismatch, NoResult, TooLarge, Undefined, Unsupported
from relaxfuzz.oracles.evaluate import Evaluator, evaluate, operators, poison
from relaxfuzz.oracles.evaluate.frame import Frame
from relaxfuzz.oracles.evaluate.memory import Storage
from relaxfuzz.oracles.liveness import MANY

X = np.array([1, 2, 3, 4], "float32")


@I.ir_module
class Module:
    @T.prim_func(private=True)
    def add_one(x: T.Buffer((4,), "float32"), y: T.Buffer((4,), "float32")):
        for i in range(4):
            y[i] = x[i] + T.float32(1)

    @R.function(pure=False)
    def separate(x: R.Tensor((4,), "float32")) -> R.Tuple(
        R.Tensor((4,), "float32"), R.Tensor((4,), "float32")
    ):
        cls = Module
        storage = R.memory.alloc_storage(R.shape([32]), 0, "global", "float32")
        a = R.memory.alloc_tensor(storage, 0, R.shape([4]), "float32")
        cls.add_one(x, a)
        b = R.memory.alloc_tensor(storage, 16, R.shape([4]), "float32")
        _ = R.memory.kill_storage(storage)
        cls.add_one(a, b)
        return (a, b)

    @R.function(pure=False)
    def shared(x: R.Tensor((4,), "float32")) -> R.Tuple(
        R.Tensor((4,), "float32"), R.Tensor((4,), "float32")
    ):
        cls = Module
        storage = R.memory.alloc_storage(R.shape([32]), 0, "global", "float32")
        a = R.memory.alloc_tensor(storage, 0, R.shape([4]), "float32")
        cls.add_one(x, a)
        b = R.memory.alloc_tensor(storage, 8, R.shape([4]), "float32")
        cls.add_one(x, b)
        return (a, b)

    @R.function(pure=False)
    def killed(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        cls = Module
        a = R.builtin.alloc_tensor(R.shape([4]), "float32", 0)
        cls.add_one(x, a)
        _ = R.memory.kill_tensor(a)
        return a

    @R.function(pure=False)
    def alias(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        cls = Module
        a = R.builtin.alloc_tensor(R.shape([4]), "float32", 0)
        cls.add_one(x, a)
        b = a
        _ = R.memory.kill_tensor(a)
        return b

    @R.function(pure=False)
    def outside(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        storage = R.memory.alloc_storage(R.shape([8]), 0, "global", "float32")
        a = R.memory.alloc_tensor(storage, 0, R.shape([4]), "float32")
        return a

    @R.function
    def unwritten() -> R.Tensor((2,), "float32"):
        a = R.builtin.alloc_tensor(R.shape([2]), "float32", 0)
        return a

    @R.function
    def huge() -> R.Tensor((1 << 40,), "float32"):
        a = R.builtin.alloc_tensor(R.shape([1 << 40]), "float32", 0)
        return a

    @R.function
    def negated(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        a = R.negative(x)
        return a

    @R.function
    def view(x: R.Tensor((4,), "float32")) -> R.Tensor((2, 2), "int16"):
        y = R.memory.view(x, R.shape([2, 2]), R.dtype("int16"), R.prim_value(4))
        return y

    @R.function
    def wide(x: R.Tensor(("n",), "float32")) -> R.Tensor((4, 2), "float32"):
        y = R.memory.view(x, R.shape([4, 2]))
        return y


def run(name: str, *args: Any) -> Any:
    return Evaluator(Module).run(name, args)


def test_tensors_side_by_side() -> None:
    a, b = run("separate", X)
    np.testing.assert_array_equal(a, X + 1)
    np.testing.assert_array_equal(b, X + 2)


def test_tensors_that_overlap() -> None:
    a, b = run("shared", X)
    np.testing.assert_array_equal(a, [2, 3, 2, 3])
    np.testing.assert_array_equal(b, [2, 3, 4, 5])


def test_killed_memory_is_not_used() -> None:
    with pytest.raises(Undefined, match="a variable is used"):
        run("killed", X)


def test_another_variable_of_what_is_killed_lives_on() -> None:
    np.testing.assert_array_equal(run("alias", X), X + 1)


def test_a_tensor_outside_of_its_storage() -> None:
    with pytest.raises(Undefined, match="16 bytes at offset 0 of a storage of 8"):
        run("outside", X)


def test_a_tensor_of_a_negative_size() -> None:
    storage = Storage(np.zeros(8, "uint8"))
    with pytest.raises(Undefined, match=r"shape \(2, -1, 0\)"):
        storage.tensor(0, (2, -1, 0), "float32")


def test_memory_that_nobody_wrote_to_holds_no_small_numbers() -> None:
    assert (run("unwritten") > 1e38).all()


def test_too_much_memory() -> None:
    with pytest.raises(TooLarge, match="bytes"):
        run("huge")


def test_too_much_memory_in_all(monkeypatch: pytest.MonkeyPatch) -> None:
    @I.ir_module
    class Module:
        @R.function
        def main() -> R.Tensor((4,), "float32"):
            _ = R.builtin.alloc_tensor(R.shape([4]), R.dtype("float32"), 0, R.str("global"))
            b = R.builtin.alloc_tensor(R.shape([4]), R.dtype("float32"), 0, R.str("global"))
            return b

    monkeypatch.setattr(poison, "MAX_BYTES", 32)
    for _ in range(3):  # each evaluation has that much
        assert evaluate(Module, "main", []).shape == (4,)
    monkeypatch.setattr(poison, "MAX_BYTES", 31)
    with pytest.raises(TooLarge, match="more than 31 bytes of tensors"):
        evaluate(Module, "main", [])


def test_an_operator_on_too_much_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operators, "MAX_BYTES", X.nbytes)
    assert run("negated", X).shape == X.shape
    monkeypatch.setattr(operators, "MAX_BYTES", X.nbytes - 1)
    with pytest.raises(TooLarge, match=r"an operand of relax\.negative"):
        run("negated", X)


@I.ir_module
class BySizes:
    """Shapes that come from the values of a tensor."""

    @R.function
    def zeros(sizes: R.Tensor((2,), "int64")):
        n, m = T.int64(), T.int64()
        shape = R.tensor_to_shape(sizes)
        _ = R.match_cast(shape, R.Shape([n, m]))
        return R.zeros(R.shape([n, m]), "float32")

    @R.function
    def products(x: R.Tensor(("n",), "float32")):
        return R.outer(x, x)


def test_sizes_that_come_from_values(monkeypatch: pytest.MonkeyPatch) -> None:
    assert evaluate(BySizes, "zeros", [np.array([2, 3])]).shape == (2, 3)
    with pytest.raises(TooLarge, match=r"a tensor of shape \(50000, 50000\), which relax.zeros"):
        evaluate(BySizes, "zeros", [np.array([50000, 50000])])
    monkeypatch.setattr(operators, "MAX_BYTES", 1 << 20)
    with pytest.raises(TooLarge, match=r"a result of relax\.outer with more than"):
        evaluate(BySizes, "products", [np.ones(600, "float32")])


def test_a_result_without_a_value_has_no_negative_size() -> None:
    """Of no elements, a convolution with a kernel that is larger than the operand has no value."""
    builder = relax.BlockBuilder()
    n, m = tirx.Var("n", "int64"), tirx.Var("m", "int64")
    x = relax.Var("x", relax.TensorType((n, 3, m), "float32"))
    weight = relax.Var("weight", relax.TensorType((1, 3, 4), "float32"))
    with builder.function("main", [x, weight]):
        builder.emit_func_output(builder.emit(relax.op.nn.conv1d(x, weight)))
    arguments = [np.zeros((0, 3, 2), "float32"), np.zeros((1, 3, 4), "float32")]
    with pytest.raises(NoResult):
        Evaluator(builder.get(), valued=False).run("main", arguments)


def test_memory_that_the_system_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object) -> None:
        raise MemoryError("Unable to allocate")

    monkeypatch.setattr(Frame, "value", refuse)
    with pytest.raises(TooLarge, match="memory: Unable to allocate"):
        run("negated", X)


def test_a_view_of_the_bytes() -> None:
    np.testing.assert_array_equal(run("view", X), X[1:3].view("int16").reshape(2, 2))


def test_a_view_of_more_than_there_is() -> None:
    with pytest.raises(Mismatch, match="32 bytes"):
        run("wide", X)


@I.ir_module
class AnyDtype:
    @R.function
    def main(x: R.Tensor((4,), "float32"), y: R.Any) -> R.Tensor((4,)):
        z: R.Tensor((4,)) = R.memory.view(x, R.shape([4]), y, R.tuple())
        return z


def test_a_view_of_a_dtype_that_is_none() -> None:
    with pytest.raises(Unsupported, match="not defined for"):
        Evaluator(AnyDtype).run("main", [X, X[:3]])


@I.ir_module
class Symbolic:
    @R.function
    def main(x: R.Tensor(("n", "m"), "float32"), y: R.Tensor(("n * m",), "float32")) -> R.Tuple(
        R.Tensor(("m", "n"), "float32"), R.Tensor(("n * m + 2",), "float32"), R.Shape(["n + m"])
    ):
        n = T.int64()
        m = T.int64()
        with R.dataflow():
            flat = R.reshape(x, (n * m,))
            total = R.add(flat, y)
            long = R.concat([total, R.const([7, 8], "float32")], axis=0)
            turned = R.permute_dims(R.nn.relu(x))
            R.output(long, turned)
        return (turned, long, R.shape([n + m]))


@pytest.mark.parametrize("stage", list(Stage))
def test_every_stage_gives_the_same(stage: Stage) -> None:
    x = np.arange(-3, 3, dtype="float32").reshape(2, 3)
    y = np.ones(6, "float32")
    turned, long, shape = Evaluator(advance(Symbolic, stage)).run("main", [x, y])
    np.testing.assert_array_equal(turned, np.maximum(x, 0).T)
    np.testing.assert_array_equal(long, [-2, -1, 0, 1, 2, 3, 7, 8])
    assert shape == (5,)


@pytest.mark.parametrize("stage", [Stage.RAW, Stage.LEGALIZED, Stage.LOWERED])
def test_arguments_are_checked_at_every_stage(stage: Stage) -> None:
    evaluator = Evaluator(advance(Symbolic, stage))
    with pytest.raises(Mismatch, match="got 5"):
        evaluator.run("main", [np.zeros((2, 3), "float32"), np.zeros(5, "float32")])


def test_values_are_dropped_after_their_last_use() -> None:
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((4,), "float32"))
    with builder.function("main", [x]):
        y = first = builder.emit(relax.op.add(x, x))
        for _ in range(MANY):
            y = builder.emit(relax.op.add(y, x))
        builder.emit_func_output(relax.op.add(y, first))
    seen: list[weakref.ref[Any]] = []
    alive: list[int] = []

    def watch(var: Any, value: Any) -> None:
        seen.append(weakref.ref(value))
        alive.append(sum(each() is not None for each in seen))

    result = Evaluator(builder.get(), watch=watch).run("main", [np.ones(4, "float32")])
    np.testing.assert_array_equal(result, np.full(4, MANY + 4))
    assert len(seen) > MANY
    assert max(alive) < 8
