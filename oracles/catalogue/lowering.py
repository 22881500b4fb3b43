"""Contracts of the passes that take a module from dataflow to the form the VM executes."""

from __future__ import annotations

from typing import Any

import tvm
import tvm_ffi
from tvm import relax, tirx

from ...compat import ir
from ...generators.stages import Stage
from ...generators.traits import Trait
from ..contract import (
    Exemption,
    NormalForm,
    PassContract,
    Rejection,
    Relation,
    Sought,
)
from ..inspect import (
    attr,
    bindings_of,
    calls_of,
    has_dataflow,
    has_op_attr,
    local_functions,
    nodes,
    op_name,
    ops_used,
    relax_functions,
)
from ..lowering_gaps import LOWERED_BY
from ..passcall import PassCall
from .common import for_all_operators, one_of

DATAFLOW = (Stage.RAW, Stage.LEGALIZED, Stage.FUSED, Stage.TIR_FUSED)


def _no_dataflow(before: tvm.IRModule, after: tvm.IRModule, call: PassCall) -> str | None:
    """Docstring: "Transform all dataflow structure to non-dataflow version"."""
    if has_dataflow(after):
        return "a DataflowBlock is left"
    return "a DataflowVar is left" if nodes(after, relax.DataflowVar) else None


def _after_to_non_dataflow(mod: tvm.IRModule) -> str | None:
    return "has dataflow blocks: run ToNonDataflow first" if has_dataflow(mod) else None


PURE_OVERRIDES = frozenset(
    f"relax.{op}" for op in ("call_pure_packed", "call_inplace_packed", "invoke_pure_closure")
)


def _forced_pure(before: tvm.IRModule, after: tvm.IRModule, call: PassCall) -> str | None:
    """Docstring: "Activate relax.force_pure on all pure functions in the module and unwrap all
    pure override ops into the normal versions".
    """
    left = sorted(ops_used(after) & PURE_OVERRIDES)
    if left:
        return f"{left[0]} is left"
    functions = [func for _, func in relax_functions(after)] + local_functions(after)
    if any(func.is_pure and not attr(func, "relax.force_pure") for func in functions):
        return "a pure function has no relax.force_pure"
    return None


EXPLICIT_OUTPUTS = ("relax.call_tir", "relax.call_tir_inplace", "relax.call_dps_packed")


def _tensors_allocated(before: tvm.IRModule, after: tvm.IRModule, call: PassCall) -> str | None:
    """Docstring: "Perform explicit tensor allocation for call_tir and call_dps_packed"."""
    left = [op for op in EXPLICIT_OUTPUTS if op in ops_used(after)]
    if left:
        return f"{left[0]} is left"
    expected = sum(map(_outputs_to_allocate, calls_of(before))) + _count(before, ALLOC_TENSOR)
    allocated = _count(after, ALLOC_TENSOR)
    if allocated != expected:
        fewer = "fewer" if allocated < expected else "more"
        return f"{fewer} tensors are allocated than the calls have outputs of their own"
    return None


ALLOC_TENSOR = "relax.builtin.alloc_tensor"


def _count(mod: tvm.IRModule, op: str) -> int:
    return len(calls_of(mod, op))


def _outputs_to_allocate(call: relax.Call) -> int:
    """The number of outputs of a call that need a new tensor (in-place ones need none)."""
    name = op_name(call)
    if name not in EXPLICIT_OUTPUTS:
        return 0
    if name == "relax.call_tir_inplace":
        return sum(1 for index in call.attrs.inplace_indices if index == -1)
    return _tensors_in(call.ty)


def _tensors_in(ty: Any) -> int:
    return sum(map(_tensors_in, ty.fields)) if isinstance(ty, relax.TupleType) else 1


GENERIC_INTRINSICS = tuple(
    f"relax.{op}" for name in ("LowerAllocTensor", "LowerRuntimeBuiltin") for op in LOWERED_BY[name]
)


def _vm_intrinsics(before: tvm.IRModule, after: tvm.IRModule, call: PassCall) -> str | None:
    """Docstring: "Lowering generic intrinsic to VM intrinsics"."""
    for op in sorted(ops_used(after)):
        if op in GENERIC_INTRINSICS or has_op_attr(op, "FLowerBuiltin"):
            return f"{op} is left"
    return None


ARITHMETIC = (
    *(ir.Add, ir.Sub, ir.Mul, ir.Div, ir.Mod, ir.FloorDiv, ir.FloorMod),
    *(ir.Min, ir.Max, ir.EQ, ir.NE, ir.LT, ir.LE, ir.GT, ir.GE),
    *(ir.And, ir.Or, ir.Not, ir.Cast, ir.Select),
)
SKIPPED_TYPES = (relax.ShapeExpr, tvm.ir.Type)


def _outside_of_shapes(root: Any, *kinds: type[Any]) -> list[Any]:
    """Nodes of these types that are not part of a type or a shape."""
    found: list[Any] = []

    def skip(node: Any) -> tvm_ffi.structural.WalkResult:
        return tvm_ffi.structural.WalkResult.SKIP

    def keep(node: Any) -> tvm_ffi.structural.WalkResult:
        found.append(node)
        return tvm_ffi.structural.WalkResult.SKIP

    tvm_ffi.structural_walk(root, [(SKIPPED_TYPES, skip), (kinds, keep)], order="pre")
    return found


def _has_numbers(mod: tvm.IRModule) -> bool:
    """True if the module has expressions of non-integer numbers; the pass computes no others."""
    kinds = (*ARITHMETIC, tirx.FloatImm)
    return any(_outside_of_shapes(func.body, *kinds) for _, func in relax_functions(mod))


def _prim_values_computed(before: tvm.IRModule, after: tvm.IRModule, call: PassCall) -> str | None:
    """Docstring: each expression is replaced by a call to the PrimFunc that computes it."""
    for _, func in relax_functions(after):
        left = _outside_of_shapes(func.body, *ARITHMETIC)
        if left:
            return f"{type(left[0]).__name__} of primitive values is left"
    return None


def _shapes_lowered(before: tvm.IRModule, after: tvm.IRModule, call: PassCall) -> str | None:
    """Docstring: "Lower the symbolic shape"; a match_cast stays, as a binding without a check."""
    for _, func in relax_functions(after):
        if any(
            not isinstance(dim, tirx.IntImm)
            for binding in bindings_of(func.body)
            for dim in _dims(binding.value)
        ):
            return "a symbolic ShapeExpr is left"
    return None


def _dims(value: relax.Expr) -> list[Any]:
    """The dimensions of ShapeExprs that are bound, or are arguments of a call."""
    args = value.args if isinstance(value, relax.Call) else [value]
    return [dim for arg in args if isinstance(arg, relax.ShapeExpr) for dim in arg.values]


def _symbols_attached(before: tvm.IRModule, after: tvm.IRModule, call: PassCall) -> str | None:
    """Docstring: "Attach global_symbol to Relax functions and TIR Primfuncs for codegen"."""
    for gvar, func in after.functions_items():
        if not isinstance(func, relax.Function | tirx.PrimFunc):
            continue
        symbol = attr(func, "global_symbol")
        kind = type(func).__name__
        if symbol is None:
            return f"a {kind} has no global_symbol"
        if symbol != gvar.name_hint:
            return f"the global_symbol of a {kind} differs from its GlobalVar"
    return _prefixed(before, after)


def _prefixed(before: tvm.IRModule, after: tvm.IRModule) -> str | None:
    """tvm/ir/module.h: `system_lib_prefix` is prepended to the names of functions of C linkage."""
    prefix = before.attrs.get("system_lib_prefix") if before.attrs else None
    names = {gvar.name_hint for gvar in after.get_global_vars()}
    for gvar, func in before.functions_items():
        expected = gvar.name_hint
        if isinstance(func, tirx.PrimFunc) and prefix:
            expected = f"{prefix}{expected}"
        if expected not in names:
            return f"a {type(func).__name__} is lost"
    return None


CONTRACTS: tuple[PassContract, ...] = (
    for_all_operators(
        name="ToNonDataflow",
        stages=(*DATAFLOW, Stage.IMPERATIVE),
        post=_no_dataflow,
        normal_form=NormalForm(
            "docstring: 'Transform all dataflow structure to non-dataflow version'"
        ),
    ),
    for_all_operators(
        name="RemovePurityChecking",
        stages=(*DATAFLOW, Stage.IMPERATIVE),
        # Docstring: "Should be used after ToNonDataflow()".
        requires=_after_to_non_dataflow,
        post=_forced_pure,
        normal_form=NormalForm(
            "docstring: 'unwrap all pure override ops into the normal versions'"
        ),
    ),
    for_all_operators(
        name="CallTIRRewrite",
        stages=(Stage.IMPERATIVE, Stage.REWRITTEN),
        post=_tensors_allocated,
        normal_form=NormalForm(
            "docstring: 'Perform explicit tensor allocation for call_tir and call_dps_packed'"
        ),
    ),
    for_all_operators(
        name="LowerRuntimeBuiltin",
        stages=(Stage.KILLED, Stage.BUILTINS_LOWERED),
        relation=Relation.LOWERED,
        post=_vm_intrinsics,
        normal_form=NormalForm("docstring: 'Lowering generic intrinsic to VM intrinsics'"),
        rejections=(
            Rejection(
                r"should have been lowered earlier using the 'relax\.transform\.LowerAllocTensor'",
                "the message names the pass to run first",
            ),
        ),
    ),
    for_all_operators(
        name="ComputePrimValue",
        stages=(Stage.RAW, Stage.IMPERATIVE, Stage.KILLED, Stage.BUILTINS_LOWERED),
        looks_for=Sought(_has_numbers, traits=(Trait.NUMBERS, Trait.COMPOSITE_DIMS, Trait.IF)),
        post=_prim_values_computed,
        normal_form=NormalForm("docstring: 'Compute all R.prim_value instances'"),
    ),
    for_all_operators(
        name="VMShapeLower",
        variants=one_of("VMShapeLower()", "VMShapeLower(emit_err_ctx=False)"),
        stages=(Stage.BUILTINS_LOWERED,),
        relation=Relation.LOWERED,
        post=_shapes_lowered,
        rejections=(
            Rejection(
                r"VMShapeLower do not work for local functions, make sure +to run it after "
                r"LambdaLift",
                "the message names the pass to run first",
            ),
        ),
    ),
    for_all_operators(
        name="AttachGlobalSymbol",
        stages=(Stage.RAW, Stage.LEGALIZED, Stage.TIR_FUSED, Stage.REWRITTEN, Stage.LOWERED),
        post=_symbols_attached,
        exemptions=(
            Exemption(
                "functions",
                "makes private functions public, and puts the system_lib_prefix before names",
                "docstring: 'Attach global_symbol to Relax functions and TIR Primfuncs for '"
                "'codegen'; tvm/ir/module.h, kSystemLibPrefix",
            ),
        ),
    ),
)
