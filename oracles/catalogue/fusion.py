"""Contracts of the passes that group calls and make one TensorIR function of each group."""

from __future__ import annotations

from math import prod

import tvm
from tvm import relax, tirx

from ...compat import ir
from ...generators.choices import Choices
from ...generators.stages import Stage
from ..contract import Exemption, NormalForm, PassContract, Rejection, Sought
from ..inspect import (
    attr,
    calls_of,
    global_vars,
    is_public,
    nodes,
    op_name,
    ops_used,
    public_functions,
    relax_functions,
    static,
)
from ..passcall import PassCall
from .common import all_of, for_all_operators, none_left, spelled

MAX_DEPTH = "relax.FuseOps.max_depth"
MAX_FUSED_OPS = 256
"""docs/arch/fusion.rst: "A group cannot exceed kMaxFusedOps (256) nodes"."""


def _fuse_ops(c: Choices, mod: tvm.IRModule) -> PassCall:
    level = c.pick([None, 0, 1, 2, 4])
    depth = c.pick([None, None, 1, 2, 3, 5])
    config = {} if depth is None else {MAX_DEPTH: depth}
    return PassCall(spelled("FuseOps", fuse_opt_level=level), config=config)


def _grouped(before: tvm.IRModule, after: tvm.IRModule, call: PassCall) -> str | None:
    """docs/arch/fusion.rst: each group is a private function with Primitive that is called."""
    known = {gvar.name_hint for gvar in before.get_global_vars()}
    new = {g.name_hint: f for g, f in after.functions_items() if g.name_hint not in known}
    if not known <= {gvar.name_hint for gvar in after.get_global_vars()}:
        return "a function is lost"
    used = {g.name_hint for g in global_vars(after)}
    for name, func in new.items():
        if not isinstance(func, relax.Function) or is_public(func):
            return "a new function is no private Relax function"
        if not attr(func, "Primitive"):
            return "a group's function has no attribute Primitive"
        if name not in used:
            return "a group's function is called nowhere"
        if len(calls_of(func)) > call.config.get(MAX_DEPTH, MAX_FUSED_OPS):
            return "a group holds more calls than max_depth allows"
    if "fuse_opt_level=0" in call.expr and new:
        return "groups although fuse_opt_level is 0"
    return None


def _has_groups(mod: tvm.IRModule) -> bool:
    functions = [func for _, func in relax_functions(mod)]
    return any(attr(func, "Primitive") and not attr(func, "Codegen") for func in functions)


def _reshapes(before: tvm.IRModule, after: tvm.IRModule, call: PassCall) -> str | None:
    """Docstring and tvm/relax/transform.h: "Convert all reshape-like call_tir whose corresponding
    binding vars are DataflowVars to relax.reshape"; "Operates only in dataflow blocks".
    """
    for func in (func for _, func in relax_functions(after)):
        for block in nodes(func, relax.DataflowBlock):
            for binding in block.bindings:
                if isinstance(binding.var, relax.DataflowVar) and _reshape_like(after, binding):
                    return "a reshape-like call_tir is left in a dataflow block"
    if _outside_of_dataflow(before) != _outside_of_dataflow(after):
        return "a relax.reshape appears outside of dataflow blocks"
    return None


def _reshape_like(mod: tvm.IRModule, binding: relax.Binding) -> bool:
    """True for a call of one tensor that keeps dtype and number of elements; shapes are static."""
    value = binding.value
    if op_name(value) != "relax.call_tir" or len(value.args[1].fields) != 1:
        return False
    given, result = value.args[1].fields[0].ty, value.ty_args[0]
    return (
        all(isinstance(ty, relax.TensorType) and static(ty) for ty in (given, result))
        and given.dtype == result.dtype
        and _elements(given) == _elements(result)
        and _has_reshape_pattern(mod[value.args[0]])
    )


def _has_reshape_pattern(func: tirx.PrimFunc) -> bool:
    """True according to TVM's analysis, which raises for a PrimFunc without a root block."""
    return isinstance(func.body, ir.SBlockRealize) and relax.analysis.has_reshape_pattern(func)


def _elements(ty: relax.TensorType) -> int:
    return prod(int(dim) for dim in ty.shape.values)


def _outside_of_dataflow(mod: tvm.IRModule) -> int:
    inside = sum(len(calls_of(b, RESHAPE)) for b in nodes(mod, relax.DataflowBlock))
    return len(calls_of(mod, RESHAPE)) - inside


RESHAPE = "relax.reshape"


def _in_place(before: tvm.IRModule, after: tvm.IRModule, call: PassCall) -> str | None:
    """Docstring: operators "that can be done in-place", on values the caller no longer holds."""
    known = len(calls_of(before, INPLACE))
    if len(calls_of(after, INPLACE)) == known:
        return None
    for _, func in relax_functions(after):
        params = set(func.params)
        for node in calls_of(func.body, INPLACE):
            for index in node.attrs.inplace_indices:
                if index == -1:
                    continue
                overwritten = node.args[1].fields[index]
                if overwritten in params and not known:
                    return "an operator overwrites a parameter"
                if isinstance(overwritten, ir.GenericConst) and not known:
                    return "an operator overwrites a constant"
    return None


INPLACE = "relax.call_tir_inplace"


CONTRACTS: tuple[PassContract, ...] = (
    for_all_operators(
        name="FuseOps",
        variants=_fuse_ops,
        stages=(Stage.ANNOTATED, Stage.LEGALIZED, Stage.RAW, Stage.FUSED),
        post=_grouped,
    ),
    for_all_operators(
        name="FuseTIR",
        stages=(Stage.FUSED, Stage.ANNOTATED, Stage.TIR_FUSED),
        # Docstring and docs/arch/fusion.rst: one PrimFunc for each group of call_tir.
        post=none_left("a Relax function with attribute Primitive", _has_groups),
        exemptions=(
            Exemption(
                "functions",
                "a group that is public becomes a private PrimFunc",
                "tests/python/relax/test_transform_fuse_tir.py, test_symbolic_shape_aware_fuse: "
                "so are the module before and the expected one",
                when=lambda mod, call: any(
                    attr(func, "Primitive") is not None for _, func in public_functions(mod)
                ),
            ),
        ),
        rejections=(
            Rejection(
                "Tensor constants are not supported in primitive functions", "the message itself"
            ),
            Rejection(
                "The param type of PrimFunc is expected to be Tensor, PrimExpr, or ShapeExpr",
                "the message itself, a TypeError on a primitive function with another parameter",
            ),
            Rejection(
                "Only call_tir and call_tir_inplace are supported in primitive function",
                "the message itself, on an operator that LegalizeOps has not lowered",
            ),
            Rejection(
                r"Only schedulable functions \(whose body is the root block\) can be fused",
                "the message itself, on a PrimFunc without a root block",
            ),
        ),
        inside=("ExpandTupleArguments", "RemoveUnusedParameters", "DeadCodeElimination"),
    ),
    PassContract(
        name="FuseTransposeMatmul",
        stages=(Stage.RAW,),
        looks_for=all_of("relax.permute_dims", "relax.matmul"),
    ),
    PassContract(
        name="RewriteDataflowReshape",
        stages=(Stage.TIR_FUSED, Stage.LEGALIZED, Stage.IMPERATIVE),
        looks_for=Sought(
            lambda mod: "relax.call_tir" in ops_used(mod),
            ("reshape", "flatten", "expand_dims", "squeeze"),
        ),
        post=_reshapes,
        normal_form=NormalForm(
            "docstring: 'Convert all reshape-like call_tir to VM reshape operator call'"
        ),
    ),
    PassContract(
        name="DataflowUseInplaceCalls",
        stages=(Stage.RAW, Stage.LEGALIZED),
        post=_in_place,
    ),
)
