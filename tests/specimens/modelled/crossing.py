"""Faults that show only where features of a module meet."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import tvm
import tvm_ffi
from tvm import relax, tirx
from tvm.ir import GlobalVar

from relaxfuzz.compat import ir
from relaxfuzz.compat.ops import relax_op
from relaxfuzz.compat.structural import structural_map
from relaxfuzz.generators.rewrite.nodes import with_functions, with_parts, with_type
from relaxfuzz.generators.stages import Stage
from relaxfuzz.oracles.inspect import attr, is_public, nodes, op_name, relax_functions

from ..specimen import Family, Specimen, of
from .tools import (
    Emit,
    made,
    on_blocks,
    on_functions,
    on_values,
    until_stable,
    writes_in_place,
)
from .values import FLOATS, dtype_of

# Shapes meet reductions


def folds_empty_products() -> tvm.transform.Pass:
    """A reduction of an empty tensor is a constant."""

    def change(var: relax.Var, value: relax.Expr, emit: Emit) -> relax.Expr | None:
        if op_name(value) not in ("relax.sum", "relax.prod"):
            return None
        before, after = (_sizes(e) for e in (value.args[0], value))
        if before is None or after is None or 0 not in before or 0 in after:
            return None
        dtype = dtype_of(value)
        return None if dtype == "bfloat16" else relax.const(np.zeros(after, dtype), dtype)

    def transform(mod: tvm.IRModule) -> tvm.IRModule:
        # What may be overwritten must not become a constant.
        return mod if writes_in_place(mod) else on_values(mod, change)

    return made("FoldEmptyReductions", transform)


def _sizes(expr: relax.Expr) -> list[int] | None:
    """The dims of a tensor, if all of them and the dtype are known."""
    ty = expr.ty
    if not isinstance(ty, relax.TensorType) or not isinstance(ty.shape, relax.ShapeExpr):
        return None
    dims = list(ty.shape.values)
    if ty.dtype is None or not all(isinstance(dim, tirx.IntImm) for dim in dims):
        return None
    return [int(dim.value) for dim in dims]


def means_by_static_sizes() -> tvm.transform.Pass:
    """A mean becomes a sum, divided by the number of elements."""

    def change(var: relax.Var, value: relax.Expr, emit: Emit) -> relax.Expr | None:
        if op_name(value) != "relax.mean" or dtype_of(value) not in FLOATS:
            return None
        x, axes = value.args[0], value.attrs.axis
        if not isinstance(x.ty.shape, relax.ShapeExpr):
            return None
        dims = list(x.ty.shape.values)
        if axes is not None:
            dims = [dims[int(axis)] for axis in axes]
        sizes = [int(dim.value) for dim in dims if isinstance(dim, tirx.IntImm)]
        count = math.prod(sizes)
        if not sizes or count == 0:
            return None
        total = emit(relax_op.sum(x, axes, bool(value.attrs.keepdims)))
        return relax_op.divide(total, relax.const(count, dtype_of(value)))

    return made("DecomposeMean", lambda mod: on_values(mod, change))


_REDUCTIONS = ("sum", "prod", "mean", "variance", "std", "max", "min")


def normalizes_unknown_ranks() -> tvm.transform.Pass:
    """Axes of reductions are counted from the front, so that equal calls look equal."""

    def change(var: relax.Var, value: relax.Expr, emit: Emit) -> relax.Expr | None:
        name = (op_name(value) or "").removeprefix("relax.")
        if name not in _REDUCTIONS or value.attrs.axis is None:
            return None
        axes, ndim = [int(axis) for axis in value.attrs.axis], value.args[0].ty.ndim
        if ndim == 0 or all(axis >= 0 for axis in axes):
            return None
        reduce = getattr(relax_op, name)
        return reduce(value.args[0], [axis % ndim for axis in axes], bool(value.attrs.keepdims))

    return made("NormalizeAxes", lambda mod: on_values(mod, change))


# Functions meet constants and tuples


def _private(mod: tvm.IRModule) -> Iterator[tuple[GlobalVar, relax.Function]]:
    """Functions that only the module calls, and that no earlier pass has marked."""
    marks = ("Codegen", "Composite", "Primitive")
    return (
        (gvar, func)
        for gvar, func in relax_functions(mod)
        if not is_public(func) and all(attr(func, mark) is None for mark in marks)
    )


def _bound(mod: tvm.IRModule, calls: dict[GlobalVar, list[relax.Call]]) -> tvm.IRModule:
    """Private functions with what all of these calls give them, where it is a constant.

    The parameter stays, unused; scalars are left alone, as they count and index.
    """
    if writes_in_place(mod):
        return mod
    functions: dict[Any, Any] = dict(mod.functions_items())
    handed_on = _handed_on(mod)
    for gvar, func in _private(mod):
        if gvar in handed_on:
            continue
        new: dict[relax.Var, relax.Expr] = {}
        for i, param in enumerate(func.params):
            given = [call.args[i] for call in calls.get(gvar, ())]
            if not given or not all(isinstance(arg, ir.GenericConst) for arg in given):
                continue
            first = given[0]
            if not _sizes(first) or not tvm_ffi.structural_equal(first.ty, param.ty):
                continue
            if all(tvm_ffi.structural_equal(first, arg) for arg in given):
                new[param] = first
        if new:
            replaced = (relax.Var, lambda var, new=new: new.get(var, var))
            body = structural_map(func.body, replaced)
            functions[gvar] = with_parts(func, body=body)
    return with_functions(mod, functions)


def _handed_on(mod: tvm.IRModule) -> set[GlobalVar]:
    """The functions that are used as values, besides being called."""
    calls = [call.op for _, func in relax_functions(mod) for call in nodes(func, relax.Call)]
    uses = [gvar for _, func in relax_functions(mod) for gvar in nodes(func, GlobalVar)]
    called = Counter(op for op in calls if isinstance(op, GlobalVar))
    return set(Counter(uses) - called)


def binds_despite_recursion() -> tvm.transform.Pass:
    """Constants that all callers of a private function agree on move into the function."""

    def transform(mod: tvm.IRModule) -> tvm.IRModule:
        calls: dict[GlobalVar, list[relax.Call]] = {}
        for caller, func in relax_functions(mod):
            for call in nodes(func, relax.Call):
                # A function that calls itself hands on what it was given.
                if isinstance(call.op, GlobalVar) and not call.op.same_as(caller):
                    calls.setdefault(call.op, []).append(call)
        return _bound(mod, calls)

    return made("PropagateConstantArguments", until_stable(transform))


def binds_despite_branches() -> tvm.transform.Pass:
    """Constants that all callers of a private function agree on move into the function."""

    def transform(mod: tvm.IRModule) -> tvm.IRModule:
        calls: dict[GlobalVar, list[relax.Call]] = {}
        for _, func in relax_functions(mod):
            for block in func.body.blocks:
                for binding in block.bindings:
                    call = binding.value
                    if isinstance(call, relax.Call) and isinstance(call.op, GlobalVar):
                        calls.setdefault(call.op, []).append(call)
        return _bound(mod, calls)

    return made("PropagateCommonArguments", until_stable(transform))


def zeroes_whole_tuples() -> tvm.transform.Pass:
    """Outputs of private functions that no caller looks at are not computed any more."""

    def transform(mod: tvm.IRModule) -> tvm.IRModule:
        handed_on = _handed_on(mod)
        used: dict[GlobalVar, set[int]] = {}
        for _, func in relax_functions(mod):
            calls = {
                b.var: b.value.op
                for b in nodes(func, relax.VarBinding)
                if isinstance(b.value, relax.Call) and isinstance(b.value.op, GlobalVar)
            }
            for gvar in calls.values():
                used.setdefault(gvar, set())
            for item in nodes(func, relax.TupleGetItem):
                gvar = calls.get(item.tuple_value) if _is_var(item.tuple_value) else None
                if gvar is not None:
                    used[gvar].add(int(item.index))
        functions: dict[Any, Any] = dict(mod.functions_items())
        for gvar, func in _private(mod):
            body = func.body.body
            if gvar in used and gvar not in handed_on and isinstance(body, relax.Tuple):
                fields = [
                    field if i in used[gvar] else _zeros(field)
                    for i, field in enumerate(body.fields)
                ]
                if not all(a.same_as(b) for a, b in zip(fields, body.fields, strict=True)):
                    new = relax.Tuple(fields)
                    seq = with_type(relax.SeqExpr(func.body.blocks, new), func.body.ty)
                    functions[gvar] = with_parts(func, body=seq)
        return with_functions(mod, functions)

    return made("DropUnusedOutputs", transform)


def _is_var(expr: Any) -> bool:
    return isinstance(expr, relax.Var)


def _zeros(field: relax.Expr) -> relax.Expr:
    """Zeros in place of a tensor; what has another type stays, and so do constants."""
    sizes = _sizes(field)
    if sizes is None or isinstance(field, ir.GenericConst) or dtype_of(field) == "bfloat16":
        return field
    zeros = relax.const(np.zeros(sizes, dtype_of(field)), dtype_of(field))
    return zeros if tvm_ffi.structural_equal(zeros.ty, field.ty) else field


# Updates in place meet the order and the sharing of values


_IN_PLACE = ("relax.call_tir_inplace", "relax.call_inplace_packed")


def _pure_call(value: relax.Expr) -> bool:
    op = op_name(value)
    if op is None or value.op.get_attr("TAllocator"):
        return False
    return bool(value.op.get_attr("FPurity"))


def merges_overwritten() -> tvm.transform.Pass:
    """Common subexpressions are computed once a block."""

    def rewrite(block: relax.BindingBlock, bindings: list[relax.Binding]) -> list[relax.Binding]:
        seen: dict[int, list[relax.VarBinding]] = {}
        done: list[relax.Binding] = []
        for binding in bindings:
            new = binding
            value = binding.value
            if isinstance(binding, relax.VarBinding) and _pure_call(value):
                if op_name(value) in _IN_PLACE:
                    done.append(binding)
                    continue
                known = seen.setdefault(tvm_ffi.structural_hash(value), [])
                for first in known:
                    same_type = tvm_ffi.structural_equal(first.var.ty, binding.var.ty)
                    if same_type and tvm_ffi.structural_equal(first.value, value):
                        new = relax.VarBinding(binding.var, first.var)
                        break
                else:
                    known.append(binding)
            done.append(new)
        return done

    return made("MergeCommonCalls", lambda mod: on_functions(mod, lambda f: on_blocks(f, rewrite)))


def sorts_past_updates() -> tvm.transform.Pass:
    """Each output of a dataflow block comes as early as it can, after just what it needs."""

    def rewrite(block: relax.BindingBlock, bindings: list[relax.Binding]) -> list[relax.Binding]:
        plain = all(isinstance(binding, relax.VarBinding) for binding in bindings)
        if not isinstance(block, relax.DataflowBlock) or not plain:
            return bindings
        maker = {binding.var: binding for binding in bindings}
        done: dict[relax.Var, relax.Binding] = {}

        def place(binding: relax.Binding) -> None:
            if binding.var not in done:
                for var in nodes(binding.value, relax.Var):
                    if var in maker and not var.same_as(binding.var):
                        place(maker[var])
                done[binding.var] = binding

        outputs = [b for b in bindings if not isinstance(b.var, relax.DataflowVar)]
        for binding in (*outputs, *bindings):
            place(binding)
        return list(done.values())

    return made("SortByOutputs", lambda mod: on_functions(mod, lambda f: on_blocks(f, rewrite)))


def reusing(name: str, holds: Callable[[relax.VarBinding], bool]) -> tvm.transform.Pass:
    """An allocation takes over the memory of a tensor of the same type that is dead.

    Args:
        holds: the bound variable may be, or contain, a tensor that its value mentions.
    """

    def rewrite(
        block: relax.BindingBlock, bindings: list[relax.Binding], result: relax.Expr
    ) -> list[relax.Binding]:
        done: list[relax.Binding] = []
        owned: list[tuple[relax.Binding, int]] = []
        for i, binding in enumerate(bindings):
            if op_name(binding.value) == "relax.builtin.alloc_tensor":
                for k, (old, birth) in enumerate(owned):
                    if not tvm_ffi.structural_equal(old.value, binding.value):
                        continue
                    if _last_use(old.var, bindings, result, birth, holds) < i:
                        del owned[k]
                        new = relax.VarBinding(binding.var, old.var)
                        owned.append((relax.VarBinding(binding.var, old.value), i))
                        done.append(new)
                        break
                else:
                    owned.append((binding, i))
                    done.append(binding)
            else:
                done.append(binding)
        return done

    def change(func: relax.Function) -> relax.Function:
        blocks = func.body.blocks
        if len(blocks) != 1 or isinstance(blocks[0], relax.DataflowBlock):
            return func
        bindings = list(blocks[0].bindings)
        if any(isinstance(b.value, relax.If | relax.Function) for b in bindings):
            return func
        new = rewrite(blocks[0], bindings, func.body.body)
        if all(a.same_as(b) for a, b in zip(new, bindings, strict=True)):
            return func
        body = relax.SeqExpr([relax.BindingBlock(new)], func.body.body)
        return with_parts(func, body=with_type(body, func.body.ty))

    return made(name, lambda mod: on_functions(mod, change))


def _last_use(
    tensor: relax.Var,
    bindings: list[relax.Binding],
    result: relax.Expr,
    birth: int,
    holds: Callable[[relax.VarBinding], bool],
) -> int:
    """Position of the last binding that may read or write the tensor's memory."""
    aliases, last = {tensor}, birth
    for i, binding in enumerate(bindings[birth + 1 :], birth + 1):
        if any(var in aliases for var in nodes(binding.value, relax.Var)):
            last = i
            if holds(binding):
                aliases.add(binding.var)
    return len(bindings) if any(v in aliases for v in nodes(result, relax.Var)) else last


def reuses_tensors_in_tuples() -> tvm.transform.Pass:
    """Reuses the memory of dead tensors; PrimFuncs, which return (), keep none."""
    return reusing("ReuseDeadTensors", lambda b: not isinstance(b.var.ty, relax.TupleType))


_VIEWS = {
    f"relax.{name}"
    for name in (
        *("reshape", "flatten", "expand_dims", "squeeze", "memory.ensure_zero_offset"),
        *("to_vdevice", "hint_on_device", "wrap_param", "builtin.stop_lift_params"),
        *("grad.no_grad", "grad.start_checkpoint", "grad.end_checkpoint"),
        *("make_closure", "invoke_closure", "invoke_pure_closure", "call_builtin_with_ctx"),
        *("call_pure_packed", "call_inplace_packed", "call_py_func"),
    )
}
"""Operators that may return the memory of their operands."""


def reuses_viewed_tensors() -> tvm.transform.Pass:
    """Reuses the memory of dead tensors; most operators return new tensors."""

    def holds(binding: relax.VarBinding) -> bool:
        return op_name(binding.value) is None or op_name(binding.value) in _VIEWS

    return reusing("ReuseDeadMemory", holds)


def drops_shape_functions() -> tvm.transform.Pass:
    """Removes bindings of unused variables, unless they have an effect."""

    def effect(value: relax.Expr, mod: tvm.IRModule) -> bool:
        if not isinstance(value, relax.Call):
            return isinstance(value, relax.If | relax.Function)
        if isinstance(value.op, GlobalVar):
            # Functions of the host compute numbers; all others write to their arguments.
            return attr(mod[value.op], "tirx.is_host_func") is None
        return not _pure_call(value) or op_name(value) in _IN_PLACE

    def without(func: relax.Function, mod: tvm.IRModule) -> relax.Function:
        count = Counter(nodes(func, relax.Var))

        def rewrite(
            block: relax.BindingBlock, bindings: list[relax.Binding]
        ) -> list[relax.Binding]:
            return [
                b
                for b in bindings
                if not isinstance(b, relax.VarBinding) or effect(b.value, mod) or count[b.var] > 1
            ]

        return on_blocks(func, rewrite)

    def transform(mod: tvm.IRModule) -> tvm.IRModule:
        return on_functions(mod, lambda func: without(func, mod))

    return made("DropUnusedBindings", until_stable(transform))


SPECIMENS: tuple[Specimen, ...] = (
    Specimen(
        factory=of(folds_empty_products),
        family=Family.VALUES,
        fault="The product of no elements becomes 0.",
        source="apache/tvm#19680: [Relax] Fix matmul and reductions with zero-size dimension "
        "return uninitialized memory",
        needs=("zero-size", "product"),
    ),
    Specimen(
        factory=of(means_by_static_sizes),
        family=Family.VALUES,
        fault="Counts the elements of a mean by the dims that are known, and forgets the symbolic "
        "ones where there are both.",
        source="apache/tvm#16591: [Unity][Transform] Handle dynamic shapes in "
        "CombineParallelMatmul",
        needs=("symbolic-shapes", "mean over several axes"),
    ),
    Specimen(
        factory=of(normalizes_unknown_ranks),
        family=Family.VALUES,
        fault="Takes a negative axis modulo -1, which stands for a rank that is not known.",
        source="apache/tvm#14365: [Unity][Fix] Infer Layout must support negative axes",
        needs=("incomplete-types", "negative axis"),
    ),
    Specimen(
        factory=of(binds_despite_recursion),
        family=Family.VALUES,
        fault="Binds a constant into a function that gives itself something else.",
        source="apache/tvm#17224: [Relax][Analysis] Handle recursive functions in CollectVarUsage",
        needs=("recursion", "constants"),
    ),
    Specimen(
        factory=of(binds_despite_branches),
        family=Family.VALUES,
        fault="Binds a constant into a function that is also called, with something else, in a "
        "branch.",
        source="apache/tvm#14818: [Unity] Cover all Relax functions in implicit attention rewrite",
        needs=("function-calls", "if", "constants"),
    ),
    Specimen(
        factory=of(zeroes_whole_tuples),
        family=Family.VALUES,
        fault="Takes fields of a tuple for unused that a caller hands on as a whole.",
        source="apache/tvm#17253: [Relax][Transform] Handle tuple return in RemoveUnusedOutputs",
        needs=("function-calls", "tuples"),
    ),
    Specimen(
        factory=of(merges_overwritten),
        family=Family.VALUES,
        fault="Merges a call with an equal one whose result, or operand, was overwritten since.",
        source="apache/tvm#16852: [Relax] Fix EliminiateCommonSubexpr removing alloc tensor",
        needs=("call-tir-inplace", "common subexpression"),
    ),
    Specimen(
        factory=of(sorts_past_updates),
        family=Family.VALUES,
        fault="Moves the reading of a tensor behind its update in place.",
        source="apache/tvm#19644: [Relax][IR] Skip in-place multiply when two operands are views "
        "of the same tensor",
        needs=("call-tir-inplace", "a value read before the update"),
    ),
    Specimen(
        factory=of(reuses_tensors_in_tuples),
        family=Family.VALUES,
        fault="Gives away the memory of a tensor that a tuple holds.",
        source="apache/tvm#6809: [Graph memory plan] Support nested tuples",
        stages=(Stage.REWRITTEN,),
        needs=("tuples", "call-tir"),
    ),
    Specimen(
        factory=of(reuses_viewed_tensors),
        family=Family.VALUES,
        fault="Gives away the memory of a tensor that lives on in a memory.view of it.",
        source="apache/tvm#20134: [Fix][Relax] Track lowered reshape storage aliases",
        stages=(Stage.REWRITTEN,),
        needs=("call-tir", "view of an intermediate result"),
    ),
    Specimen(
        factory=of(drops_shape_functions),
        family=Family.VALUES,
        fault="Takes calls that compute sizes on the host for free of effects: those that write "
        "them to the shape heap go too.",
        source='apache/tvm#16773: [Fix] Fix the purity flag of "vm.call_tir_dyn" and "kill" ops',
        stages=(Stage.BUILTINS_LOWERED, Stage.LOWERED),
        needs=("symbolic-shapes", "sizes computed of others"),
    ),
)
