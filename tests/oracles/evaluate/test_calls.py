"""Calls of PrimFuncs and packed functions, closures, and what they share in memory."""

# ruff: noqa: RET504  (TVMScript reads statements, it does not execute them)

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
import tvm
from tvm import relax, tirx
from tvm.ir import GlobalVar
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from relaxfuzz.compat import ir
from relaxfuzz.oracles.errors import Mismatch, Undefined, Unsupported
from relaxfuzz.oracles.evaluate import Evaluator

X = np.array([1, 2, 3], "float32")


@I.ir_module
class Module:
    @T.prim_func(private=True)
    def add_one(x: T.Buffer((3,), "float32"), y: T.Buffer((3,), "float32")):
        for i in range(3):
            y[i] = x[i] + T.float32(1)

    @T.prim_func(private=True)
    def both(a: T.handle, b: T.handle, c: T.handle):
        n = T.int64()
        x = T.match_buffer(a, (n,), "float32")
        y = T.match_buffer(b, (n,), "float32")
        z = T.match_buffer(c, (2,), "float32")
        for i in range(n):
            y[i] = x[n - 1 - i]
        for i in range(2):
            z[i] = x[i]

    @T.prim_func(private=True)
    def fill(k: T.int64, c: T.handle):
        y = T.match_buffer(c, (k,), "float32")
        for i in range(k):
            y[i] = T.Cast("float32", k)

    @T.prim_func(private=True)
    def double(x: T.Buffer((3,), "float32")):
        for i in range(3):
            x[i] = x[i] * T.float32(2)

    @T.prim_func(private=True)
    def double_both(x: T.Buffer((3,), "float32"), y: T.Buffer((3,), "float32")):
        for i in range(3):
            x[i] = x[i] * T.float32(2)
            y[i] = y[i] * T.float32(2)

    @R.function
    def several(x: R.Tensor(("n",), "float32")) -> R.Tuple(
        R.Tensor(("n",), "float32"), R.Tensor((2,), "float32")
    ):
        n = T.int64()
        cls = Module
        y = R.call_tir(
            cls.both, (x,), out_ty=[R.Tensor((n,), "float32"), R.Tensor((2,), "float32")]
        )
        return y

    @R.function
    def variables(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n + 1",), "float32"):
        n = T.int64()
        cls = Module
        y = R.call_tir(cls.fill, (n + 1,), out_ty=R.Tensor((n + 1,), "float32"))
        return y

    @R.function
    def live(x: R.Tensor((3,), "float32")) -> R.Tuple(
        R.Tensor((3,), "float32"), R.Tensor((3,), "float32"), R.Tensor((3,), "float32")
    ):
        cls = Module
        y = R.call_tir(cls.add_one, (x,), out_ty=R.Tensor((3,), "float32"))
        copy = R.add(y, R.const(0, "float32"))
        z = R.call_tir_inplace(
            cls.double, (y,), inplace_indices=[0], out_ty=R.Tensor((3,), "float32")
        )
        return (y, z, copy)

    @R.function
    def views(x: R.Tensor((3,), "float32")) -> R.Tuple(
        R.Tensor((3,), "float32"), R.Tensor((3,), "float32")
    ):
        cls = Module
        transposed = R.permute_dims(x)
        y = R.call_tir_inplace(
            cls.double, (x,), inplace_indices=[0], out_ty=R.Tensor((3,), "float32")
        )
        return (y, transposed)

    @R.function
    def again(x: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        cls = Module
        y = R.call_tir_inplace(
            cls.double, (x,), inplace_indices=[0], out_ty=R.Tensor((3,), "float32")
        )
        z = R.call_tir_inplace(
            cls.double, (y,), inplace_indices=[0], out_ty=R.Tensor((3,), "float32")
        )
        return z

    @R.function
    def twice(x: R.Tensor((3,), "float32")) -> R.Tuple(
        R.Tensor((3,), "float32"), R.Tensor((3,), "float32")
    ):
        cls = Module
        y = R.call_tir_inplace(
            cls.double_both,
            (x, x),
            inplace_indices=[0, 1],
            out_ty=[R.Tensor((3,), "float32"), R.Tensor((3,), "float32")],
        )
        return y

    @R.function
    def updates_a_constant() -> R.Tensor((3,), "float32"):
        cls = Module
        x = R.const([1, 2, 3], "float32")
        y = R.call_tir_inplace(
            cls.double, (x,), inplace_indices=[0], out_ty=R.Tensor((3,), "float32")
        )
        return y

    @R.function
    def updates_its_view() -> R.Tensor((3,), "float32"):
        cls = Module
        x = R.const([[1, 2, 3]], "float32")
        flat = R.reshape(x, (3,))
        y = R.call_tir_inplace(
            cls.double, (flat,), inplace_indices=[0], out_ty=R.Tensor((3,), "float32")
        )
        return y

    @R.function
    def updates_its_copy() -> R.Tensor((3,), "float32"):
        cls = Module
        x = R.astype(R.const([1, 2, 3], "float32"), "float32")
        y = R.call_tir_inplace(
            cls.double, (x,), inplace_indices=[0], out_ty=R.Tensor((3,), "float32")
        )
        return y

    @R.function
    def constant(x: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        cls = Module
        y = R.call_tir(cls.add_one, (x,), out_ty=R.Tensor((3,), "float32"))
        R.func_attr({"Composite": "a.pattern"})
        return y

    @R.function
    def composite(x: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        cls = Module

        @R.function
        def inner(v: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
            R.func_attr({"Composite": "a.pattern"})
            w = R.multiply(v, x)
            return w

        y = cls.constant(x)
        z = inner(y)
        return z

    @R.function(private=True)
    def lifted(v: R.Tensor((3,), "float32"), x: R.Tensor((3,), "float32")) -> R.Tensor(
        (3,), "float32"
    ):
        w = R.subtract(v, x)
        return w

    @R.function
    def closure(x: R.Tensor((3,), "float32"), y: R.Tensor((3,), "float32")) -> R.Tensor(
        (3,), "float32"
    ):
        cls = Module
        f = R.make_closure(cls.lifted, (x,))
        z = R.invoke_pure_closure(f, (y,), ty_args=R.Tensor((3,), "float32"))
        return z

    @R.function(pure=False)
    def prints(x: R.Tensor((3,), "float32")) -> R.Tuple():
        y = R.print(x, format="{}")
        return y

    @R.function
    def dps(x: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        y = R.call_dps_packed("some.library", (x,), out_ty=R.Tensor((3,), "float32"))
        return y

    @R.function
    def pure(x: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        y = R.call_pure_packed("some.other", x, ty_args=R.Tensor((3,), "float32"))
        return y

    @R.function(pure=False)
    def asserts(c: R.Tensor((), "bool")) -> R.Tensor((), "bool"):
        _ = R.assert_op(c, format="no")
        return c


def run(name: str, *args: Any, **options: Any) -> Any:
    return Evaluator(Module, **options).run(name, args)


def test_several_outputs_of_symbolic_shape() -> None:
    reverse, head = run("several", X)
    np.testing.assert_array_equal(reverse, [3, 2, 1])
    np.testing.assert_array_equal(head, [1, 2])


def test_numbers_are_handed_over() -> None:
    np.testing.assert_array_equal(run("variables", X), [4, 4, 4, 4])


def test_an_update_in_place_is_seen_by_later_readers() -> None:
    updated, result, copy = run("live", X)
    np.testing.assert_array_equal(result, [4, 6, 8])
    np.testing.assert_array_equal(updated, [4, 6, 8])
    np.testing.assert_array_equal(copy, [2, 3, 4])


@pytest.mark.parametrize(
    ("name", "misused"), [("live", True), ("twice", True), ("views", False), ("again", False)]
)
def test_what_is_updated_in_place_must_neither_be_aliased_nor_live(
    name: str, misused: bool
) -> None:
    evaluator = Evaluator(Module)
    evaluator.run(name, [X])
    assert evaluator.misused == misused


def test_results_of_operators_have_their_own_memory() -> None:
    updated, transposed = run("views", X)
    np.testing.assert_array_equal(updated, [2, 4, 6])
    np.testing.assert_array_equal(transposed, [1, 2, 3])


@pytest.mark.parametrize("name", ["updates_a_constant", "updates_its_view"])
def test_an_update_of_a_constant_has_no_meaning(name: str) -> None:
    with pytest.raises(Undefined, match="a constant is updated in place"):
        run(name)


def test_a_copy_of_a_constant_may_be_updated() -> None:
    np.testing.assert_array_equal(run("updates_its_copy"), [2, 4, 6])


def test_arguments_are_not_changed() -> None:
    x = X.copy()
    run("views", x)
    np.testing.assert_array_equal(x, X)


def test_functions_with_attributes_are_functions() -> None:
    np.testing.assert_array_equal(run("composite", X), [2, 6, 12])


def test_captured_values_come_last() -> None:
    np.testing.assert_array_equal(run("closure", X, 10 * X), [9, 18, 27])


def test_what_gives_nothing_gives_an_empty_tuple() -> None:
    assert run("prints", X) == ()


@pytest.mark.parametrize(("name", "packed"), [("dps", "some.library"), ("pure", "some.other")])
def test_an_unknown_packed_function_is_named(name: str, packed: str) -> None:
    with pytest.raises(Unsupported, match=packed):
        run(name, X)


def test_an_assertion() -> None:
    assert run("asserts", np.array(True))
    with pytest.raises(Mismatch, match="no"):
        run("asserts", np.array(False))


def test_what_a_prim_func_writes_is_perturbed() -> None:
    result = run("several", X, perturb=lambda value: value + 1)
    np.testing.assert_array_equal(result[1], [2, 3])


def test_prim_funcs_may_be_run_by_another() -> None:
    def prim(func: tirx.PrimFunc, args: list[Any], *more: Any) -> None:
        args[1][...] = 5
        args[2][...] = 6

    reverse, head = run("several", X, prim=prim)
    np.testing.assert_array_equal([*reverse, *head], [5, 5, 5, 6, 6])


def test_the_watcher_keeps_reported_values() -> None:
    seen: list[tuple[str, list[float]]] = []

    def watch(var: relax.Var, value: Any) -> None:
        if isinstance(value, np.ndarray):
            seen.append((str(var.name), value))

    run("live", X, watch=watch)
    values = {name: np.asarray(value).tolist() for name, value in reversed(seen)}
    assert values["y"] == [2, 3, 4]
    assert ("y", [4, 6, 8]) in [(name, np.asarray(v).tolist()) for name, v in seen]


def returning(expr: Any) -> tvm.IRModule:
    mod = relax.BlockBuilder().get()
    mod[GlobalVar("main")] = relax.Function([], relax.SeqExpr([], expr), expr.ty)
    return mod


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float16", "bfloat16", "float64"])
def test_constants(dtype: str) -> None:
    kind = np.dtype(getattr(ml_dtypes, dtype, None) or dtype)
    data = np.array([0, 1, 1], kind)
    constant = relax.const(tvm.runtime.tensor(data))
    result = Evaluator(returning(constant)).run("main", [])
    assert result.dtype == kind
    np.testing.assert_array_equal(result, data)


def test_a_constant_that_is_no_tensor() -> None:
    call = relax.op.builtin.alloc_tensor(relax.ShapeExpr([2]), "float16", 0)
    assert isinstance(call.args[1], ir.CONSTANTS)
    result = Evaluator(returning(relax.BlockBuilder().normalize(call))).run("main", [])
    assert (result.shape, result.dtype) == ((2,), np.float16)
