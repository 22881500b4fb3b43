"""The faults for which relaxfuzz was made: the reference passes with what went wrong in TVM."""

from __future__ import annotations

import tvm

from ...oracles.reference.attach_global_symbol import attach_global_symbol
from ...oracles.reference.legalize_ops import legalize_ops
from ...oracles.reference.lift_transform_params import lift_transform_params
from ...oracles.reference.merge_composite_functions import merge_composite_functions
from ...oracles.reference.realize_vdevice import realize_vdevice
from .specimen import Family, Specimen


def attach_leaves_global_vars() -> tvm.transform.Pass:
    """See its record."""
    return attach_global_symbol(leaves_global_vars=True)


def legalize_skips_in_silence() -> tvm.transform.Pass:
    """See its record."""
    return legalize_ops(skips_in_silence=True)


def lift_forgets_returned() -> tvm.transform.Pass:
    """See its record."""
    return lift_transform_params(forgets_returned=True)


def realize_mutates_input() -> tvm.transform.Pass:
    """See its record."""
    return realize_vdevice(mutates_input=True)


def merge_groups_main_only() -> tvm.transform.Pass:
    """See its record."""
    return merge_composite_functions(groups_main_only=True)


def merge_groups_by_shared_nodes() -> tvm.transform.Pass:
    """See its record."""
    return merge_composite_functions(groups_by_shared_nodes=True)


SPECIMENS = (
    Specimen(
        make=attach_leaves_global_vars,
        family=Family.STRUCTURE,
        what="With system_lib_prefix, a PrimFunc gets the prefixed global_symbol, but its "
        "GlobalVar keeps the name: the virtual machine looks for a function that is not there.",
        models="apache/tvm#17176: Cannot find PackedFunc tir_zeros",
        like="AttachGlobalSymbol",
        stages=(),
        needs=("system-lib-prefix", "call-tir"),
        historic=True,
    ),
    Specimen(
        make=legalize_skips_in_silence,
        family=Family.STRUCTURE,
        what="An operator without a legalization, or with unknown shape or dtype, is left in "
        "silence; code generation fails on it much later.",
        models="apache/tvm#17175: CodeGenVM cannot handle this intrinsic tensor_to_shape",
        like="LegalizeOps",
        stages=(),
        historic=True,
    ),
    Specimen(
        make=lift_forgets_returned,
        family=Family.STRUCTURE,
        what="A lifted variable that the function returns directly is not passed on to it.",
        models="apache/tvm#17231: Var is not defined",
        like="LiftTransformParams",
        stages=(),
        needs=("num-input", "trivial-outputs"),
        historic=True,
    ),
    Specimen(
        make=realize_mutates_input,
        family=Family.MUTATION,
        what="The first step changes types in the input module in place: a second run on the same "
        "module leaves hint_on_device.",
        models="apache/tvm#17205: cannot remove the hint_on_device",
        like="RealizeVDevice",
        stages=(),
        historic=True,
    ),
    Specimen(
        make=merge_groups_main_only,
        family=Family.CRASH,
        what="The groups are made for `main` only, then every function is rewritten.",
        models="apache/tvm#17210: Check failed: (it_group != obj2group_.end()) is false",
        like="MergeCompositeFunctions",
        stages=(),
        needs=("composite", "several-functions"),
        historic=True,
    ),
    Specimen(
        make=merge_groups_by_shared_nodes,
        family=Family.CRASH,
        what="One map holds the groups of all functions by node: a ShapeExpr that two functions "
        "share trips its check.",
        models="apache/tvm#17210: the new crash under the first repair, apache/tvm#17212",
        like="MergeCompositeFunctions",
        stages=(),
        needs=("composite", "shared-shapes"),
        historic=True,
    ),
    Specimen(
        make=legalize_ops,
        family=Family.CORRECT,
        what="Refuses modules with a call that no later pass lowers. Its kernels are TVM's "
        "own, with their faults, so what they compute, and of which type, is not asked.",
        models="the reference pass of LegalizeOps",
        like="LegalizeOps",
        stages=(),
        exempt=("sanitized", "signature", "values"),
    ),
    *(
        Specimen(
            make=make,
            family=Family.CORRECT,
            what=what,
            models=f"the reference pass of {like}",
            like=like,
            stages=(),
        )
        for make, like, what in (
            (
                attach_global_symbol,
                "AttachGlobalSymbol",
                "Renames public and private functions, and all that refers to them.",
            ),
            (
                lift_transform_params,
                "LiftTransformParams",
                "Moves bindings from one function to another, and changes what is returned.",
            ),
            (realize_vdevice, "RealizeVDevice", "Retypes variables of all functions."),
            (
                merge_composite_functions,
                "MergeCompositeFunctions",
                "Splits functions and builds others of the parts.",
            ),
        )
    ),
)
