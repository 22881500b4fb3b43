"""Features of modules: what the modules on which a known bug shows have in common.

A campaign compares the features of all modules on which it meets a known bug: what is common to
them is the pattern of the bug (see `steering`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import tvm
import tvm_ffi
from tvm import relax, tirx
from tvm.ir import Op

from ...compat.ir import GenericConst
from ...generators.traits import Trait
from ...oracles.ingredients import kind_of_call, of_binding
from ...oracles.inspect import attr, relax_functions

_RELAX = "relax."

WITHOUT: Mapping[str, tuple[Trait, ...]] = {
    "several functions": (Trait.SEVERAL_FUNCTIONS, Trait.HELPERS, Trait.TRANSFORM_PARAMS),
    "no main": (Trait.NO_MAIN,),
    "call of a function": (Trait.FUNCTION_CALLS, Trait.HELPERS, Trait.RECURSION),
    "call of a variable": (Trait.CLOSURES, Trait.FUNCTION_VALUES),
    "local function": (Trait.CLOSURES, Trait.CODEGEN),
    "attribute Composite": (Trait.COMPOSITE,),
    "attribute Codegen": (Trait.CODEGEN,),
    "attribute Primitive": (Trait.PRIMITIVE,),
    "attribute num_input": (Trait.NUM_INPUT, Trait.TRANSFORM_PARAMS),
    "attribute tir_var_upper_bound": (Trait.BOUNDED_DIMS,),
    "GlobalVar": (Trait.FUNCTION_VALUES,),
    "ExternFunc": (Trait.CALL_PACKED, Trait.CALL_DPS_PACKED, Trait.EXTERN_FUNCS),
    "If": (Trait.IF, Trait.RECURSION),
    "MatchCast": (Trait.MATCH_CAST, Trait.ANY),
    "AnyType": (Trait.ANY,),
    "PrimType": (Trait.NUMBERS,),
    "ShapeType": (Trait.SHAPE_VALUES,),
    "PrimFunc": (Trait.CALL_TIR, Trait.PRIMITIVE),
    "alias": (Trait.ALIASES,),
    "symbolic dimension": (Trait.SYMBOLIC_SHAPES,),
    "computed dimension": (Trait.COMPOSITE_DIMS,),
    "dimension of 0": (Trait.ZERO_SIZE,),
    "dimension of 1": (Trait.UNIT_DIMS,),
    "unknown shape": (Trait.INCOMPLETE_TYPES, Trait.ANY),
    "tensor on a device": (Trait.VDEVICES,),
    "a parameter is returned": (Trait.TRIVIAL_OUTPUTS,),
    "bindings outside of dataflow": (Trait.NON_DATAFLOW, Trait.IMPURE),
}
"""By feature: the traits without which modules have it less often. No others can be left out, but
for the operators."""


LACKED = ("global info vdevice", "attribute num_input", "PrimFunc", "DataflowBlock")
"""Features that some bugs need a module without. Nearly every module is without most of the others,
which says nothing."""


def operator(feature: str) -> str | None:
    """The operator that stands for itself among the features, as in the table of operators."""
    return feature.removeprefix(_RELAX) if feature.startswith(_RELAX) else None


def features(mod: tvm.IRModule) -> frozenset[str]:
    """The features of a module. It takes as long as a fast pass."""
    functions = dict(relax_functions(mod))
    found = {type(func).__name__ for gvar, func in mod.functions_items() if gvar not in functions}
    for func in functions.values():
        found.update(_of_function(func, functions))
    if sum(attr(func, "Primitive") is None for func in functions.values()) > 1:
        found.add("several functions")
    if all(gvar.name_hint != "main" for gvar in functions):
        found.add("no main")
    found.update(map("global info {}".format, mod.global_infos.keys()))
    found.update(f"no {feature}" for feature in LACKED if feature not in found)
    return frozenset(found)


def _of_function(func: relax.Function, functions: Mapping[Any, Any]) -> Iterator[str]:
    seen: dict[type[Any], list[Any]] = {kind: [] for kind in _KINDS}
    tvm_ffi.structural_walk(func, [(kind, seen[kind].append) for kind in _KINDS])
    for kind in (relax.If, relax.ExternFunc, relax.DataflowBlock, GenericConst):
        if seen[kind]:
            yield kind.__name__
    if seen[relax.BindingBlock]:
        yield "bindings outside of dataflow"
    if len(seen[relax.Function]) > 1:
        yield "local function"
    types: list[Any] = []
    for each in seen[relax.Function]:
        if each.attrs is not None:
            yield from map("attribute {}".format, each.attrs.keys())
        if not each.is_pure:
            yield "impure function"
        if each.body.body in set(each.params):
            yield "a parameter is returned"
        types.extend(param.ty for param in each.params)
    for call in seen[relax.Call]:
        yield from _of_callee(call.op, functions)
    for binding in seen[relax.expr.Binding]:
        types.append(binding.var.ty)
        yield from of_binding(binding)
    for ty in types:
        yield from _of_type(ty)


def _of_callee(callee: Any, functions: Mapping[Any, Any]) -> Iterator[str]:
    if isinstance(callee, Op):
        if str(callee.name).startswith(_RELAX):
            yield str(callee.name)
    else:
        yield kind_of_call(callee, functions)


def _of_type(ty: Any) -> Iterator[str]:
    if isinstance(ty, relax.TupleType):
        for field in ty.fields:
            yield from _of_type(field)
    elif not isinstance(ty, relax.TensorType):
        yield type(ty).__name__
    else:
        yield "unknown dtype" if ty.dtype is None else f"dtype {ty.dtype}"
        if ty.vdevice is not None:
            yield "tensor on a device"
        if not isinstance(ty.shape, relax.ShapeExpr):
            yield "unknown rank" if ty.ndim == -1 else "unknown shape"
            return
        for dim in ty.shape:
            if not isinstance(dim, tirx.IntImm):
                yield "symbolic dimension"
                if not isinstance(dim, tirx.Var):
                    yield "computed dimension"
            elif dim.value < 2:
                yield f"dimension of {dim.value}"


_KINDS: tuple[type[Any], ...] = (
    *(relax.Function, relax.Call, relax.expr.Binding, relax.DataflowBlock, relax.BindingBlock),
    *(relax.If, relax.ExternFunc, GenericConst),
)
"""A node is counted as the first of these that it is."""
