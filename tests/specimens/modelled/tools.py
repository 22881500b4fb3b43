"""Building blocks for the passes of the zoo."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

import tvm
import tvm_ffi
from tvm import relax, tirx

from relaxfuzz.compat import ir
from relaxfuzz.generators.rewrite.nodes import all_same, with_functions, with_parts, with_type
from relaxfuzz.oracles.inspect import is_public, nodes, op_name, ops_used, static

Transform = Callable[[tvm.IRModule], tvm.IRModule]
Change = Callable[[relax.Call], relax.Expr | None]


def made(name: str, transform: Transform, opt_level: int = 0) -> tvm.transform.Pass:
    """A module pass that does this."""
    return tvm.transform.module_pass(
        lambda mod, context: transform(mod), opt_level=opt_level, name=name
    )


def on_functions(
    mod: tvm.IRModule, change: Callable[[relax.Function], relax.Function]
) -> tvm.IRModule:
    """A new module in which each Relax function is changed; signatures stay, so GlobalVars do."""
    return with_functions(
        mod,
        {g: change(f) if isinstance(f, relax.Function) else f for g, f in mod.functions_items()},
    )


def on_prim_funcs(
    mod: tvm.IRModule, change: Callable[[tirx.PrimFunc], tirx.PrimFunc]
) -> tvm.IRModule:
    """A new module in which each PrimFunc is changed."""
    return with_functions(
        mod,
        {g: change(f) if isinstance(f, tirx.PrimFunc) else f for g, f in mod.functions_items()},
    )


def on_calls(mod: tvm.IRModule, change: Change, *ops: str) -> tvm.IRModule:
    """A new module with the result of `change` in place of each call of these operators.

    It is given the call after its own arguments were changed; None leaves it as it is. Without
    `ops`, it is asked of every call of an operator. Functions in which nothing changes stay the
    same objects.
    """

    @relax.expr_functor.mutator
    class Mutator(relax.PyExprMutator):  # type: ignore[misc]  # TVM has no types
        changed = False

        def visit_call_(self, call: relax.Call) -> relax.Expr:
            call = super().visit_call_(call)
            if isinstance(call.op, tvm.ir.Op) and (not ops or call.op.name in ops):
                new = change(call)
                if new is not None:
                    self.changed = True
                    return new
            return call

    functions: dict[Any, Any] = dict(mod.functions_items())
    for gvar, func in functions.items():
        if isinstance(func, relax.Function):
            mutator = Mutator(mod)
            new = mutator.visit_expr(func)
            if mutator.changed:
                functions[gvar] = new
    return with_functions(mod, functions)


Rewrite = Callable[[relax.BindingBlock, list[relax.Binding]], list[relax.Binding]]


def on_blocks(func: relax.Function, rewrite: Rewrite) -> relax.Function:
    """The function with the result of `rewrite` as the bindings of each block, inner blocks first.

    It is given the block and its bindings, in which branches and local functions are done. Types
    of what is around the blocks stay. Where nothing changes the same objects come back.
    """

    def expression(expr: relax.Expr) -> relax.Expr:
        if isinstance(expr, relax.SeqExpr):
            blocks = [block(b) for b in expr.blocks]
            if all_same(blocks, expr.blocks):
                return expr
            return with_type(relax.SeqExpr(blocks, expr.body), expr.ty)
        if isinstance(expr, relax.If):
            parts = expression(expr.true_branch), expression(expr.false_branch)
            if all_same(parts, (expr.true_branch, expr.false_branch)):
                return expr
            return with_type(relax.If(expr.cond, *parts), expr.ty)
        if isinstance(expr, relax.Function):
            body = expression(expr.body)
            return expr if body.same_as(expr.body) else with_parts(expr, body=body)
        return expr

    def binding(old: relax.Binding) -> relax.Binding:
        if not isinstance(old, relax.VarBinding):
            return old
        value = expression(old.value)
        return old if value.same_as(old.value) else relax.VarBinding(old.var, value)

    def block(old: relax.BindingBlock) -> relax.BindingBlock:
        bindings = rewrite(old, [binding(b) for b in old.bindings])
        return old if all_same(bindings, old.bindings) else type(old)(bindings)

    changed = expression(func)
    assert isinstance(changed, relax.Function)
    return changed


def writes_in_place(mod: tvm.IRModule) -> bool:
    """Somewhere an operand is written into: then it matters who shares memory with whom."""
    return bool(ops_used(mod) & {"relax.call_tir_inplace", "relax.call_inplace_packed"})


def function_of(call: relax.Call, operands: Iterable[relax.Var]) -> relax.Function:
    """A private function of these operands that does this call of an operator.

    Its types mention no symbolic variable: those of the call are static.
    """
    params = {var: relax.Var(f"p{i}", var.ty) for i, var in enumerate(operands)}
    args = [params.get(arg, arg) for arg in call.args]
    result = relax.Var("result", call.ty)
    value = with_type(relax.Call(call.op, args, call.attrs, call.ty_args), call.ty)
    block = relax.BindingBlock([relax.VarBinding(result, value)])
    body = with_type(relax.SeqExpr([block], result), call.ty)
    return relax.Function(list(params.values()), body, call.ty)


def simple_body(mod: tvm.IRModule, callee: object) -> relax.Call | None:
    """The call of an operator of which a private function of this module consists, if it does.

    All types are static; its operands are parameters and constants.
    """
    func = mod[callee] if isinstance(callee, tvm.ir.GlobalVar) and callee in mod else None
    if not isinstance(func, relax.Function) or func.attrs or not func.is_pure:
        return None
    bindings = [binding for block in func.body.blocks for binding in block.bindings]
    if len(bindings) != 1 or not bindings[0].var.same_as(func.body.body):
        return None
    call = bindings[0].value
    params = set(func.params)
    fits = (
        op_name(call) is not None
        and all(arg in params or isinstance(arg, ir.GenericConst) for arg in call.args)
        and all(map(static_tensor, [*call.args, call]))
        and bool(tvm_ffi.structural_equal(call.ty, func.ret_ty))
    )
    return call if fits else None


def static_tensor(expr: relax.Expr) -> bool:
    """It is a tensor of known shape and dtype."""
    return isinstance(expr.ty, relax.TensorType) and static(expr.ty)


Emit = Callable[[relax.Expr], relax.Var]
"""Binds an expression to a fresh variable before the binding at hand; gives the variable."""

Value = Callable[[relax.Var, relax.Expr, Emit], relax.Expr | None]


def on_values(mod: tvm.IRModule, change: Value) -> tvm.IRModule:
    """A new module with the result of `change` as the value of each variable.

    It is given the variable, its value and an `Emit`; None leaves the binding as it is. So does a
    value whose type is not the variable's: types stay. MatchCasts are not asked about.
    """

    def rewrite(block: relax.BindingBlock, bindings: list[relax.Binding]) -> list[relax.Binding]:
        kind = relax.DataflowVar if isinstance(block, relax.DataflowBlock) else relax.Var
        done: list[relax.Binding] = []
        for binding in bindings:
            before: list[relax.Binding] = []
            new = None
            if isinstance(binding, relax.VarBinding):
                new = change(binding.var, binding.value, functools.partial(_emit, kind, before))
            if new is not None:
                new = relax.BlockBuilder().normalize(new)
                if tvm_ffi.structural_equal(new.ty, binding.var.ty):
                    done += [*before, relax.VarBinding(binding.var, new)]
                    continue
            done.append(binding)
        return done

    return on_functions(mod, lambda func: on_blocks(func, rewrite))


def _emit(kind: type[relax.Var], before: list[relax.Binding], value: relax.Expr) -> relax.Var:
    value = relax.BlockBuilder().normalize(value)
    var = kind(f"t{len(before)}", value.ty)
    before.append(relax.VarBinding(var, value))
    return var


def bound_values(mod: tvm.IRModule) -> dict[relax.Var, relax.Expr]:
    """What each variable of a binding, MatchCasts aside, is bound to."""
    bindings = nodes(mod, relax.VarBinding)
    return {binding.var: binding.value for binding in bindings}


def until_stable(transform: Transform) -> Transform:
    """Applied repeatedly until nothing changes."""

    def repeated(mod: tvm.IRModule) -> tvm.IRModule:
        while not tvm_ffi.structural_equal(new := transform(mod), mod):
            mod = new
        return mod

    return repeated


def in_public_functions(
    mod: tvm.IRModule, builder: relax.BlockBuilder, name: Any, operands: Any, *ops: str
) -> tvm.IRModule:
    """Calls of these operators become calls of private functions.

    Args:
        name: from a call, the name of its function.
        operands: from the variables among the arguments, the parameters of the function.
    """

    def change(call: relax.Call) -> relax.Expr | None:
        variables = [arg for arg in call.args if not isinstance(arg, ir.GenericConst)]
        if not all(map(static_tensor, [*call.args, call])) or not variables:
            return None
        chosen = list(operands(variables))
        gvar = builder.add_func(function_of(call, chosen), name(call))
        return relax.Call(gvar, chosen)

    public = {g: f for g, f in mod.functions_items() if is_public(f) and not labelled(f)}
    for gvar, func in on_calls(with_functions(mod, public), change, *ops).functions_items():
        builder.update_func(gvar, func)
    return with_functions(mod, dict(builder.get().functions_items()))


def labelled(func: tvm.ir.BaseFunc) -> bool:
    """It is a library's, or a kernel to be."""
    attrs = func.attrs or {}
    return any(name in attrs for name in ("Codegen", "Composite", "Primitive"))
