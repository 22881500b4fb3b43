"""Passes that lose, repeat, reorder or change effects, and some that keep them."""

# ruff: noqa: F841, RET504  (TVMScript binds what is only printed)

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R

Bindings = list[relax.Binding]


def module() -> tvm.IRModule:
    """Prints, an assertion and an impure packed call, with what is computed between them."""

    @I.ir_module
    class Module:
        @R.function(pure=False)
        def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            a = R.add(x, x)
            first = R.print(x, format="x is {}")
            second = R.print(a, format="a is {}")
            checked = R.assert_op(R.const(True, "bool"), a, format="a is {}")
            copied = R.call_packed("vm.builtin.copy", a, ty_args=R.Tensor((2,), "float32"))
            other = R.call_packed("vm.builtin.copy", x, ty_args=R.Tensor((2,), "float32"))
            b = R.call_pure_packed("vm.builtin.copy", a, ty_args=R.Tensor((2,), "float32"))
            c = R.multiply(a, b)
            return c

    return Module


def _changing(name: str, change: Callable[[Bindings], Sequence[relax.Binding]]) -> Any:
    def transform(mod: tvm.IRModule, context: Any) -> tvm.IRModule:
        func = mod["main"]
        (block,) = func.body.blocks
        body = relax.SeqExpr([relax.BindingBlock(change([*block.bindings]))], func.body.body)
        body = relax.BlockBuilder().normalize(body)
        changed = relax.Function(func.params, body, func.ret_ty, func.is_pure, func.attrs)
        return tvm.IRModule({mod.get_global_var("main"): changed})

    return tvm.transform.module_pass(transform, opt_level=0, name=name)


def _place(bindings: Bindings, name: str) -> int:
    return next(i for i, binding in enumerate(bindings) if str(binding.var.name) == name)


def _loses(name: str, lost: str) -> Any:
    def change(bindings: Bindings) -> Bindings:
        del bindings[_place(bindings, lost)]
        return bindings

    return _changing(name, change)


def loses_a_print() -> Any:
    return _loses("LosesAPrint", "second")


def loses_an_assertion() -> Any:
    return _loses("LosesAnAssertion", "checked")


def loses_a_packed_call() -> Any:
    return _loses("LosesAPackedCall", "copied")


def loses_a_pure_value() -> Any:
    """Not a fault: nothing else may happen in it."""

    def change(bindings: Bindings) -> Bindings:
        place, last = _place(bindings, "b"), bindings[-1]
        old, new = bindings[place].var, bindings[_place(bindings, "a")].var
        bindings[-1] = relax.VarBinding(last.var, relax.op.multiply(new, new))
        assert old.same_as(last.value.args[1])
        del bindings[place]
        return bindings

    return _changing("LosesAPureValue", change)


def takes_for_pure() -> Any:
    """The packed call is still made, and the module says that it does nothing else."""

    def change(bindings: Bindings) -> Bindings:
        place = _place(bindings, "copied")
        call = bindings[place].value
        pure = relax.op.call_pure_packed(call.op, *call.args, ty_args=list(call.ty_args))
        bindings[place] = relax.VarBinding(bindings[place].var, pure)
        return bindings

    return _changing("TakesForPure", change)


def prints_twice() -> Any:
    def change(bindings: Bindings) -> Bindings:
        place = _place(bindings, "first")
        again = relax.Var("again", bindings[place].var.ty)
        bindings.insert(place + 1, relax.VarBinding(again, bindings[place].value))
        return bindings

    return _changing("PrintsTwice", change)


def swaps_prints() -> Any:
    def change(bindings: Bindings) -> Bindings:
        one, other = _place(bindings, "first"), _place(bindings, "second")
        bindings[one], bindings[other] = bindings[other], bindings[one]
        return bindings

    return _changing("SwapsPrints", change)


def prints_something_else() -> Any:
    def change(bindings: Bindings) -> Bindings:
        place = _place(bindings, "second")
        printed = bindings[place].value
        x = bindings[_place(bindings, "first")].value.args[1]
        call = relax.Call(printed.op, [printed.args[0], x], printed.attrs)
        bindings[place] = relax.VarBinding(bindings[place].var, call)
        return bindings

    return _changing("PrintsSomethingElse", change)


def computes_something_else() -> Any:
    """The first variable is a negation, whatever it was."""

    def change(bindings: Bindings) -> Bindings:
        first = bindings[0]
        value = relax.op.negative(first.value.args[0])
        return [relax.VarBinding(first.var, value), *bindings[1:]]

    return _changing("ComputesSomethingElse", change)


def prints_later() -> Any:
    """Not a fault: the order of effects is the same."""

    def change(bindings: Bindings) -> Bindings:
        first = bindings.pop(_place(bindings, "first"))
        bindings.insert(_place(bindings, "second"), first)
        return bindings

    return _changing("PrintsLater", change)


def outlines_as_pure() -> Any:
    """The prints move to a function that says it is pure; its GlobalVar says so, too."""

    def transform(mod: tvm.IRModule, context: Any) -> tvm.IRModule:
        func = mod["main"]
        result = func.body.body
        helper = tvm.ir.GlobalVar("helper")
        pure = relax.FuncType([param.ty for param in func.params], func.ret_ty, True)
        relax.expr._update_type(helper, pure)
        private = func.without_attr("global_symbol")
        params = [relax.Var(str(param.name), param.ty) for param in func.params]
        call = relax.VarBinding(relax.Var("r", result.ty), relax.Call(helper, params))
        body = relax.SeqExpr([relax.BindingBlock([call])], call.var)
        body = relax.BlockBuilder().normalize(body)
        outer = relax.Function(params, body, func.ret_ty, True, func.attrs)
        return tvm.IRModule({mod.get_global_var("main"): outer, helper: private})

    return tvm.transform.module_pass(transform, opt_level=0, name="OutlinesAsPure")


def legalizes() -> Any:
    return relax.transform.LegalizeOps()


def removes_purity_checking() -> Any:
    return relax.transform.RemovePurityChecking()


def removes_dead_code() -> Any:
    return relax.transform.DeadCodeElimination()


PRINT, ASSERT = "relax.run.print", "relax.run.assert_op"

FAULTS = {
    loses_a_print: f"an effect is lost: {PRINT}",
    loses_an_assertion: f"an effect is lost: {ASSERT}",
    loses_a_packed_call: "an effect is lost: a packed function",
    takes_for_pure: "a call that has an effect is taken for pure: a packed function",
    prints_twice: f"an effect is added: {PRINT}",
    swaps_prints: "effects are in another order",
    prints_something_else: f"an effect has other arguments: {PRINT}",
    outlines_as_pure: f"a function that claims to be pure has an effect: {PRINT}",
}
"""With the key of the violation."""

CORRECT = (
    loses_a_pure_value,
    prints_later,
    legalizes,
    removes_purity_checking,
    removes_dead_code,
)
