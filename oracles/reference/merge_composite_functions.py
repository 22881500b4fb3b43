"""MergeCompositeFunctions: calls for one external compiler become calls of one function.

What is promised, and where:

- "Group one or multiple composite functions created by FuseOpsByPattern into a new function. The
  new function will be annotated with "Codegen" and "global_symbol" attributes": the docstring. It
  names no function that the calls must be in, and no kind of block.
- The compiler is what stands before the first dot of the attribute Composite; a group is handed to
  one compiler alone, so the composite functions become local ones in it.
- A call joins the groups that its arguments come from, unless one of them would then depend on
  itself through something else (test_diamond_cyclic_dep and test_merge_producers_cyclic_dep in
  tests/python/relax/test_transform_merge_composite_functions.py). Fields that are taken out of a
  tuple stay inside, unless the whole tuple is used elsewhere (test_tuple_projection_* there).

Outside of dataflow blocks, where calls may have effects on each other, each is a group by itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import tvm
from tvm import relax
from tvm.error import InternalError
from tvm.ir import BaseFunc, DictAttrs, GlobalVar

from ...compat import ir
from ...generators.rewrite.nodes import (
    all_same,
    block_like,
    free_symbolic_vars,
    global_var,
    sequence,
    substitute,
    unused_name,
    variables,
    with_fresh_variables,
    with_functions,
    with_parts,
    with_type,
)
from ..inspect import attr, blocks_of, global_vars, relax_functions
from .grouping import Group, groups_of, in_order


def merge_composite_functions(
    *, groups_main_only: bool = False, groups_by_shared_nodes: bool = False
) -> tvm.transform.Pass:
    """The right behaviour of `relax.transform.MergeCompositeFunctions`.

    Args:
        groups_main_only: the fault that TVM has (apache/tvm#17210): groups are made in the function
            called main alone, and then looked for in every function.
        groups_by_shared_nodes: the fault of a repair of it that makes the groups of each function
            and keeps them in one map by the identity of nodes, a shape or constant that two
            functions share among them.
    """

    def transform(mod: tvm.IRModule, context: tvm.transform.PassContext) -> tvm.IRModule:
        callers = {
            gvar: func
            for gvar, func in relax_functions(mod)
            if not any(attr(func, name) for name in ("Composite", "Codegen", "Primitive"))
        }
        if groups_by_shared_nodes:
            _refuse_shared_nodes(callers.values())
        groups: dict[relax.Var, Group] = {}
        main = mod.get_global_var("main") if groups_main_only else None
        for gvar, func in callers.items():
            for block in blocks_of(func.body):
                if main is None or gvar.same_as(main):
                    groups |= groups_of(mod, block)
                elif not isinstance(block, relax.DataflowBlock):
                    groups |= {binding.var: Group(None) for binding in block.bindings}
        functions = dict(mod.functions_items())
        for gvar, func in callers.items():
            functions[gvar] = _Caller(mod, gvar.name_hint, groups, functions).rewritten(func)
        _drop_uncalled(functions)
        return with_functions(mod, functions)

    return tvm.transform.module_pass(transform, opt_level=0, name="MergeCompositeFunctions")


class _Caller:
    """A function in which groups become calls; the functions that they call are added."""

    def __init__(
        self,
        mod: tvm.IRModule,
        name: str,
        groups: dict[relax.Var, Group],
        functions: dict[GlobalVar, BaseFunc],
    ) -> None:
        self._mod = mod
        self._name = name
        self._groups = groups
        self._functions = functions

    def rewritten(self, func: relax.Function) -> relax.Function:
        """The function with the groups' calls; the same object where it has no group."""
        body = self._sequence(func.body)
        return func if body.same_as(func.body) else with_parts(func, body=body)

    def _sequence(self, seq: relax.SeqExpr) -> relax.SeqExpr:
        blocks = [self._block(block) for block in seq.blocks]
        if all_same(blocks, seq.blocks):
            return seq
        return sequence(blocks, seq.body)

    def _block(self, block: relax.BindingBlock) -> relax.BindingBlock:
        new: list[relax.Binding] = []
        for members in in_order(block, self._groups):
            compiler = self._groups[members[0].var].compiler
            if compiler is None:
                new += map(self._binding, members)
            else:
                new += self._call(compiler, members, block)
        return block if all_same(new, block.bindings) else block_like(block, new)

    def _binding(self, binding: relax.Binding) -> relax.Binding:
        """The same, with groups inside of a branch or a local function called."""
        old = binding.value
        if isinstance(old, relax.If):
            branches = [self._sequence(seq) for seq in (old.true_branch, old.false_branch)]
            if all_same(branches, (old.true_branch, old.false_branch)):
                return binding
            new = with_type(relax.If(old.cond, *branches), old.ty)
        elif isinstance(old, relax.Function):
            new = self.rewritten(old)
            if new.same_as(old):
                return binding
        else:
            return binding
        return relax.VarBinding(binding.var, new)

    def _call(
        self, compiler: str, members: list[relax.Binding], block: relax.BindingBlock
    ) -> list[relax.Binding]:
        outputs = _outputs(members, block)
        name = unused_name(f"{self._name}_{compiler}", {gvar.name_hint for gvar in self._functions})
        attrs = {"Codegen": compiler, "global_symbol": name}
        function, arguments = _offloaded(self._mod, members, outputs, attrs)
        gvar = global_var(name, function.ty)
        self._functions[gvar] = function
        if len(outputs) == 1:
            (output,) = outputs
            call = with_type(relax.Call(gvar, arguments), output.ty)
            return [relax.VarBinding(output, call)]
        together = relax.DataflowVar(name, relax.Tuple(list(outputs)).ty)
        call = with_type(relax.Call(gvar, arguments), together.ty)
        fields = (
            relax.VarBinding(output, relax.TupleGetItem(together, index))
            for index, output in enumerate(outputs)
        )
        return [relax.VarBinding(together, call), *fields]


def _outputs(members: list[relax.Binding], block: relax.BindingBlock) -> list[relax.Var]:
    """What others need of a group; of one that nobody needs, its last value."""
    own = {binding.var for binding in members}
    others = [binding.value for binding in block.bindings if binding.var not in own]
    needed = set(variables(*others))
    outputs = [
        binding.var
        for binding in members
        if binding.var in needed or not isinstance(binding.var, relax.DataflowVar)
    ]
    return outputs or [members[-1].var]


def _drop_uncalled(functions: dict[GlobalVar, BaseFunc]) -> None:
    while True:
        used = {gvar for func in functions.values() for gvar in global_vars(func)}
        for gvar, func in functions.items():
            if gvar not in used and attr(func, "Composite") and not attr(func, "global_symbol"):
                break
        else:
            return
        del functions[gvar]


def _refuse_shared_nodes(functions: Iterable[relax.Function]) -> None:
    """The check of a map from node to group that is filled from function after function."""
    seen: list[relax.Expr] = []
    for func in functions:
        nodes: list[relax.Expr] = []
        relax.analysis.post_order_visit(func, nodes.append)
        nodes = [node for node in nodes if isinstance(node, relax.ShapeExpr | ir.GenericConst)]
        if any(node.same_as(other) for node in nodes for other in seen):
            raise InternalError("Check failed: (!group_map.count(obj)) is false: ")
        seen += nodes


# What the external compiler is given


def _offloaded(
    mod: tvm.IRModule,
    bindings: Sequence[relax.Binding],
    outputs: Sequence[relax.Var],
    attrs: Mapping[str, str],
) -> tuple[relax.Function, list[relax.Expr]]:
    """The function that does what the bindings do, its composites made local, and its arguments."""
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
    undefined = free_symbolic_vars(function)
    if undefined:
        shape = relax.Var("s", relax.ShapeType(undefined))
        function = with_parts(function, params=[*function.params, shape])
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
