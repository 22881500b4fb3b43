"""Calls of composite functions as one function that an external compiler is given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import tvm
from tvm import relax
from tvm.ir import DictAttrs, GlobalVar

from ...generators.rewrite.nodes import substitute, variables, with_fresh_variables, with_type


def offloaded(
    mod: tvm.IRModule,
    bindings: Sequence[relax.Binding],
    outputs: Sequence[relax.Var],
    attrs: Mapping[str, str],
) -> tuple[relax.Function, list[relax.Expr]]:
    """The function that does what the bindings do, and its arguments in their place.

    The composite functions become local ones, since a compiler sees nothing else of the module.
    """
    result = outputs[0] if len(outputs) == 1 else relax.Tuple(list(outputs))
    inside = _with_local_functions(mod, bindings)
    bound = {binding.var for binding in bindings}
    arguments: list[relax.Expr] = [
        var
        for var in variables(*(binding.value for binding in bindings))
        if var not in bound and not _is_dimension(var)
    ]
    # Parameters and what a plain block binds are no dataflow variables.
    new = {var: relax.Var(var.name, var.ty) for var in (*arguments, *bound)}
    body = with_type(relax.SeqExpr([relax.BindingBlock(inside)], result), result.ty)
    function = relax.Function(
        [new[argument] for argument in arguments],
        substitute(body, new),
        result.ty,
        all(_callee(mod, b).is_pure for b in bindings if isinstance(b.value, relax.Call)),
        DictAttrs(dict(attrs)),
    )
    undefined = list(relax.analysis.free_symbolic_vars(function))
    if undefined:
        shape = relax.Var("s", relax.ShapeType(undefined))
        function = relax.Function(
            [*function.params, shape],
            function.body,
            function.ret_ty,
            function.is_pure,
            function.attrs,
        )
        arguments.append(relax.ShapeExpr(undefined))
    return with_fresh_variables(function), arguments


def _with_local_functions(
    mod: tvm.IRModule, bindings: Sequence[relax.Binding]
) -> list[relax.Binding]:
    local: dict[GlobalVar, relax.Var] = {}
    inside: list[relax.Binding] = []
    for binding in bindings:
        call = binding.value
        if not isinstance(call, relax.Call):
            inside.append(binding)
            continue
        if call.op not in local:
            func = _callee(mod, binding).without_attr("Primitive").without_attr("global_symbol")
            local[call.op] = relax.Var(call.op.name_hint, func.ty)
            inside.append(relax.VarBinding(local[call.op], func))
        new = with_type(relax.Call(local[call.op], call.args), call.ty)
        inside.append(relax.VarBinding(binding.var, new))
    return inside


def _callee(mod: tvm.IRModule, binding: relax.Binding) -> relax.Function:
    return mod[binding.value.op]


def _is_dimension(var: relax.Var) -> bool:
    """It may stand in a shape, and is handed over in one where no parameter's type defines it."""
    return isinstance(var.ty, tvm.ir.PrimType) and str(var.ty.dtype) == "int64"
