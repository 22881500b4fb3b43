"""What modules may have of values that are no tensors, as predicates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tvm
import tvm_ffi
from tvm import relax
from tvm.ir import Call, GlobalVar, PrimType, TupleType

from relaxfuzz.compat import ir

Predicate = Callable[[tvm.IRModule], bool]


def functions(mod: tvm.IRModule) -> list[relax.Function]:
    """The Relax functions of a module."""
    return [func for func in mod.functions.values() if isinstance(func, relax.Function)]


def nodes(mod: tvm.IRModule, kind: type) -> list[Any]:
    """The nodes of a class in the Relax functions, those in branches and local functions too."""
    found: list[Any] = []
    for func in functions(mod):
        tvm_ffi.structural_walk(func, (kind, found.append))
    return found


def calls(mod: tvm.IRModule, name: str) -> list[Call]:
    """The calls of an operator."""
    op = tvm.ir.Op.get(name)
    return [call for call in nodes(mod, Call) if call.op == op]


def some(of: Callable[[tvm.IRModule], list[Any]], shown: Callable[[Any], bool]) -> Predicate:
    """Whether any of these nodes shows something."""
    return lambda mod: any(map(shown, of(mod)))


def called(name: str, shown: Callable[[Call], bool]) -> Predicate:
    """Whether any call of the operator shows something."""
    return some(lambda mod: calls(mod, name), shown)


def of_function(shown: Callable[[relax.Function], bool]) -> Predicate:
    """Whether any function of the module shows something."""
    return some(functions, shown)


def local(shown: Callable[[relax.Function], bool]) -> Predicate:
    """Whether any function inside a function shows something."""
    return some(
        lambda mod: [b.value for b in bound(mod)],
        lambda value: isinstance(value, relax.Function) and shown(value),
    )


def bound(mod: tvm.IRModule) -> list[relax.VarBinding]:
    """The bindings of variables."""
    return nodes(mod, relax.VarBinding)


def takes_shape_variable(name: str) -> Predicate:
    """An operand is a shape in a variable."""
    return called(
        name,
        lambda call: any(isinstance(a, relax.Var) and is_shape(a.ty) for a in call.args),
    )


def is_shape(ty: relax.Type) -> bool:
    return isinstance(ty, relax.ShapeType)


def parameter_of(kind: type) -> Predicate:
    """A parameter of this class of types."""
    return of_function(lambda func: any(isinstance(p.ty, kind) for p in func.params))


def function_in_variable(mod: tvm.IRModule) -> bool:
    """A variable is bound to a function of the module."""
    return any(isinstance(binding.value, GlobalVar) for binding in bound(mod))


def type_names_variable(mod: tvm.IRModule) -> bool:
    """The shape of a tensor is a variable."""
    return any(
        isinstance(b.var.ty, relax.TensorType) and isinstance(b.var.ty.shape, relax.Var)
        for b in bound(mod)
    )


def output_has_dim_of_its_own(call: Call) -> bool:
    """A dim of the output that no operand has."""
    given = relax.analysis.tir_vars_in_type(call.args[1].ty)
    needed = relax.analysis.tir_vars_in_type(call.ty_args[0])
    return any(not any(var.same_as(known) for known in given) for var in needed)


def cast_of(shown: Callable[[relax.Type], bool]) -> Predicate:
    """A match_cast to such a type."""
    return lambda mod: any(shown(cast.ty) for cast in nodes(mod, relax.MatchCast))


def is_nested(ty: relax.Type) -> bool:
    """A tuple with a tuple inside."""
    return isinstance(ty, TupleType) and any(isinstance(f, TupleType) for f in ty.fields)


def holds(ty: relax.Type, kind: type) -> bool:
    """A tuple with a field, or a field of a field, of this class of types."""
    if isinstance(ty, TupleType):
        return any(isinstance(f, kind) or holds(f, kind) for f in ty.fields)
    return False


def joins_variable(mod: tvm.IRModule) -> bool:
    """concat or stack of a tuple that is no literal one."""
    return any(
        isinstance(call.args[0], relax.Var)
        for name in ("relax.concat", "relax.stack")
        for call in calls(mod, name)
    )


def joins_parameter(mod: tvm.IRModule) -> bool:
    """concat of a tuple that is a parameter."""
    params = [param for func in functions(mod) for param in func.params]
    return any(
        any(call.args[0].same_as(param) for param in params) for call in calls(mod, "relax.concat")
    )


def branch(shown: Callable[[relax.SeqExpr], bool]) -> Predicate:
    """An If with such a branch."""
    return some(lambda mod: nodes(mod, relax.If), lambda node: shown(node.true_branch))


def inside(seq: relax.SeqExpr, kind: type) -> list[Any]:
    """The values of this class that the bindings of a body have."""
    return [b.value for block in seq.blocks for b in block.bindings if isinstance(b.value, kind)]


def prints(seq: relax.SeqExpr) -> bool:
    return any(call.op == tvm.ir.Op.get("relax.print") for call in inside(seq, Call))


def captures(func: relax.Function) -> bool:
    return bool(relax.analysis.free_vars(func))


def has(*names: str, without: tuple[str, ...] = ()) -> Callable[[relax.Function], bool]:
    """Whether a function has some attributes and lacks others."""
    return lambda func: (
        all(name in (func.attrs or {}) for name in names)
        and not any(name in (func.attrs or {}) for name in without)
    )


def composite_in_composite(func: relax.Function) -> bool:
    """Both attributed Composite."""
    return has("Composite")(func) and any(map(has("Composite"), inside(func.body, relax.Function)))


def wider_parameter(mod: tvm.IRModule) -> bool:
    """A call whose operand's shape is known, and whose function knows no shape."""
    return any(
        isinstance(call.op, GlobalVar)
        and any(
            isinstance(param, relax.TensorType)
            and param.shape is None
            and isinstance(arg.ty, relax.TensorType)
            and isinstance(arg.ty.shape, relax.ShapeExpr)
            for param, arg in zip(call.op.ty.params or (), call.args, strict=True)
        )
        for call in nodes(mod, Call)
    )


def number_among_operands(call: Call) -> bool:
    """A kernel receives a number."""
    return any(isinstance(ty, PrimType) for ty in call.args[1].ty.fields)


def one_output_of_several(mod: tvm.IRModule) -> bool:
    """Of a kernel's outputs exactly one is asked for."""
    op = tvm.ir.Op.get("relax.call_tir")
    items = nodes(mod, relax.TupleGetItem)
    for binding in bound(mod):
        value = binding.value
        if isinstance(value, Call) and value.op == op and isinstance(value.ty, TupleType):
            asked = [item for item in items if item.tuple_value.same_as(binding.var)]
            if len(asked) == 1:
                return True
    return False


def one_name(mod: tvm.IRModule) -> bool:
    """Several variables of one name hint."""
    names = [str(binding.var.name) for binding in bound(mod)]
    return len(set(names)) < len(names)


def string_among_operands(call: Call) -> bool:
    """A packed function receives a string."""
    return any(isinstance(arg, ir.STRINGS) for arg in call.args)
