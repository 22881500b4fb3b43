"""Helpers to take Relax nodes apart and to construct new ones. None changes its arguments."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import tvm
import tvm_ffi
from tvm import relax, tirx
from tvm.ir import GlobalVar, Op, PrimType

from ...compat.structural import structural_map


def with_type(expr: Any, ty: relax.Type) -> Any:
    """A new expression, with its type set."""
    relax.expr._update_type(expr, ty)
    return expr


def sequence(blocks: Iterable[relax.BindingBlock], body: relax.Expr) -> relax.SeqExpr:
    """Blocks and a result; blocks without bindings are left out."""
    return with_type(relax.SeqExpr([block for block in blocks if block.bindings], body), body.ty)


def block_like(block: relax.BindingBlock, bindings: list[relax.Binding]) -> relax.BindingBlock:
    """A block of the same kind, dataflow or not, with these bindings."""
    kind = relax.DataflowBlock if isinstance(block, relax.DataflowBlock) else relax.BindingBlock
    return kind(bindings)


def with_parts(
    func: relax.Function,
    *,
    params: Iterable[relax.Var] | None = None,
    body: relax.Expr | None = None,
    ret_ty: relax.Type | None = None,
) -> relax.Function:
    """The function with other parts; purity and attributes stay."""
    return relax.Function(
        list(func.params if params is None else params),
        func.body if body is None else body,
        func.ret_ty if ret_ty is None else ret_ty,
        func.is_pure,
        func.attrs,
    )


def rebuilt(
    func: tirx.PrimFunc, body: Any = None, params: Sequence[Any] | None = None
) -> tirx.PrimFunc:
    """The PrimFunc with another body or other parameters."""
    return tirx.PrimFunc(
        func.params if params is None else params,
        func.body if body is None else body,
        func.ret_type,
        func.attrs,
    )


def global_var(name: str, ty: relax.Type) -> GlobalVar:
    """A new GlobalVar for a function of this type."""
    return with_type(GlobalVar(name), ty)


def with_functions(
    mod: tvm.IRModule, functions: Mapping[GlobalVar, tvm.ir.BaseFunc]
) -> tvm.IRModule:
    """A module of these functions, with the attributes and global infos of `mod`."""
    return tvm.IRModule(dict(functions), attrs=mod.attrs, global_infos=mod.global_infos)


def global_vars(func: Any) -> list[GlobalVar]:
    """All uses of GlobalVars in a function, or in a part of one."""
    found: list[GlobalVar] = []
    if not isinstance(func, relax.ExternFunc):
        tvm_ffi.structural_walk(func, (GlobalVar, found.append))
    return found


def references(func: Any) -> set[str]:
    """The names of the functions that a function, or a part of one, refers to."""
    return {str(gvar.name_hint) for gvar in global_vars(func)}


def reachable(references: Mapping[str, Collection[str]], names: Iterable[str]) -> set[str]:
    """These functions and all functions that they refer to, directly or indirectly."""
    reached: set[str] = set()
    todo = list(names)
    while todo:
        name = todo.pop()
        if name not in reached and name in references:
            reached.add(name)
            todo += references[name]
    return reached


def variables(*roots: Any) -> list[relax.Var]:
    """All variables inside, each once in order, including symbolic ones and those of types."""
    found: list[relax.Var] = []
    for root in roots:
        tvm_ffi.structural_walk(root, (relax.Var, found.append))
    return list(dict.fromkeys(found))


def free_symbolic_vars(expr: Any) -> list[tirx.Var]:
    """The symbolic variables that the expression uses without defining them, in order."""
    return _in_order(relax.analysis.free_symbolic_vars(expr), expr)


def defined_symbolic_vars(func: relax.Function) -> list[tirx.Var]:
    """The symbolic variables that the function defines, in order."""
    return _in_order(relax.analysis.defined_symbolic_vars(func), func)


def _in_order(found: Iterable[tirx.Var], root: Any) -> list[tirx.Var]:
    """Variables in order of first appearance; TVM's analysis gives them in order of addresses."""
    place = {var: number for number, var in enumerate(variables(root))}
    return sorted(found, key=place.__getitem__)


def defining(variables: Iterable[tirx.Var]) -> list[relax.Var]:
    """Parameters that define symbolic variables: one shape of sizes, then the other numbers."""
    sizes: list[tirx.Var] = []
    numbers: list[tirx.Var] = []
    for var in variables:
        (sizes if str(var.ty.dtype) == "int64" else numbers).append(var)
    return [*numbers, *([relax.Var("s", relax.ShapeType(sizes))] if sizes else [])]


def used_vars(roots: Iterable[Any]) -> set[int]:
    """The hashes of all variables inside: a variable's hash is that of its node."""
    used: set[int] = set()
    for root in roots:
        tvm_ffi.structural_walk(root, (tvm.ir.Var, lambda var: used.add(hash(var))))
    return used


def is_symbolic(var: relax.Var) -> bool:
    """True if the variable stands for a number, which may be a dimension."""
    return isinstance(var.ty, PrimType)


def substitute(root: Any, new: Mapping[Any, Any]) -> Any:
    """The same with other variables (or GlobalVars), in uses and bindings."""
    if not new:
        return root
    return structural_map(
        root, ((relax.Var, GlobalVar), lambda var: new.get(var, var)), order="pre"
    )


def substitute_by_hash(root: Any, new: Mapping[int, Any]) -> Any:
    """The same with variables, given by hash, replaced by expressions; types stay unchanged."""
    return structural_map(root, [(tvm.ir.Var, lambda var: new.get(hash(var), var))])


def with_fresh_variables(func: relax.Function) -> relax.Function:
    """A copy of the function with fresh variables, as two functions must not share any."""
    found = sorted(variables(func), key=lambda var: not is_symbolic(var))
    new: dict[relax.Var, relax.Var] = {}
    for var in found:
        kind = relax.DataflowVar if isinstance(var, relax.DataflowVar) else relax.Var
        # Types contain symbolic variables, which come first.
        new[var] = kind(var.name, var.ty if is_symbolic(var) else substitute(var.ty, new))
    return substitute(func, new)


def equal_types(a: Any, b: Any) -> bool:
    """True if the types are the same, with the same symbolic dimensions."""
    return bool(a.same_as(b)) or bool(tvm_ffi.structural_equal(a, b, map_free_vars=False))


def all_same(new: Collection[Any], old: Collection[Any]) -> bool:
    """True if both have the same node objects in the same order."""
    return len(new) == len(old) and all(a.same_as(b) for a, b in zip(new, old, strict=True))


def same_attrs(new: Any, old: Any) -> bool:
    """True if both are the same attributes object, or both null."""
    return old is None if new is None else old is not None and bool(new.same_as(old))


def same_functions(a: tvm.IRModule, b: tvm.IRModule) -> bool:
    """True if functions are equal; attributes do not count: compiled modules are not comparable."""
    one, other = (tvm.IRModule(dict(mod.functions_items())) for mod in (a, b))
    return bool(tvm_ffi.structural_equal(one, other, map_free_vars=True))


def without_type(call: relax.Call) -> relax.Call:
    """The same call without a type."""
    return relax.Call(call.op, call.args, call.attrs, call.ty_args)


def untyped(expr: Any) -> Any:
    """The same call, tuple or tuple field without types, inside it as well. They must be inferred
    again after an exchange of variables."""
    if isinstance(expr, relax.Call):
        return relax.Call(expr.op, [untyped(arg) for arg in expr.args], expr.attrs, expr.ty_args)
    if isinstance(expr, relax.Tuple):
        return relax.Tuple([untyped(field) for field in expr.fields])
    if isinstance(expr, relax.TupleGetItem):
        return relax.TupleGetItem(untyped(expr.tuple_value), expr.index)
    return expr


def has_negative_dim(ty: Any) -> bool:
    """True if a dimension is negative, which type inference accepts."""
    shape = ty.shape if isinstance(ty, relax.TensorType) else None
    return isinstance(shape, relax.ShapeExpr) and any(
        isinstance(dim, tirx.IntImm) and dim.value < 0 for dim in shape.values
    )


def contradict(ty: Any, other: Any) -> bool:
    """True if no tensor can have both types, since a dimension has different numbers in them."""
    shapes = [t.shape if isinstance(t, relax.TensorType) else None for t in (ty, other)]
    dims = [list(s.values) if isinstance(s, relax.ShapeExpr) else [] for s in shapes]
    return any(
        isinstance(a, tirx.IntImm) and isinstance(b, tirx.IntImm) and a.value != b.value
        for a, b in zip(*dims, strict=False)
    )


def is_prim_op(op: Any) -> bool:
    """True for operators of primitive expressions, as in shapes: `T.shift_left(n, 1)`."""
    return isinstance(op, Op) and not str(op.name).startswith("relax.")


def without_undefined_dims(ty: Any, params: list[Any]) -> Any:
    """The type of a result, without symbolic dimensions that the parameters do not define."""
    defined = {
        var: var for param in params for var in relax.analysis.definable_tir_vars_in_type(param.ty)
    }
    return relax.analysis.erase_to_well_defined(ty, defined, {})
