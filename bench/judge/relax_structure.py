"""Mutations of Relax functions and modules: effects, purity, types, scopes, functions."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import tvm
import tvm_ffi
from tvm import relax, tirx
from tvm.ir import Op

from relaxfuzz.compat import ir
from relaxfuzz.compat.structural import structural_equal, structural_map
from relaxfuzz.generators.rewrite.change import Change
from relaxfuzz.generators.rewrite.nodes import (
    block_like,
    equal_types,
    global_var,
    references,
    substitute,
    used_vars,
    with_functions,
    with_parts,
)
from relaxfuzz.oracles.inspect import is_public, tensor_types

from .live import is_impure, live, live_relax, live_sites
from .mutation import Changes, Mutant, Mutation

Mutants = Iterator[Mutant]


def with_function(mod: tvm.IRModule, name: str, func: Any) -> tvm.IRModule:
    """The module with another function of this name, under the type of the new function."""
    old = mod.get_global_var(name)
    new = old if equal_types(old.ty, func.ty) else global_var(name, func.ty)
    functions = {
        (new if gvar.same_as(old) else gvar): substitute(
            func if gvar.same_as(old) else each, {} if new.same_as(old) else {old: new}
        )
        for gvar, each in mod.functions_items()
    }
    return with_functions(mod, functions)


# Blocks

Blocks = Callable[[list[Any], set[int]], Iterator[list[Any]]]
"""Yields replacements of the bindings of a block, given with the live variables."""


def of_blocks(forms: Blocks) -> Callable[[tvm.IRModule], Mutants]:
    """Mutants in which one block has other bindings."""

    def mutants(mod: tvm.IRModule) -> Mutants:
        for name, func in live_relax(mod):
            shown = {site.key for site in live_sites(func)}
            blocks: list[Any] = []
            tvm_ffi.structural_walk(func, (relax.BindingBlock, blocks.append))
            for block in blocks:
                for bindings in forms(list(block.bindings), shown):
                    yield functools.partial(_with_block, mod, name, block, bindings)

    return mutants


def _with_block(mod: tvm.IRModule, name: str, block: Any, bindings: list[Any]) -> tvm.IRModule:
    def replaced(node: Any) -> Any:
        return block_like(block, bindings) if node.same_as(block) else node

    func = structural_map(mod[name], (relax.BindingBlock, replaced), order="pre")
    return with_function(mod, name, func)


def lost_effect(bindings: list[Any], _: set[int]) -> Iterator[list[Any]]:
    """Drop a call with an effect, if nothing in the block uses its value."""
    for place, binding in enumerate(bindings):
        rest = [*bindings[:place], *bindings[place + 1 :]]
        unused = hash(binding.var) not in used_vars(rest)
        if is_impure(binding) and unused:
            yield rest


def twice(bindings: list[Any], _: set[int]) -> Iterator[list[Any]]:
    """Repeat the effect of a call."""
    for place, binding in enumerate(bindings):
        if is_impure(binding):
            var = relax.Var("again", binding.var.ty)
            again = relax.VarBinding(var, binding.value)
            yield [*bindings[:place], again, *bindings[place:]]


def reordered(bindings: list[Any], _: set[int]) -> Iterator[list[Any]]:
    """Move an effect before an earlier one."""
    places = [i for i, b in enumerate(bindings) if is_impure(b)]
    for first, second in itertools.pairwise(places):
        between = {hash(each.var) for each in bindings[first:second]}
        if between.isdisjoint(used_vars([bindings[second].value])):
            moved = [bindings[second], *bindings[first:second]]
            yield [*bindings[:first], *moved, *bindings[second + 1 :]]


def used_before(bindings: list[Any], _: set[int]) -> Iterator[list[Any]]:
    """Move a binding before that of a variable it uses."""
    for place, (first, second) in enumerate(itertools.pairwise(bindings)):
        if hash(first.var) in used_vars([second.value]):
            yield [*bindings[:place], second, first, *bindings[place + 2 :]]


def lost_binding(bindings: list[Any], _: set[int]) -> Iterator[list[Any]]:
    """Drop the definition of a variable that later bindings use."""
    for place, binding in enumerate(bindings):
        if hash(binding.var) in used_vars(bindings[place + 1 :]):
            yield [*bindings[:place], *bindings[place + 1 :]]


# Precision


def narrowed(bindings: list[Any], shown: set[int]) -> Iterator[list[Any]]:
    """Compute a value in a shorter type and cast it back."""
    for place, binding in enumerate(bindings):
        ty = binding.var.ty
        shorter = NARROWER.get(str(getattr(ty, "dtype", "")))
        is_call = isinstance(binding, relax.VarBinding) and isinstance(binding.value, relax.Call)
        if shorter is None or not is_call or hash(binding.var) not in shown:
            continue
        if not isinstance(binding.value.op, Op) or is_cast(binding.value):
            continue
        new = _in_shorter(binding, shorter)
        if new is not None:
            yield [*bindings[:place], *new, *bindings[place + 1 :]]


def is_cast(call: relax.Call) -> bool:
    """True for a cast that loses nothing, because its operand is as short."""
    return str(call.op.name) == "relax.astype"


NARROWER = {"float64": "float32", "float32": "float16", "int64": "int32", "int32": "int8"}


def _in_shorter(binding: Any, dtype: str) -> list[Any] | None:
    """Bindings of the casts of the operands, of the call, and of the cast of the result."""
    made: list[Any] = []
    kind = type(binding.var)

    def bound(value: Any, name: str) -> Any:
        value = relax.BlockBuilder().normalize(value)
        var = (relax.DataflowVar if kind is relax.DataflowVar else relax.Var)(name, value.ty)
        made.append(relax.VarBinding(var, value))
        return var

    call, ty = binding.value, binding.var.ty
    args = [
        bound(relax.op.astype(arg, dtype), "short")
        if isinstance(arg.ty, relax.TensorType) and str(arg.ty.dtype) == str(ty.dtype)
        else arg
        for arg in call.args
    ]
    try:
        short = bound(relax.Call(call.op, args, call.attrs, call.ty_args), "result")
        back = relax.BlockBuilder().normalize(relax.op.astype(short, str(ty.dtype)))
    except Exception:  # the operator does not accept the type
        return None
    if not made or not equal_types(back.ty, ty):
        return None
    return [*made, relax.VarBinding(binding.var, back)]


# Functions


def of_functions(forms: Callable[[Any], Iterator[Any]]) -> Callable[[tvm.IRModule], Mutants]:
    """Mutants in which one Relax function is replaced."""

    def mutants(mod: tvm.IRModule) -> Mutants:
        for name, func in live_relax(mod):
            for new in forms(func):
                yield functools.partial(with_function, mod, name, new)

    return mutants


def other_purity(func: Any) -> Iterator[Any]:
    """Declare a pure function impure, or the other way round."""
    yield relax.Function(func.params, func.body, func.ret_ty, not func.is_pure, func.attrs)


def swapped_params(func: Any) -> Iterator[Any]:
    """Exchange two parameters of one type."""
    params = list(func.params)
    for place, (a, b) in enumerate(itertools.pairwise(params)):
        if equal_types(a.ty, b.ty) and {hash(a), hash(b)} & used_vars([func.body]):
            yield with_parts(func, params=[*params[:place], b, a, *params[place + 2 :]])


def lost_param(func: Any) -> Iterator[Any]:
    """Drop a parameter that the function does not use."""
    for place, param in enumerate(func.params):
        if hash(param) not in used_vars([func.body, func.ret_ty]):
            yield with_parts(func, params=[*func.params[:place], *func.params[place + 1 :]])


def vaguer_result(func: Any) -> Iterator[Any]:
    """Make the type of the result less complete."""
    ty = func.ret_ty
    if isinstance(ty, relax.TensorType) and ty.shape is not None:
        yield _giving(func, relax.TensorType(dtype=ty.dtype, ndim=ty.ndim))
    if isinstance(ty, relax.TupleType):
        yield _giving(func, relax.AnyType())


def _giving(func: relax.Function, ty: relax.Type) -> relax.Function:
    """The function with this result type; the constructor would take the type of the body."""
    whole = relax.FuncType([param.ty for param in func.params], ty, func.is_pure)
    return ir.with_fields(func, ret_ty=ty, ty=whole)


def other_result_type(func: Any) -> Iterator[Any]:
    """Declare another dtype or another dimension of the result."""
    ty = func.ret_ty
    if isinstance(ty, relax.TensorType) and ty.dtype is not None:
        other = "float32" if str(ty.dtype) != "float32" else "int32"
        if isinstance(ty.shape, relax.ShapeExpr):
            yield with_parts(func, ret_ty=relax.TensorType(ty.shape, other, ty.vdevice))
            for place, dim in enumerate(ty.shape.values):
                if isinstance(dim, tirx.IntImm):
                    dims = list(ty.shape.values)
                    dims[place] = dim + 1
                    yield with_parts(func, ret_ty=relax.TensorType(dims, ty.dtype, ty.vdevice))


def lost_function_attribute(mod: tvm.IRModule) -> Mutants:
    """Drop an attribute of a Relax function other than its symbol."""
    for name, func in live_relax(mod):
        for key in dict(func.attrs or {}):
            if str(key) != "global_symbol":
                new = func.without_attr(str(key))
                yield functools.partial(with_function, mod, name, new)


def lost_module_attribute(mod: tvm.IRModule) -> Mutants:
    """Drop an attribute of the module."""
    for key in dict(mod.attrs or {}):
        rest = {str(k): v for k, v in dict(mod.attrs).items() if k != key}
        attrs = tvm.ir.make_node("ir.DictAttrs", **rest)
        functions = dict(mod.functions_items())
        yield functools.partial(tvm.IRModule, functions, attrs=attrs, global_infos=mod.global_infos)


def lost_function(mod: tvm.IRModule) -> Mutants:
    """Drop a function."""
    for name, _ in live(mod):
        rest = {g: f for g, f in mod.functions_items() if str(g.name_hint) != name}
        yield functools.partial(with_functions, mod, rest)


def renamed_function(mod: tvm.IRModule) -> Mutants:
    """Give a public function another name."""
    for name, func in live_relax(mod):
        if is_public(func):
            yield functools.partial(_renamed, mod, mod.get_global_var(name))


def _renamed(mod: tvm.IRModule, gvar: Any) -> tvm.IRModule:
    name = f"{gvar.name_hint}_1"
    new = global_var(name, gvar.ty)
    functions = {
        (new if g.same_as(gvar) else g): substitute(
            f.with_attr("global_symbol", name) if g.same_as(gvar) else f, {gvar: new}
        )
        for g, f in mod.functions_items()
    }
    return with_functions(mod, functions)


def other_callee(mod: tvm.IRModule) -> Mutants:
    """Call another function of the same type."""
    for name, func in live_relax(mod):
        for callee in sorted(references(func)):
            old = mod.get_global_var(callee)
            for other in mod.functions:
                same_type = not other.same_as(old) and equal_types(other.ty, old.ty)
                if same_type and not structural_equal(mod[callee], mod[other]):
                    new = substitute(func, {old: other})
                    yield functools.partial(with_function, mod, name, new)


# Virtual devices


def lost_vdevice(mod: tvm.IRModule) -> Mutants:
    """Remove a value from its virtual device."""
    for name, func in live_relax(mod):
        for site in live_sites(func):
            value = site.binding.value
            on_device = any(ty.vdevice is not None for ty in tensor_types(site.var.ty))
            if on_device and _moves(value):
                change = Change(uses={site.key: value.args[0]}, dropped={site.key})
                change.functions.add(name)
                yield functools.partial(change.apply, mod)
        if any(ty.vdevice is not None for ty in tensor_types(func.ret_ty)):
            bare = structural_map(func.ret_ty, (relax.TensorType, _nowhere))
            new = with_parts(func, ret_ty=bare)
            yield functools.partial(with_function, mod, name, new)


def _moves(value: Any) -> bool:
    names = ("relax.to_vdevice", "relax.hint_on_device")
    return isinstance(value, relax.Call) and getattr(value.op, "name", "") in names


def _nowhere(ty: Any) -> Any:
    if ty.shape is None:
        return relax.TensorType(dtype=ty.dtype, ndim=ty.ndim)
    return relax.TensorType(ty.shape, ty.dtype)


def swapped_outputs(mod: tvm.IRModule) -> Mutants:
    """Exchange two fields of the tuple that a function returns."""
    for name, func in live_relax(mod):
        result = func.body.body
        for fields in _swaps(result):
            change = Change(results={hash(func.body): relax.Tuple(fields)})
            change.functions.add(name)
            yield functools.partial(change.apply, mod)


def _swaps(result: Any) -> Iterator[list[Any]]:
    ty = result.ty
    if not isinstance(ty, relax.TupleType):
        return
    if isinstance(result, relax.Tuple):
        fields = list(result.fields)
        for i in range(len(fields) - 1):
            a, b = fields[i : i + 2]
            if equal_types(a.ty, b.ty) and not a.same_as(b):
                yield [*fields[:i], b, a, *fields[i + 2 :]]


_EFFECT, _FORM, _TYPE = Changes.EFFECT, Changes.FORM, Changes.TYPE
MUTATIONS = (
    Mutation("outputs swapped", Changes.VALUE, swapped_outputs),
    Mutation("parameters swapped", Changes.VALUE, of_functions(swapped_params)),
    Mutation("other callee", Changes.VALUE, other_callee),
    Mutation("dtype narrowed", Changes.VALUE, of_blocks(narrowed)),
    Mutation("effect lost", _EFFECT, of_blocks(lost_effect)),
    Mutation("effect duplicated", _EFFECT, of_blocks(twice)),
    Mutation("effects reordered", _EFFECT, of_blocks(reordered)),
    Mutation("used before its definition", _FORM, of_blocks(used_before)),
    Mutation("definition lost", _FORM, of_blocks(lost_binding)),
    Mutation("purity changed", _TYPE, of_functions(other_purity)),
    Mutation("parameter lost", _TYPE, of_functions(lost_param)),
    Mutation("result type less known", _TYPE, of_functions(vaguer_result)),
    Mutation("other result type", _TYPE, of_functions(other_result_type)),
    Mutation("function lost", _TYPE, lost_function),
    Mutation("function renamed", _TYPE, renamed_function),
    Mutation("vdevice lost", _TYPE, lost_vdevice),
    Mutation("function's attribute lost", Changes.ATTRIBUTE, lost_function_attribute),
    Mutation("module's attribute lost", Changes.ATTRIBUTE, lost_module_attribute),
)
