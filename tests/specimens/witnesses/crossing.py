"""Modules in which features meet so that passes are wrong, and others in which they do not meet."""
# ruff: noqa: F841, RET504  (TVMScript reads statements, it does not execute them)

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from relaxfuzz.generators.stages import Stage

from ..witness import Witness

X = np.array([[0.5, -2.0, 3.0], [1.5, 5.0, -0.25]], "float32")


def one(body: Callable[[relax.Var], relax.Expr], ty: relax.Type) -> tvm.IRModule:
    """A module with the function main of one parameter."""
    builder = relax.BlockBuilder()
    x = relax.Var("x", ty)
    with builder.function("main", [x]):
        with builder.dataflow():
            result = builder.emit_output(body(x))
        builder.emit_func_output(result)
    return builder.get()


def tensor(*shape: Any, dtype: str = "float32") -> relax.TensorType:
    return relax.TensorType(
        [tvm.tirx.Var(d, "int64") if isinstance(d, str) else d for d in shape], dtype
    )


UNKNOWN = relax.TensorType(dtype="float32")
EMPTY = np.zeros((2, 0), "float32")


REDUCTIONS: list[tuple[str, Any, Any, Any, bool]] = [
    ("folds_empty_products", lambda x: relax.op.prod(x, 1), tensor(2, 0), EMPTY, True),
    ("folds_empty_products", lambda x: relax.op.sum(x, 1), tensor(2, 0), EMPTY, False),
    ("folds_empty_products", lambda x: relax.op.prod(x, 1), tensor(2, 3), X, False),
    ("folds_empty_products", lambda x: relax.op.prod(x, 1), tensor("n", "m"), EMPTY, False),
    ("folds_empty_products", lambda x: relax.op.prod(x, 0), tensor(2, 0), EMPTY, False),
    ("means_by_static_sizes", relax.op.mean, tensor("n", 3), X, True),
    ("means_by_static_sizes", lambda x: relax.op.mean(x, -1), tensor("n", 3), X, False),
    ("means_by_static_sizes", lambda x: relax.op.mean(x, 0), tensor("n", 3), X, False),
    ("means_by_static_sizes", relax.op.mean, tensor("n", "m"), X, False),
    ("means_by_static_sizes", lambda x: relax.op.mean(x, 0, True), tensor(2, 3), X, False),
    ("normalizes_unknown_ranks", lambda x: relax.op.sum(x, -1), UNKNOWN, X, True),
    ("normalizes_unknown_ranks", lambda x: relax.op.sum(x, 1), UNKNOWN, X, False),
    ("normalizes_unknown_ranks", lambda x: relax.op.std(x, -1), tensor("n", 3), X, False),
    (
        "normalizes_unknown_ranks",
        lambda x: relax.op.max(x, [0, -1], True),
        tensor(2, 3),
        X,
        False,
    ),
]


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


@I.ir_module
class UnusedNumber:
    @R.function
    def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        a = R.exp(x)
        b = R.abs(a)
        c = R.abs(b)
        return a


YES, PAIR = np.array(True), np.array([1.0, -3.0], "float32")


TWO, ZERO = np.array(2, "int64"), np.array(0, "int64")
LEGALIZED, REWRITTEN = Stage.LEGALIZED, Stage.REWRITTEN
DOUBLED = one(lambda x: relax.op.concat([x, x], axis=0), tensor("n", 3))
PLAIN = one(relax.op.exp, tensor(2, 3))

WITNESSES = (
    *(
        Witness(name, "values" if shows else None, one(reduce, ty), (arg,))
        for name, reduce, ty, arg, shows in REDUCTIONS
    ),
    Witness("binds_despite_recursion", "values", Recursive, (TWO,)),
    Witness("binds_despite_recursion", None, Recursive, (ZERO,)),
    Witness("binds_despite_recursion", None, Straight, (YES, PAIR)),
    Witness("binds_despite_recursion", None, Branching, (YES, PAIR)),
    Witness("binds_despite_branches", "values", Branching, (YES, PAIR)),
    Witness("binds_despite_branches", None, Straight, (YES, PAIR)),
    Witness("zeroes_whole_tuples", "values", tuples(True), (X,)),
    Witness("zeroes_whole_tuples", None, tuples(False), (X,)),
    Witness("merges_overwritten", "values", InPlace, (X,)),
    Witness("merges_overwritten", None, NotInPlace, (X,)),
    Witness("sorts_past_updates", "values", InPlace, (X,)),
    Witness("sorts_past_updates", None, NotInPlace, (X,)),
    Witness("reuses_tensors_in_tuples", "values", UnnamedPass, (X,), REWRITTEN),
    Witness("reuses_tensors_in_tuples", None, Viewed, (X,), REWRITTEN),
    Witness("reuses_tensors_in_tuples", None, Dead, (X,), REWRITTEN),
    Witness("reuses_viewed_tensors", "values", Viewed, (X,), REWRITTEN),
    Witness("reuses_viewed_tensors", None, UnnamedPass, (X,), REWRITTEN),
    Witness("reuses_viewed_tensors", None, Dead, (X,), REWRITTEN),
    Witness("drops_shape_functions", "values", DOUBLED, (X,), Stage.LOWERED),
    Witness("drops_shape_functions", None, PLAIN, (X,)),
    Witness("drops_shape_functions", None, PLAIN, (X,), Stage.BUILTINS_LOWERED),
    Witness("drops_shape_functions", None, PLAIN, (X,), Stage.LOWERED),
    Witness("drops_shape_functions", None, UnusedNumber, (X,)),
)
