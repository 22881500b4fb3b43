"""Contracts of the TensorIR passes that bind targets, or split and call host functions."""

from __future__ import annotations

import tvm

from ...compat import ir
from ...generators.prim_funcs.expressions import FLOATS8
from ...generators.stages import Stage
from ..contract import Exemption, NormalForm, PassContract, Rejection, Relation, Sought
from ..inspect import attr, prim_funcs
from ..passcall import PassCall
from .common import one_of
from .tensorir_common import (
    ANYWHERE,
    WITH_TARGET,
    WITHOUT_BLOCKS,
    between,
    dynamic_pieces,
    in_place,
    legalized,
    nodes_of,
    with_target,
)

BEHIND = (Stage.PACKED, Stage.HOST_LOWERED)
"""Stages whose functions take handles, though they are called with the same arguments as before."""


def _bound(before: tvm.IRModule, after: tvm.IRModule, call: PassCall) -> str | None:
    """Docstring: "Annotate a PrimFunc with a given target"."""
    if any(attr(func, "target") is None for _, func in prim_funcs(after)):
        return "a PrimFunc has no target"
    return None


def _entry(before: tvm.IRModule, after: tvm.IRModule, call: PassCall) -> str | None:
    """Docstring: "Set a PrimFunc as the entry point if it is only function in IRModule"."""
    functions = list(after.functions.values())
    if len(functions) == 1 and not attr(functions[0], "tirx.is_entry_func"):
        return "the only PrimFunc is no entry point"
    return None


def _merged(mod: tvm.IRModule) -> str | None:
    """The pass refuses a second one: "Only one dynamic shared memory allocation is allowed"."""
    if dynamic_pieces(mod) > 1:
        return "dynamic shared memory in pieces: MergeSharedMemoryAllocations comes first"
    return with_target(mod)


def _stores(mod: tvm.IRModule, dtype: str) -> bool:
    """True if a buffer is of this dtype."""
    declared = nodes_of(mod, ir.DeclBuffer, ir.AllocBuffer)
    return any(str(stmt.buffer.ty.dtype).startswith(dtype) for stmt in declared)


def _casts_to_int64(mod: tvm.IRModule, call: PassCall) -> bool:
    """True if a float is cast to an integer, since its values may exceed the range of int32."""
    return any(
        str(cast.ty.dtype).startswith("int64") and "float" in str(cast.value.ty.dtype)
        for cast in nodes_of(mod, ir.Cast)
    )


CONTRACTS: tuple[PassContract, ...] = (
    PassContract(
        name="tirx.BindTarget",
        variants=one_of(
            "tirx.transform.BindTarget(tvm.target.Target('llvm', host='llvm'))",
            "tirx.transform.BindTarget(tvm.target.Target('c'))",
        ),
        stages=ANYWHERE,
        post=_bound,
        normal_form=NormalForm(
            "docstring: 'Annotate a PrimFunc with a given target', which is asked for"
        ),
        exemptions=(
            Exemption(
                "attributes",
                "sets the target, also in place of another one and of tirx.is_host_func",
                "docstring: 'Annotate a PrimFunc with a given target'; tvm/tirx/function.h, "
                "kIsHostFunc: 'mutually exclusive with kTarget'",
            ),
        ),
    ),
    PassContract(
        name="tirx.AnnotateEntryFunc",
        variants=in_place("tirx.transform.AnnotateEntryFunc()"),
        stages=ANYWHERE,
        post=_entry,
    ),
    PassContract(
        name="tirx.VerifyMemory",
        stages=WITH_TARGET,
        rejections=(
            Rejection(
                r"Memory verification failed",
                "docstring: 'Verify if func contains illegal host side direct memory access'",
            ),
        ),
    ),
    PassContract(
        name="tirx.ForceNarrowIndexToInt32",
        stages=WITHOUT_BLOCKS,
        normal_form=NormalForm(
            "docstring: 'Force narrow down indexing expressions and integer buffers to int32 dtype'"
        ),
        exemptions=(
            Exemption(
                "signature",
                "numbers among the parameters become int32",
                "docstring: 'Force narrow down indexing expressions and integer buffers to int32 "
                "dtype'",
            ),
            Exemption(
                "values",
                "an integer of 64 bits that a float is cast to becomes one of 32, of another range",
                "docstring: 'Force narrow down [...] This pass should not be used in default "
                "cases'; src/tirx/transform/force_narrow_index_to_i32.cc: 'ignore the enabled "
                "condition and always rewrite i64'",
                _casts_to_int64,
            ),
        ),
        rejections=(
            Rejection(
                r"The buffer .* has dtype \S*int64",
                "docstring: 'This pass should not be used in default cases'; the message names the "
                "buffer of int64",
            ),
        ),
    ),
    # The messages of these name the attribute that BindTarget sets.
    PassContract(
        name="tirx.LowerIntrin",
        requires=with_target,
        normal_form=NormalForm("docstring: 'Lower target specific intrinsic calls'"),
        rejections=(
            Rejection(r"Unsupported type in Metal", "the message names what has no such type"),
        ),
        stages=(*between(Stage.LOOPS_LOWERED, Stage.SPLIT), *BEHIND),
    ),
    PassContract(
        name="tirx.SplitHostDevice",
        requires=_merged,
        variants=in_place("tirx.transform.SplitHostDevice()"),
        stages=between(Stage.ANNOTATED_ENTRY, Stage.SPLIT),
    ),
    PassContract(
        name="tirx.MakePackedAPI",
        requires=with_target,
        stages=(Stage.SPLIT,),
        # Parameters become handles, but the function is called as before.
        relation=Relation.LOWERED,
        exemptions=(
            Exemption(
                "attributes",
                "the function runs on the host: its target is the host's",
                "tvm/tirx/build.py, docstring of split_host_device_mods: host functions are "
                "'Public entry functions: use `calling_conv: 1` (kCPackedFunc)'",
            ),
        ),
    ),
    PassContract(
        name="tirx.FP8StorageLegalize",
        requires=legalized("float8"),
        looks_for=Sought(lambda mod: _stores(mod, "float8"), dtypes=FLOATS8),
        stages=BEHIND,
        relation=Relation.LOWERED,
        normal_form=NormalForm("docstring: 'Legalize fp8 storage types to u8'"),
    ),
    PassContract(
        name="tirx.BF16StorageLegalize",
        requires=legalized("bfloat16"),
        looks_for=Sought(lambda mod: _stores(mod, "bfloat16"), dtypes=("bfloat16",)),
        stages=BEHIND,
        relation=Relation.LOWERED,
        normal_form=NormalForm("docstring: 'Legalize bf16 storage types to u16'"),
    ),
    PassContract(
        name="tirx.LowerTVMBuiltin",
        stages=BEHIND,
        relation=Relation.LOWERED,
        normal_form=NormalForm("docstring: 'Lower tvm builtin intrinsics'"),
    ),
)
