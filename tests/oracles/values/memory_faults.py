"""Passes that get memory, constants or gradients wrong, their correct twins, and a module each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from relaxfuzz.compat import ir
from relaxfuzz.generators.stages import STEPS, Stage, step
from relaxfuzz.oracles.inspect import op_name

Pass = tvm.transform.Pass


@I.ir_module
class Live:
    """`a` is used twice."""

    @T.prim_func(private=True, s_tir=True)
    def next(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.sblock("next"):
                v = T.axis.spatial(4, i)
                B[v] = A[v] + T.float32(1)

    @T.prim_func(private=True, s_tir=True)
    def next_in_place(A: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.sblock("next"):
                v = T.axis.spatial(4, i)
                A[v] = A[v] + T.float32(1)

    @T.prim_func(private=True, s_tir=True)
    def sum(
        A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32"), C: T.Buffer((4,), "float32")
    ):
        for i in range(4):
            with T.sblock("sum"):
                v = T.axis.spatial(4, i)
                C[v] = A[v] * T.float32(3) + B[v]

    @T.prim_func(private=True, s_tir=True)
    def sum_in_place(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.sblock("sum"):
                v = T.axis.spatial(4, i)
                B[v] = A[v] * T.float32(3) + B[v]

    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        cls = Live
        with R.dataflow():
            a = R.call_tir(cls.next, (x,), out_ty=R.Tensor((4,), "float32"))
            b = R.call_tir(cls.next, (a,), out_ty=R.Tensor((4,), "float32"))
            gv = R.call_tir(cls.sum, (a, b), out_ty=R.Tensor((4,), "float32"))
            R.output(gv)
        return gv


def live() -> tvm.IRModule:
    return Live


def planned() -> tvm.IRModule:
    """The same, function by function, where memory is allocated."""
    mod = Live
    for stage in (Stage.IMPERATIVE, Stage.REWRITTEN, Stage.PLANNED, Stage.ALLOCATED):
        for name in STEPS[stage]:
            mod = step(mod, name)
    return mod


def nan() -> tvm.IRModule:
    """A sum of constants, one of them not a number."""
    odd = relax.const(np.array([np.nan, 1], "float32"), "float32")

    @I.ir_module
    class Nan:
        @R.function
        def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            with R.dataflow():
                c = R.add(odd, R.const([1, 1], "float32"))
                gv = R.add(x, c)
                R.output(gv)
            return gv

    return Nan


@I.ir_module
class Counter:
    """A new tensor is updated."""

    @T.prim_func(private=True, s_tir=True)
    def next_in_place(A: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.sblock("next"):
                v = T.axis.spatial(4, i)
                A[v] = A[v] + T.float32(1)

    @R.function
    def main() -> R.Tensor((4,), "float32"):
        cls = Counter
        with R.dataflow():
            a = R.zeros((4,), "float32")
            b = R.add(a, R.const(2, "float32"))
            gv = R.call_tir_inplace(
                cls.next_in_place, (b,), out_ty=R.Tensor((4,), "float32"), inplace_indices=[0]
            )
            R.output(gv)
        return gv


def counter() -> tvm.IRModule:
    return Counter


def loss() -> tvm.IRModule:
    """A function that can be differentiated."""

    @I.ir_module
    class Loss:
        @R.function
        def main(x: R.Tensor((3,), "float32"), y: R.Tensor((3,), "float32")) -> R.Tensor(
            (), "float32"
        ):
            with R.dataflow():
                a = R.multiply(x, y)
                b = R.sin(a)
                gv = R.sum(b)
                R.output(gv)
            return gv

    return Loss


# Passes

Change = Callable[[str, Any], Any]


def _rewriting(change: Change) -> Pass:
    """Replaces the value of each variable by the result of `change`; None keeps it."""

    def function(func: relax.Function) -> relax.Function:
        blocks = [
            type(block)(
                [
                    relax.VarBinding(b.var, b.value if new is None else new)
                    for b in block.bindings
                    for new in [change(b.var.name, b.value)]
                ]
            )
            for block in func.body.blocks
        ]
        body = relax.BlockBuilder().normalize(relax.SeqExpr(blocks, func.body.body))
        return relax.Function(func.params, body, func.ret_ty, func.is_pure, func.attrs)

    def transform(mod: tvm.IRModule, context: Any) -> tvm.IRModule:
        return tvm.IRModule(
            {
                gvar: function(func) if isinstance(func, relax.Function) else func
                for gvar, func in mod.functions_items()
            },
            attrs=mod.attrs,
        )

    return tvm.transform.module_pass(transform, opt_level=0, name="Rewriting")


def _in_place(name: str, callee: str, place: int) -> Pass:
    def transform(mod: tvm.IRModule, context: Any) -> tvm.IRModule:
        def change(var: str, value: Any) -> Any:
            if var != name:
                return None
            gvar = mod.get_global_var(callee)
            return relax.op.call_tir_inplace(gvar, value.args[1], [place], value.ty_args[0])

        return _rewriting(change)(mod)

    return tvm.transform.module_pass(transform, opt_level=0, name="InPlace")


def updates_a_live_value() -> Pass:
    return _in_place("b", "next_in_place", 0)


def updates_a_dead_value() -> Pass:
    return _in_place("gv", "sum_in_place", 1)


@T.prim_func(private=True, s_tir=True)
def past_the_end(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    for i in range(4):
        with T.sblock("next"):
            v = T.axis.spatial(4, i)
            B[v] = T.Select(A[v + 1] > T.float32(0), A[v], A[v]) + T.float32(1)


@T.prim_func(private=True, s_tir=True)
def up_to_the_end(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    for i in range(4):
        with T.sblock("next"):
            v = T.axis.spatial(4, i)
            B[v] = T.if_then_else(v < 3, T.Select(A[v + 1] > A[v], A[v], A[v]), A[v]) + T.float32(1)


def _replacing(func: Any) -> Pass:
    """Puts another PrimFunc in the place of `next`."""

    def transform(mod: tvm.IRModule, context: Any) -> tvm.IRModule:
        after = mod.clone()
        after[mod.get_global_var("next")] = func
        return after

    return tvm.transform.module_pass(transform, opt_level=0, name="Replacing")


def reads_past_the_end() -> Pass:
    return _replacing(past_the_end)


def reads_up_to_the_end() -> Pass:
    return _replacing(up_to_the_end)


def shares_storage() -> Pass:
    """The first tensor's storage for the second one, although both are live."""
    first: list[relax.Expr] = []

    def change(var: str, value: Any) -> Any:
        if op_name(value) != "relax.memory.alloc_tensor":
            return None
        first.append(value.args[0])
        return relax.Call(value.op, [first[0], *value.args[1:]], value.attrs, value.ty_args)

    return _rewriting(change)


def kills_after_last_use() -> Pass:
    return relax.transform.KillAfterLastUse()


def _folding(fold: Callable[[Any], Any]) -> Pass:
    def change(var: str, value: Any) -> Any:
        args = getattr(value, "args", [])
        if not args or not all(isinstance(arg, ir.GenericConst) for arg in args):
            return None
        folded = fold(ir.constant_data(args[0]).numpy() + ir.constant_data(args[1]).numpy())
        return relax.const(folded.astype("float32"), "float32")

    return _rewriting(change)


def folds_without_nan() -> Pass:
    return _folding(np.nan_to_num)


def folds() -> Pass:
    return _folding(lambda value: value)


def folds_what_is_updated() -> Pass:
    return _constant_for("b", 2)


def folds_what_is_read() -> Pass:
    return _constant_for("a", 0)


def _constant_for(name: str, number: float) -> Pass:
    constant = relax.const(np.full(4, number, "float32"))
    return _rewriting(lambda var, value: constant if var == name else None)


def _differentiating(factor: float) -> Pass:
    """Differentiates `main`, and makes the gradient of `y` so many times too large."""

    def change(var: str, value: Any) -> Any:
        if var != "y_adjoint_out" or factor == 1:
            return None
        return relax.op.multiply(value, relax.const(factor, "float32"))

    def transform(mod: tvm.IRModule, context: Any) -> tvm.IRModule:
        return _rewriting(change)(relax.transform.Gradient("main")(mod))

    return tvm.transform.module_pass(transform, opt_level=0, name="Differentiating")


def differentiates() -> Pass:
    return _differentiating(1)


def doubles_a_gradient() -> Pass:
    return _differentiating(2)


def loses_all_but_the_adjoint() -> Pass:
    def transform(mod: tvm.IRModule, context: Any) -> tvm.IRModule:
        return tvm.IRModule({"main_adjoint": relax.transform.Gradient("main")(mod)["main_adjoint"]})

    return tvm.transform.module_pass(transform, opt_level=0, name="Loses")


FAULTS: dict[str, tuple[Callable[[], tvm.IRModule], Any, Any, str]] = {
    "in place": (
        *(live, updates_a_live_value, updates_a_dead_value),
        "a tensor that is updated in place",
    ),
    "storage": (planned, shares_storage, kills_after_last_use, "a function"),
    "nan": (nan, folds_without_nan, folds, "relax.add"),
}
"""Module, faulty pass, correct twin, and what is the first to come out otherwise."""
