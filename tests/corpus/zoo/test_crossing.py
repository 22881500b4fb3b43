"""Each fault shows where its features meet, and each pass is right where they do not."""
# ruff: noqa: F841, RET504  (TVMScript reads statements, it does not execute them)

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tvm
import tvm_ffi
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from relaxfuzz import evaluate
from relaxfuzz.compat.serialization import load_json, save_json
from relaxfuzz.corpus.zoo import crossing as C
from relaxfuzz.corpus.zoo.crossing import SPECIMENS
from relaxfuzz.generators.stages import Stage, advance
from relaxfuzz.oracles.errors import Mismatch, Undefined, Unsupported
from relaxfuzz.oracles.structural.checkers import flaw

X = np.array([[0.5, -2.0, 3.0], [1.5, 5.0, -0.25]], "float32")


def applied(make: Callable[[], tvm.transform.Pass], mod: tvm.IRModule) -> tvm.IRModule:
    """The result; all but its values is as it has to be."""
    before = load_json(save_json(mod))
    after = make()(mod)
    assert tvm_ffi.structural_equal(before, mod, map_free_vars=True), "the input is mutated"
    assert flaw(after) is None
    assert tvm_ffi.structural_equal(mod["main"].ty, after["main"].ty, map_free_vars=True)
    assert tvm_ffi.structural_equal(make()(after), after, map_free_vars=True), "not idempotent"
    return after


def same(before: tvm.IRModule, after: tvm.IRModule, *args: Any) -> bool:
    a, b = (evaluate(mod, "main", [np.copy(arg) for arg in args]) for mod in (before, after))
    return _near(a, b)


def _near(a: Any, b: Any) -> bool:
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(_near, a, b))
    if (a.dtype, a.shape) != (b.dtype, b.shape):
        return False
    return bool(np.allclose(a, b, rtol=1e-4, atol=1e-6, equal_nan=True))


def one(body: Any, ty: Any, stage: Stage = Stage.RAW) -> tvm.IRModule:
    """A module with the function main of one parameter."""
    builder = relax.BlockBuilder()
    x = relax.Var("x", ty)
    with builder.function("main", [x]):
        with builder.dataflow():
            result = builder.emit_output(body(x))
        builder.emit_func_output(result)
    return advance(builder.get(), stage)


def tensor(*shape: Any, dtype: str = "float32") -> relax.TensorType:
    return relax.TensorType(
        [tvm.tirx.Var(d, "int64") if isinstance(d, str) else d for d in shape], dtype
    )


UNKNOWN = relax.TensorType(dtype="float32")
EMPTY = np.zeros((2, 0), "float32")


@pytest.mark.parametrize(
    ("make", "reduce", "ty", "arg", "shows"),
    [
        (C.folds_empty_products, lambda x: relax.op.prod(x, 1), tensor(2, 0), EMPTY, True),
        (C.folds_empty_products, lambda x: relax.op.sum(x, 1), tensor(2, 0), EMPTY, False),
        (C.folds_empty_products, lambda x: relax.op.prod(x, 1), tensor(2, 3), X, False),
        (C.folds_empty_products, lambda x: relax.op.prod(x, 1), tensor("n", "m"), EMPTY, False),
        (C.folds_empty_products, lambda x: relax.op.prod(x, 0), tensor(2, 0), EMPTY, False),
        (C.means_by_static_sizes, relax.op.mean, tensor("n", 3), X, True),
        (C.means_by_static_sizes, lambda x: relax.op.mean(x, -1), tensor("n", 3), X, False),
        (C.means_by_static_sizes, lambda x: relax.op.mean(x, 0), tensor("n", 3), X, False),
        (C.means_by_static_sizes, relax.op.mean, tensor("n", "m"), X, False),
        (C.means_by_static_sizes, lambda x: relax.op.mean(x, 0, True), tensor(2, 3), X, False),
        (C.normalizes_unknown_ranks, lambda x: relax.op.sum(x, -1), UNKNOWN, X, True),
        (C.normalizes_unknown_ranks, lambda x: relax.op.sum(x, 1), UNKNOWN, X, False),
        (C.normalizes_unknown_ranks, lambda x: relax.op.std(x, -1), tensor("n", 3), X, False),
        (
            C.normalizes_unknown_ranks,
            lambda x: relax.op.max(x, [0, -1], True),
            tensor(2, 3),
            X,
            False,
        ),
    ],
)
def test_reductions(make: Any, reduce: Any, ty: Any, arg: Any, shows: bool) -> None:
    mod = one(reduce, ty)
    assert same(mod, applied(make, mod), arg) is not shows


@pytest.mark.parametrize(
    ("axes", "shows"), [([1, 2], True), ([2], False), ([1], False), ([0], False)]
)
def test_collapsed_reductions(axes: list[int], shows: bool) -> None:
    mod = one(lambda x: relax.op.sum(x, axes), tensor(2, 3, 1), Stage.LEGALIZED)
    assert same(mod, applied(C.collapses_unit_reductions, mod), X[..., None]) is not shows


@I.ir_module
class Twins:
    @R.function(private=True)
    def f(x: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        y = R.add(x, R.const([1.0, 2.0, 3.0], "float32"))
        return y

    @R.function(private=True)
    def g(x: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        y = R.add(x, R.const([1.0, 2.0, 4.0], "float32"))
        return y

    @R.function
    def main(x: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        cls = Twins
        y = cls.f(x)
        z = cls.g(y)
        return z


def test_twins() -> None:
    assert not same(Twins, applied(C.merges_twins, Twins), X[0])
    functions = dict(Twins.functions_items())
    functions[Twins.get_global_var("g")] = Twins["f"]
    equal = tvm.IRModule(functions)
    merged = applied(C.merges_twins, equal)
    assert len(merged.functions) == 2
    assert same(equal, merged, X[0])


@I.ir_module
class Recursive:
    @R.function(private=True)
    def loop(count: R.Tensor((), "int64"), x: R.Tensor((2,), "float32")) -> R.Tensor(
        (2,), "float32"
    ):
        cls = Recursive
        done = R.less_equal(count, R.const(0, "int64"))
        if done:
            out = R.nn.relu(x)
        else:
            y = R.add(x, x)
            less = R.subtract(count, R.const(1, "int64"))
            out = cls.loop(less, y)
        return out

    @R.function
    def main(count: R.Tensor((), "int64")) -> R.Tensor((2,), "float32"):
        cls = Recursive
        z = cls.loop(count, R.const([1.0, 2.0], "float32"))
        return z


@I.ir_module
class Branching:
    @R.function(private=True)
    def f(x: R.Tensor((2,), "float32"), y: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        z = R.add(x, y)
        return z

    @R.function
    def main(c: R.Tensor((), "bool"), x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        cls = Branching
        y = cls.f(x, R.const([1.0, 2.0], "float32"))
        if c:
            z = cls.f(y, R.const([5.0, 5.0], "float32"))
        else:
            z = cls.f(y, R.const([1.0, 2.0], "float32"))
        return z


@I.ir_module
class Straight:
    @R.function(private=True)
    def f(x: R.Tensor((2,), "float32"), y: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        z = R.add(x, y)
        return z

    @R.function
    def main(c: R.Tensor((), "bool"), x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        cls = Straight
        y = cls.f(x, R.const([1.0, 2.0], "float32"))
        z = cls.f(y, R.const([1.0, 2.0], "float32"))
        w = cls.f(R.const([1.0, 2.0], "float32"), R.const([1.0, 2.0], "float32"))
        v = R.add(z, w)
        return v


YES, PAIR = np.array(True), np.array([1.0, -3.0], "float32")


def test_constants_meet_recursion() -> None:
    after = applied(C.binds_despite_recursion, Recursive)
    assert not same(Recursive, after, np.array(2, "int64"))
    assert same(Recursive, after, np.array(0, "int64"))
    assert same(Straight, applied(C.binds_despite_recursion, Straight), YES, PAIR)
    assert same(Branching, applied(C.binds_despite_recursion, Branching), YES, PAIR)


def test_constants_meet_branches() -> None:
    after = applied(C.binds_despite_branches, Branching)
    assert not same(Branching, after, YES, PAIR)
    straight = applied(C.binds_despite_branches, Straight)
    assert same(Straight, straight, YES, PAIR)
    assert not tvm_ffi.structural_equal(straight, Straight)


def tuples(whole: bool) -> tvm.IRModule:
    builder = relax.BlockBuilder()
    y = relax.Var("y", tensor(2, 3))
    with builder.function("f", [y], private=True):
        with builder.dataflow():
            parts = [builder.emit_output(relax.op.exp(y)), builder.emit_output(relax.op.abs(y))]
        builder.emit_func_output(relax.Tuple(parts))
    x = relax.Var("x", tensor(2, 3))
    with builder.function("main", [x]):
        pair = builder.emit(relax.Call(builder.get().get_global_var("f"), [x]))
        first = builder.emit(relax.TupleGetItem(pair, 0))
        builder.emit_func_output(relax.Tuple([first, pair]) if whole else first)
    return builder.get()


def test_whole_tuples() -> None:
    assert not same(tuples(True), applied(C.zeroes_whole_tuples, tuples(True)), X)
    projected = applied(C.zeroes_whole_tuples, tuples(False))
    assert same(tuples(False), projected, X)
    assert not tvm_ffi.structural_equal(tuples(False), projected)


@I.ir_module
class InPlace:
    @T.prim_func(private=True, s_tir=True)
    def negate(a: T.Buffer((T.int64(2), T.int64(3)), "float32")):
        for i, j in T.grid(T.int64(2), T.int64(3)):
            with T.sblock("negate"):
                vi, vj = T.axis.remap("SS", [i, j])
                a[vi, vj] = T.float32(0) - a[vi, vj]

    @R.function
    def main(x: R.Tensor((2, 3), "float32")) -> R.Tuple(
        R.Tensor((2, 3), "float32"), R.Tensor((2, 3), "float32")
    ):
        cls = InPlace
        with R.dataflow():
            a = R.exp(x)
            b = R.nn.relu(a)
            c = R.call_tir_inplace(
                cls.negate, (a,), inplace_indices=[0], out_ty=[R.Tensor((2, 3), "float32")]
            )
            d = R.exp(x)
            e = R.add(c, d)
            f = R.add(b, R.const(1.0, "float32"))
            R.output(e, f)
        return (e, f)


@I.ir_module
class NotInPlace:
    @R.function
    def main(x: R.Tensor((2, 3), "float32")) -> R.Tuple(
        R.Tensor((2, 3), "float32"), R.Tensor((2, 3), "float32")
    ):
        with R.dataflow():
            a = R.exp(x)
            b = R.abs(a)
            c = R.negative(a)
            d = R.exp(x)
            e = R.add(c, d)
            f = R.add(b, d)
            R.output(e, f)
        return (e, f)


@pytest.mark.parametrize("make", [C.merges_overwritten, C.sorts_past_updates])
def test_updates_in_place(make: Any) -> None:
    after = applied(make, InPlace)
    assert not same(InPlace, after, X)
    plain = applied(make, NotInPlace)
    assert same(NotInPlace, plain, X)
    assert not tvm_ffi.structural_equal(NotInPlace, plain)


@I.ir_module
class UnnamedPass:
    @R.function
    def main(x: R.Tensor((2, 3), "float32")) -> R.Tuple(
        R.Tuple(R.Tensor((2, 3), "float32")), R.Tensor((2, 3), "float32")
    ):
        a = R.exp(x)
        t = (a,)
        b = R.abs(x)
        return (t, b)


@I.ir_module
class Viewed:
    @R.function
    def main(x: R.Tensor((2, 3), "float32")) -> R.Tuple(
        R.Tensor((3, 2), "float32"), R.Tensor((2, 3), "float32")
    ):
        a = R.exp(x)
        v = R.memory.view(a, R.shape([3, 2]))
        b = R.abs(x)
        return (v, b)


@I.ir_module
class Dead:
    @R.function
    def main(x: R.Tensor((2, 3), "float32")) -> R.Tuple(
        R.Tuple(R.Tensor((2, 3), "float32")), R.Tensor((2, 3), "float32")
    ):
        a = R.nn.softmax(x)
        b = R.nn.softmax(a)
        c = R.nn.softmax(b)
        d = R.nn.softmax(c)
        t = (d,)
        return (t, c)


def test_memory() -> None:
    in_tuples, viewed, dead = (advance(mod, Stage.REWRITTEN) for mod in (UnnamedPass, Viewed, Dead))
    assert not same(in_tuples, applied(C.reuses_tensors_in_tuples, in_tuples), X)
    assert same(in_tuples, applied(C.reuses_viewed_tensors, in_tuples), X)
    assert not same(viewed, applied(C.reuses_viewed_tensors, viewed), X)
    assert same(viewed, applied(C.reuses_tensors_in_tuples, viewed), X)
    for make in (C.reuses_tensors_in_tuples, C.reuses_viewed_tensors):
        after = applied(make, dead)
        assert same(dead, after, X)
        assert not tvm_ffi.structural_equal(dead, after)


def test_shape_functions() -> None:
    doubled = one(lambda x: relax.op.concat([x, x], axis=0), tensor("n", 3), Stage.LOWERED)
    with pytest.raises((Mismatch, Undefined, Unsupported)):
        same(doubled, applied(C.drops_shape_functions, doubled), X)
    for stage in (Stage.RAW, Stage.BUILTINS_LOWERED, Stage.LOWERED):
        plain = one(relax.op.exp, tensor(2, 3), stage)
        assert same(plain, applied(C.drops_shape_functions, plain), X)
    unused = applied(C.drops_shape_functions, UnusedNumber)
    assert same(UnusedNumber, unused, X)
    assert len(unused["main"].body.blocks[0].bindings) == 1


@I.ir_module
class UnusedNumber:
    @R.function
    def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        a = R.exp(x)
        b = R.abs(a)
        c = R.abs(b)
        return a


def test_every_specimen_needs_two_features() -> None:
    assert len(SPECIMENS) >= 12
    for specimen in SPECIMENS:
        assert len(specimen.needs) >= 2, specimen.name
        assert specimen.models.startswith("apache/tvm#")
