"""Passes after which a module builds no longer, and some after which it does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R

Emit = Callable[[relax.Expr], relax.Var]


def module() -> tvm.IRModule:
    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor(ndim=2, dtype="float32"):
            with R.dataflow():
                a = R.add(x, x)
                b = R.permute_dims(a)
                R.output(b)
            return b

    return Module


def _replacing(name: str, op: str, change: Callable[[relax.Call, Emit], relax.Expr]) -> Any:
    @relax.expr_functor.mutator
    class Mutator(relax.PyExprMutator):
        def visit_call_(self, call: relax.Call) -> relax.Expr:
            call = super().visit_call_(call)
            return change(call, self.builder_.emit) if call.op.name == op else call

    def transform(mod: tvm.IRModule, context: Any) -> tvm.IRModule:
        mutator = Mutator(mod)
        for gvar, func in mod.functions_items():
            mutator.builder_.update_func(gvar, mutator.visit_expr(func))
        return mutator.builder_.get()

    return tvm.transform.module_pass(transform, opt_level=0, name=name)


def forgets_a_shape() -> Any:
    """The copy has the rank of its operand, and no shape: what comes after it is not lowered."""

    def change(call: relax.Call, emit: Emit) -> relax.Expr:
        ty = relax.TensorType(dtype="float32", ndim=2)
        return relax.op.permute_dims(
            emit(relax.op.call_pure_packed("vm.builtin.copy", call.args[0], ty_args=[ty]))
        )

    return _replacing("ForgetsAShape", "relax.permute_dims", change)


def fuses_by_hand() -> Any:
    """An operator that nothing lowers."""

    def change(call: relax.Call, emit: Emit) -> relax.Expr:
        return relax.op.ewise_fma(call.args[0], call.args[0], call.args[0])

    return _replacing("FusesByHand", "relax.add", change)


def adds_a_copy() -> Any:
    def change(call: relax.Call, emit: Emit) -> relax.Expr:
        return relax.op.permute_dims(
            emit(
                relax.op.call_pure_packed(
                    "vm.builtin.copy", call.args[0], ty_args=[call.args[0].ty]
                )
            )
        )

    return _replacing("AddsACopy", "relax.permute_dims", change)


def legalizes() -> Any:
    return relax.transform.LegalizeOps()


FAULTS = (forgets_a_shape, fuses_by_hand)

CORRECT = (adds_a_copy, legalizes)
