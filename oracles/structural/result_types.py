"""The type of a function's result, and the operator to blame if a pass changes it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import tvm_ffi
from tvm import relax, tirx
from tvm.relax.analysis import type_base_check

from ..inspect import bindings_of, nodes, op_name


def says_as_much(old: relax.Type, new: relax.Type) -> bool:
    """True if the new type is at least as precise as the old one, field by field for tuples.

    Dimensions may have new variables or another spelling, and TVM's check cannot tell these from
    different dimensions. So only the known sizes decide.
    """
    if isinstance(old, relax.TupleType) and isinstance(new, relax.TupleType):
        return len(old.fields) == len(new.fields) and all(map(says_as_much, old.fields, new.fields))
    return int(type_base_check(old, new)) == 3 or _known(old) == _known(new)


def since(old: relax.Function, new: relax.Function) -> str | None:
    """The first operator that is gone, or whose result contradicts its old type."""
    made = [(str(binding.var.name), binding.var.ty) for binding in bindings_of(new)]
    # A new variable may have the name of an old one, and an old variable that of another.
    names = Counter(name for name, _ in made)
    before = Counter(str(binding.var.name) for binding in bindings_of(old))
    after = {name: ty for name, ty in made if names[name] == 1 and before[name] <= 1}
    gone: dict[relax.Var, str] = {}
    for binding in bindings_of(old):
        value = binding.value
        operator = op_name(value)
        var = binding.var
        ty = after.get(str(var.name))
        if ty is None:
            if operator is not None:
                gone[var] = operator
        elif int(type_base_check(var.ty, ty)) == 0 and _known(var.ty) != _known(ty):
            made_from = [gone[operand] for operand in nodes(value, relax.Var) if operand in gone]
            return next(iter(made_from), operator)
    results = list(_retyped(old.body.body, old.ret_ty, new.ret_ty))
    made_of = _made_of(old, [result for result, _ in results])
    blamed = [operator for var, operator in gone.items() if var in made_of]
    if len(blamed) > 1 and len(results) == 1:
        # If an operator's dtype does not depend on its operands, no earlier operator is to blame.
        ((result, ty),) = results
        last = {b.var: b.value for b in bindings_of(old)}.get(result)
        dtypes = {_own_dtype(last), _dtype(ty)}
        if len(dtypes) == 2 and None not in dtypes:
            blamed = [str(op_name(last))]
    return blamed[0] if len(blamed) == 1 else None


def _retyped(
    result: relax.Expr, old: relax.Type, new: relax.Type
) -> Iterator[tuple[relax.Expr, relax.Type]]:
    """Yields the fields of a result that have another type, each with its new type."""
    fields = [getattr(part, "fields", ()) for part in (result, old, new)]
    if isinstance(result, relax.Tuple) and len(set(map(len, fields))) == 1:
        for parts in zip(*fields, strict=True):
            yield from _retyped(*parts)
    elif not says_as_much(old, new):
        yield result, new


def inferred_wrongly(old: Any, new: Any) -> str | None:
    """The operator to blame instead of the pass, or None.

    Type inference gives this operator a type that contradicts the old one, because less is known
    about its operands.
    """
    if not isinstance(old, relax.Function) or not isinstance(new, relax.Function):
        return None
    before = {str(binding.var.name): binding for binding in bindings_of(old)}
    for binding in bindings_of(new):
        was = before.get(str(binding.var.name))
        if was is None or int(type_base_check(was.var.ty, binding.var.ty)) != 0:
            continue
        call, like = binding.value, was.value
        operator = op_name(call)
        if (
            operator is not None
            and operator == op_name(like)
            and tvm_ffi.structural_equal(call.attrs, like.attrs)
            and len(call.args) == len(like.args)
            and all(
                int(type_base_check(arg.ty, other.ty)) == 3
                for arg, other in zip(call.args, like.args, strict=True)
            )
        ):
            return operator
        return None
    return None


def _own_dtype(value: Any) -> str | None:
    """The dtype of an operator's result, if it does not depend on the dtypes of its operands."""
    if op_name(value) is None or any(isinstance(arg.ty, relax.TupleType) for arg in value.args):
        return None
    args = [
        relax.Var("x", relax.TensorType(arg.ty.shape, ndim=-1 if arg.ty.shape else arg.ty.ndim))
        if isinstance(arg.ty, relax.TensorType)
        else arg
        for arg in value.args
    ]
    try:
        return _dtype(relax.BlockBuilder().normalize(relax.Call(value.op, args, value.attrs)).ty)
    except Exception:
        return None


def _dtype(ty: Any) -> str | None:
    known = isinstance(ty, relax.TensorType) and ty.dtype is not None
    return str(ty.dtype) if known else None


def _made_of(func: relax.Function, results: list[relax.Expr]) -> set[relax.Var]:
    """The variables that these results of the function are computed from."""
    values = {binding.var: binding.value for binding in bindings_of(func)}
    found: set[relax.Var] = set()
    left = [var for result in results for var in nodes(result, relax.Var)]
    while left:
        var = left.pop()
        if var not in found:
            found.add(var)
            left += nodes(values[var], relax.Var) if var in values else []
    return found


def _known(ty: Any) -> object:
    if isinstance(ty, relax.TensorType):
        shape = ty.shape
        dims = None
        if isinstance(shape, relax.ShapeExpr):
            dims = tuple(int(d) if isinstance(d, tirx.IntImm) else "?" for d in shape.values)
        return "tensor", ty.ndim, str(ty.dtype), dims
    if isinstance(ty, relax.TupleType):
        return tuple(_known(field) for field in ty.fields)
    return type(ty).__name__
