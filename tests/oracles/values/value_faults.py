"""Passes after which a module computes something else, and the module that shows it."""

# ruff: noqa: SIM108  (TVMScript reads statements, it does not execute them)

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R

Pass = tvm.transform.Pass
Change = Callable[[relax.Call], relax.Expr]


def module() -> tvm.IRModule:
    """A bit of everything: two operands, axes, attributes, a branch, integers, a tuple."""

    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor((3, 3), "float32"), y: R.Tensor((3, 3), "float32")) -> R.Tuple(
            R.Tensor((3, 3), "float32"), R.Tensor((3, 3), "float32")
        ):
            R.func_attr({"num_input": 1})
            with R.dataflow():
                a = R.subtract(x, y)
                b = R.cumsum(x, axis=0, exclusive=True)
                c = R.add(a, b)
                R.output(a, c)
            return (a, c)

        @R.function
        def branch(c: R.Tensor((), "bool"), x: R.Tensor((3,), "float32")) -> R.Tensor(
            (3,), "float32"
        ):
            if c:
                z = R.add(x, R.const(1.0, "float32"))
            else:
                z = R.subtract(x, R.const(1.0, "float32"))
            return z

        @R.function
        def whole(n: R.Tensor(("k",), "int64")) -> R.Tensor(("k",), "int64"):
            with R.dataflow():
                big = R.add(n, R.const(16777217, "int64"))
                half = R.floor_divide(n, R.const(2, "int64"))
                gv = R.add(big, half)
                R.output(gv)
            return gv

    return Module


def _changing(name: str, change: Callable[[Any], relax.Expr], *ops: str) -> Pass:
    """Replaces each call of the operators by the result of `change`."""

    @relax.expr_functor.mutator
    class Mutator(relax.PyExprMutator):
        def visit_call_(self, call: relax.Call) -> relax.Expr:
            call = super().visit_call_(call)
            if isinstance(call.op, tvm.ir.Op) and call.op.name in ops:
                return change(call)
            return call

    def transform(mod: tvm.IRModule, context: Any) -> tvm.IRModule:
        mutator = Mutator(mod)
        for gvar, func in mod.functions_items():
            mutator.builder_.update_func(gvar, mutator.visit_expr(func))
        return mutator.builder_.get().with_attrs(dict(mod.attrs) if mod.attrs else {})

    return tvm.transform.module_pass(transform, opt_level=0, name=name)


# Passes that keep the values


def commutes() -> Pass:
    return _changing("Commutes", lambda c: relax.op.add(c.args[1], c.args[0]), "relax.add")


def negates_twice() -> Pass:
    return _changing(
        "NegatesTwice", lambda c: relax.op.negative(relax.op.negative(c)), "relax.subtract"
    )


def legalizes() -> Pass:
    return relax.transform.LegalizeOps()


def makes_blocks_ordinary() -> Pass:
    return relax.transform.ToNonDataflow()


CORRECT = (commutes, negates_twice, legalizes, makes_blocks_ordinary)


# Passes that do not


def swaps_operands() -> Pass:
    return _changing(
        "SwapsOperands", lambda c: relax.op.subtract(c.args[1], c.args[0]), "relax.subtract"
    )


def takes_the_next_axis() -> Pass:
    return _changing(
        "NextAxis", lambda c: relax.op.cumsum(c.args[0], 1, exclusive=True), "relax.cumsum"
    )


def drops_an_attribute() -> Pass:
    return _changing("DropsExclusive", lambda c: relax.op.cumsum(c.args[0], 0), "relax.cumsum")


def truncates() -> Pass:
    return _changing("Truncates", lambda c: relax.op.divide(*c.args), "relax.floor_divide")


def goes_through_float32() -> Pass:
    def change(call: relax.Call) -> relax.Expr:
        if str(call.ty.dtype) != "int64":
            return call
        return relax.op.astype(relax.op.astype(call, "float32"), "int64")

    return _changing("ThroughFloat32", change, "relax.add")


def _with(name: str, changed: str, change: Callable[[relax.Function], relax.Function]) -> Pass:
    def transform(mod: tvm.IRModule, context: Any) -> tvm.IRModule:
        functions = {
            gvar: change(func) if gvar.name_hint == changed else func
            for gvar, func in mod.functions_items()
        }
        return tvm.IRModule(functions, attrs=mod.attrs)

    return tvm.transform.module_pass(transform, opt_level=0, name=name)


def _function(func: relax.Function, body: relax.Expr) -> relax.Function:
    body = relax.BlockBuilder().normalize(body)
    return relax.Function(func.params, body, func.ret_ty, func.is_pure, func.attrs)


def reorders_a_tuple() -> Pass:
    def change(func: relax.Function) -> relax.Function:
        first, second = func.body.body.fields
        return _function(func, relax.SeqExpr(func.body.blocks, relax.Tuple([second, first])))

    return _with("ReordersATuple", "main", change)


def takes_the_wrong_branch() -> Pass:
    def change(func: relax.Function) -> relax.Function:
        (block,) = func.body.blocks
        bindings = []
        for binding in block.bindings:
            value = binding.value
            if isinstance(value, relax.If):
                value = relax.If(value.cond, value.false_branch, value.true_branch)
            bindings.append(relax.VarBinding(binding.var, value))
        return _function(func, relax.SeqExpr([relax.BindingBlock(bindings)], func.body.body))

    return _with("WrongBranch", "branch", change)


def casts_to_a_wrong_shape() -> Pass:
    """The VM notices at run time."""

    def change(func: relax.Function) -> relax.Function:
        (n,) = func.params
        ty = relax.TensorType((7,), "int64")
        var = relax.Var("cast", ty)
        block = relax.BindingBlock([relax.MatchCast(var, n, ty)])
        return _function(func, relax.SeqExpr([block, *func.body.blocks], func.body.body))

    return _with("WrongCast", "whole", change)


def brings_what_nothing_lowers() -> Pass:
    """An operator without a legalization."""

    def change(call: relax.Call) -> relax.Expr:
        return relax.op.ewise_fma(call.args[0], call.args[0], call.args[0])

    return _changing("BringsWhatNothingLowers", change, "relax.cumsum")


FAULTS = {
    swaps_operands: "relax.subtract",
    takes_the_next_axis: "relax.cumsum",
    drops_an_attribute: "relax.cumsum",
    truncates: "relax.floor_divide",
    goes_through_float32: "relax.add",
    reorders_a_tuple: "relax.subtract",
    takes_the_wrong_branch: "If",
    casts_to_a_wrong_shape: None,
}
"""The passes that must be caught, and the operator whose result is the first to differ."""


def masks_with_less() -> Pass:
    """A mask is a number that softmax does not make to 0."""
    less = relax.const(-1.0, "float32")
    return _changing(
        "MasksWithLess",
        lambda call: relax.op.where(call.args[0], less, call.args[2]),
        "relax.where",
    )
