"""What keeps a module from being plain: forms that neither frontends nor the pipeline make.

Each has one predicate. They look at parameters where passes of the pipeline leave the same in
bindings: StaticPlanBlockMemory binds storage, whose type is Any, and nobody has written that. What
minimization alone leads to, e.g. a function that returns a parameter, is not among them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import tvm
import tvm_ffi
from tvm import relax
from tvm.ir import PrimType

from ...compat.script import read_script
from ...generators.stages import step
from ...generators.traits import Trait
from .. import keys
from ..inspect import (
    attr,
    bindings_of,
    calls_of,
    global_vars,
    has_recursive_local,
    local_functions,
    nodes,
    relax_functions,
    tensor_types,
)
from ..violation import Journal, silent

OFFLOADED = ("Primitive", "Codegen", "Composite")
"""Attributes of functions that passes have cut out of others."""

USUAL_DTYPES = frozenset(
    {"bool", "uint8", "int8", "int32", "int64", "bfloat16", "float16", "float32", "float64"}
)

Predicate = Callable[[tvm.IRModule], bool]


def recursion(mod: tvm.IRModule) -> bool:
    """A function calls itself, perhaps by way of others; or a local one uses its own name."""
    if has_recursive_local(mod):
        return True
    calls = {gvar: set(global_vars(func)) for gvar, func in relax_functions(mod)}
    for gvar in calls:
        reached: set[Any] = set()
        waiting = [*calls[gvar]]
        while waiting:
            if (other := waiting.pop()) not in reached:
                reached.add(other)
                waiting += calls.get(other, ())
        if gvar in reached:
            return True
    return False


def closures(mod: tvm.IRModule) -> bool:
    """A function is bound inside of another, and is no pattern that a backend takes over."""
    return any(attr(func, "Composite") is None for func in local_functions(mod))


def function_values(mod: tvm.IRModule) -> bool:
    """A function of the module is used as a value, or taken as an argument."""
    functions = {gvar for gvar, _ in relax_functions(mod)}
    uses = sum(gvar in functions for gvar in global_vars(mod))
    calls = sum(isinstance(c.op, tvm.ir.GlobalVar) and c.op in functions for c in calls_of(mod))
    return uses > calls or any(isinstance(ty, relax.FuncType) for ty in _params(mod))


def function_calls(mod: tvm.IRModule) -> bool:
    """A function calls another one that no pass has cut out of it."""
    functions = dict(relax_functions(mod))
    return any(
        isinstance(call.op, tvm.ir.GlobalVar)
        and (callee := functions.get(call.op)) is not None
        and not any(attr(callee, name) for name in OFFLOADED)
        for call in calls_of(mod)
    )


def incomplete_types(mod: tvm.IRModule) -> bool:
    """The shape or the dtype of a tensor is not known."""
    return any(each.shape is None or each.dtype is None for each in _tensors(mod))


def unknown_rank(mod: tvm.IRModule) -> bool:
    """The rank of a tensor or of a shape is not known."""
    return any(each.ndim == -1 for each in (*_tensors(mod), *nodes(mod, relax.ShapeType)))


def any_params(mod: tvm.IRModule) -> bool:
    """Of a parameter nothing is known."""
    return any(nodes(ty, relax.AnyType) for ty in _params(mod))


def number_params(mod: tvm.IRModule) -> bool:
    """A parameter is a number."""
    return any(isinstance(ty, PrimType) for ty in _params(mod))


def zero_size(mod: tvm.IRModule) -> bool:
    """A tensor has no elements."""
    return any(
        isinstance(dim, tvm.tirx.IntImm) and dim.value == 0
        for each in _tensors(mod)
        if isinstance(each.shape, relax.ShapeExpr)
        for dim in each.shape
    )


def composite_dims(mod: tvm.IRModule) -> bool:
    """A dimension of a parameter is computed of symbols."""
    return any(
        not isinstance(dim, tvm.tirx.IntImm | tvm.tirx.Var)
        for ty in _params(mod)
        for each in tensor_types(ty)
        if isinstance(each.shape, relax.ShapeExpr)
        for dim in each.shape
    )


def dtypes(mod: tvm.IRModule) -> bool:
    """A tensor has a dtype that hardly any model has."""
    return any(
        each.dtype is not None and str(each.dtype) not in USUAL_DTYPES for each in _tensors(mod)
    )


def call_tir_with_grad(mod: tvm.IRModule) -> bool:
    """A kernel comes with the kernel of its gradient."""
    return bool(calls_of(mod, "relax.call_tir_with_grad"))


def not_tvmscript(mod: tvm.IRModule) -> bool:
    """The module cannot be written as TVMScript and read back."""
    mod = keys.comparable(mod)
    try:
        again = read_script(mod.script(show_meta=True))
    except Exception:
        return True
    return not tvm_ffi.structural_equal(mod, again, map_free_vars=True)


def not_legalized(mod: tvm.IRModule) -> bool:
    """LegalizeOps, with which every pipeline begins, raises."""
    try:
        step(mod, "LegalizeOps")
    except Exception:
        return True
    return False


def _params(mod: tvm.IRModule) -> Iterator[Any]:
    return (param.ty for _, func in relax_functions(mod) for param in func.params)


def _tensors(mod: tvm.IRModule) -> Iterator[relax.TensorType]:
    for ty in (*_params(mod), *(binding.var.ty for binding in bindings_of(mod))):
        yield from tensor_types(ty)


UNKNOWN_RANK = "unknown-rank"

READ: Mapping[str, Predicate] = {
    Trait.RECURSION: recursion,
    Trait.CLOSURES: closures,
    Trait.FUNCTION_VALUES: function_values,
    Trait.FUNCTION_CALLS: function_calls,
    Trait.INCOMPLETE_TYPES: incomplete_types,
    UNKNOWN_RANK: unknown_rank,
    Trait.ANY: any_params,
    Trait.NUMBERS: number_params,
    Trait.ZERO_SIZE: zero_size,
    Trait.COMPOSITE_DIMS: composite_dims,
    Trait.DTYPES: dtypes,
    Trait.CALL_TIR_WITH_GRAD: call_tir_with_grad,
}
"""By name of what is rare, that of a trait where there is one: what is seen in the module."""

TRIED: Mapping[str, Predicate] = {
    "not-tvmscript": not_tvmscript,
    "not-legalized": not_legalized,
}
"""What is tried. TVM may die of it."""

assert not READ.keys() & TRIED.keys(), "two predicates bear the same name"


def rare(mod: tvm.IRModule, journal: Journal = silent, *, tried: bool = True) -> tuple[str, ...]:
    """The names of what is rare in a module.

    Args:
        tried: run code of TVM that may crash.
    """
    found = [str(name) for name, holds in READ.items() if holds(mod)]
    for name, holds in TRIED.items() if tried else ():
        journal(f"is it {name}?")
        if holds(mod):
            found.append(name)
    return tuple(found)
