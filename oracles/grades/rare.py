"""Rare properties of modules: forms that neither frontends nor the pipeline make.

Each has one predicate. Some predicates inspect parameters only, because passes of the pipeline make
the same form in bindings: StaticPlanBlockMemory binds storage, whose type is Any, although no
author wrote that. Forms that only minimization produces, e.g. a function that returns a parameter,
do not count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import tvm
from tvm import relax, tirx
from tvm.ir import PrimType

from ...generators.traits import Trait
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

OFFLOADED = ("Primitive", "Codegen", "Composite")
"""Attributes of functions that passes have outlined from others."""

USUAL_DTYPES = frozenset(
    {"bool", "uint8", "int8", "int32", "int64", "bfloat16", "float16", "float32", "float64"}
)

Predicate = Callable[[tvm.IRModule], bool]


def recursion(mod: tvm.IRModule) -> bool:
    """A function calls itself, perhaps indirectly; or a local function uses its own name."""
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
    """A function is bound inside of another, and is not a pattern for a backend."""
    return any(attr(func, "Composite") is None for func in local_functions(mod))


def function_values(mod: tvm.IRModule) -> bool:
    """A function of the module is used as a value or passed as an argument."""
    functions = {gvar for gvar, _ in relax_functions(mod)}
    uses = sum(gvar in functions for gvar in global_vars(mod))
    calls = sum(isinstance(c.op, tvm.ir.GlobalVar) and c.op in functions for c in calls_of(mod))
    return uses > calls or any(isinstance(ty, relax.FuncType) for ty in _params(mod))


def function_calls(mod: tvm.IRModule) -> bool:
    """A function calls another one that no pass has outlined from it."""
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
    """Nothing is known of the type of a parameter."""
    return any(nodes(ty, relax.AnyType) for ty in _params(mod))


def number_params(mod: tvm.IRModule) -> bool:
    """A parameter is a number."""
    return any(isinstance(ty, PrimType) for ty in _params(mod))


def zero_size(mod: tvm.IRModule) -> bool:
    """A tensor has no elements."""
    return any(size <= 0 for size in _static_sizes(mod))


def composite_dims(mod: tvm.IRModule) -> bool:
    """A dimension of a parameter is computed from symbols."""
    return any(
        not isinstance(dim, tirx.IntImm | tirx.Var)
        for ty in _params(mod)
        for each in tensor_types(ty)
        if isinstance(each.shape, relax.ShapeExpr)
        for dim in each.shape
    )


def dtypes(mod: tvm.IRModule) -> bool:
    """A tensor has a dtype that few models use."""
    return any(
        each.dtype is not None and str(each.dtype) not in USUAL_DTYPES for each in _tensors(mod)
    )


def call_tir_with_grad(mod: tvm.IRModule) -> bool:
    """A kernel is paired with the kernel of its gradient."""
    return bool(calls_of(mod, "relax.call_tir_with_grad"))


def open_params(mod: tvm.IRModule) -> bool:
    """The shape or the dtype of a parameter is not known."""
    tensors = (each for ty in _params(mod) for each in tensor_types(ty))
    return any(each.shape is None or each.dtype is None for each in tensors)


def is_contrived(mod: tvm.IRModule) -> bool:
    """True for a module that no frontend produces."""
    return any(holds(mod) for holds in CONTRIVED)


def _params(mod: tvm.IRModule) -> Iterator[Any]:
    return (param.ty for _, func in relax_functions(mod) for param in func.params)


def _static_sizes(mod: tvm.IRModule) -> Iterator[int]:
    for each in _tensors(mod):
        if isinstance(each.shape, relax.ShapeExpr):
            yield from (int(d.value) for d in each.shape if isinstance(d, tirx.IntImm))


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
"""Predicates by rare property, named as the trait if there is one."""

CONTRIVED: tuple[Predicate, ...] = (
    *(recursion, closures, function_values),
    *(unknown_rank, number_params, open_params, zero_size),
)
"""Predicates of modules that no frontend makes. `relax.frontend.nn` has parameters of type Any."""


def rare(mod: tvm.IRModule) -> tuple[str, ...]:
    """The names of the rare properties of a module."""
    return tuple(str(name) for name, holds in READ.items() if holds(mod))
