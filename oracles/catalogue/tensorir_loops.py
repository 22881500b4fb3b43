"""Contracts of the passes of TensorIR that simplify statements, or change loops and buffers."""

from __future__ import annotations

import tvm
from tvm import tirx

from ...compat import ir
from ...generators.prim_funcs.expressions import FLOATS8
from ..contract import Exemption, NormalForm, PassContract, Rejection, Relation, Sought
from ..inspect import is_public, nodes, prim_funcs
from ..passcall import PassCall
from .common import none_left, one_of
from .tensorir_common import (
    ANYWHERE,
    FLAT,
    RAW,
    WITHOUT_BLOCKS,
    accesses,
    calls,
    computes_in,
    has,
    is_vectorized,
    meet,
    nodes_of,
    under,
    without_blocks,
)
from .tensorir_undefined import no_undefined_store


def _ssa(before: tvm.IRModule, after: tvm.IRModule, call: PassCall) -> str | None:
    """Docstring: "Convert an IRModule to be SSA form"."""
    for _, func in prim_funcs(after):
        if not tirx.analysis.verify_ssa(func):
            return "the result is not in SSA form"
    return None


def _several_dimensions(mod: tvm.IRModule) -> bool:
    accesses = nodes_of(mod, ir.TensorLoad, ir.BufferStore)
    return any(len(access.indices) != 1 for access in accesses)


def _flattened(mod: tvm.IRModule) -> str | None:
    """The default pipelines of TVM have FlattenBuffer before VectorizeLoop."""
    return "accesses of several dimensions" if _several_dimensions(mod) else without_blocks(mod)


def _in_turn(stmt: ir.AttrStmt) -> bool:
    return bool(stmt.attr_key == "double_buffer_scope")


def _flat_rows(mod: tvm.IRModule) -> str | None:
    """The message: "InjectDoubleBuffer expects flat 1-d buffers. Has FlattenBuffer been run?"."""
    rows = [stmt.node.args[0] for stmt in filter(_in_turn, nodes_of(mod, ir.AttrStmt))]
    if any(len(row.ty.shape) != 1 for row in rows):
        return "a buffer of several dimensions that is used in turn"
    return without_blocks(mod) if rows else None


def _read_ahead(mod: tvm.IRModule, call: PassCall) -> bool:
    """True if the code that fills a double buffer accesses what the rest of its loop writes."""
    seen: set[int] = set()
    for loop in nodes_of(mod, ir.For):  # the innermost first
        for stmt in filter(_in_turn, nodes(loop.body, ir.AttrStmt)):
            if stmt.__chandle__() in seen:
                continue
            seen.add(stmt.__chandle__())
            early = accesses(stmt.body)
            handles = {each.__chandle__() for each in early}
            rest = [each for each in accesses(loop.body) if each.__chandle__() not in handles]
            if meet(loop, (early, rest), own=[stmt.node.args[0].__chandle__()]):
                return True
    return False


def _has_private(mod: tvm.IRModule) -> bool:
    return any(not is_public(func) for _, func in prim_funcs(mod))


def _with_plain_loops(mod: tvm.IRModule) -> str | None:
    """The message: "VectorizeLoop before LiftStorageAlloc". The default pipeline of
    tvm/s_tir/pipeline.py has InjectVirtualThread before StorageRewrite.
    """
    if any(map(is_vectorized, nodes_of(mod, ir.For))):
        return "vectorized loops"
    virtual = any(attr.attr_key == "virtual_thread" for attr in nodes_of(mod, ir.AttrStmt))
    return "virtual threads" if virtual else None


def _has_vectors(mod: tvm.IRModule, call: PassCall) -> bool:
    return bool(nodes_of(mod, ir.Ramp))


_RETYPED = "parameters that are accessed by vectors alone become buffers of vectors"
_OF_ARGUMENTS = (
    "docstring: 'Rewrite the pointer content type of arguments, as well as Alloc internal to the "
    "function to use the most frequently accessed type for load/store'"
)


def _jumps(mod: tvm.IRModule) -> bool:
    jumps = ("tirx.break_loop", "tirx.continue_loop", "tirx.thread_return")
    return bool(nodes_of(mod, ir.While, ir.Break, ir.Continue)) or any(
        getattr(call.op, "name", None) in jumps for call in nodes_of(mod, tvm.ir.Call)
    )


_ASSUMED = has(tvm.ir.Call, calls("tirx.assume"))
_IN_BF16 = Sought(lambda mod: computes_in(mod, "bfloat16"), dtypes=("bfloat16",))
_IN_FP8 = Sought(lambda mod: computes_in(mod, "float8"), dtypes=FLOATS8)

_SIMPLIFY = (
    {"transitively_prove_inequalities": True},
    {"convert_boolean_to_and_of_ors": True},
    {"apply_constraints_to_boolean_branches": True},
)

CONTRACTS: tuple[PassContract, ...] = (
    PassContract(
        name="s_tir.AnnotateIrregularLoop",
        stages=ANYWHERE,
        looks_for=Sought(_jumps),
        rejections=(
            Rejection(
                "is invalid for irregular loop",
                "the message names the kind of the loop, or its annotation",
            ),
        ),
    ),
    PassContract(
        name="s_tir.StmtSimplify",
        variants=under("s_tir.transform.StmtSimplify()", "tirx.StmtSimplify", *_SIMPLIFY),
        stages=ANYWHERE,
    ),
    PassContract(
        name="tirx.StmtSimplify",
        variants=under("tirx.transform.StmtSimplify()", "tirx.StmtSimplify", *_SIMPLIFY),
        stages=ANYWHERE,
    ),
    PassContract(
        name="s_tir.ConvertSSA",
        stages=ANYWHERE,
        post=_ssa,
        normal_form=NormalForm("docstring: 'De-duplicate definitions'"),
    ),
    PassContract(
        name="tirx.ConvertSSA",
        stages=WITHOUT_BLOCKS,
        post=_ssa,
        normal_form=NormalForm("docstring: 'Convert an IRModule to be SSA form'"),
    ),
    PassContract(
        name="tirx.RemoveNoOp",
        variants=under(
            "tirx.transform.RemoveNoOp()", "tirx.RemoveNoOp", {"ignore_profiler_call": True}
        ),
        stages=ANYWHERE,
        normal_form=NormalForm("docstring: 'Remove No Op from the Stmt'"),
    ),
    PassContract(
        name="tirx.RemoveAssume",
        stages=ANYWHERE,
        looks_for=_ASSUMED,
        post=none_left("an assume", _ASSUMED.has),
        normal_form=NormalForm("docstring: 'Remove all instances of builtin::assume'"),
    ),
    PassContract(
        name="s_tir.UseAssumeToReduceBranches",
        stages=ANYWHERE,
        looks_for=_ASSUMED,
        normal_form=NormalForm("docstring: 'Eliminate layout specific pad branch'"),
    ),
    PassContract(
        name="tirx.SkipAssert",
        stages=ANYWHERE,
        post=none_left("an AssertStmt", has(ir.AssertStmt).has),
        looks_for=has(ir.AssertStmt),
        normal_form=NormalForm("docstring: 'Skip assert stmt'"),
    ),
    PassContract(
        name="s_tir.RemoveStoreUndef",
        stages=ANYWHERE,
        looks_for=has(tvm.ir.Call, calls("tirx.undef")),
        post=no_undefined_store,
        normal_form=NormalForm("docstring: 'Remove stores of undefined values from the Stmt'"),
    ),
    PassContract(
        name="tirx.InlinePrivateFunctions",
        stages=ANYWHERE,
        looks_for=Sought(_has_private),
        normal_form=NormalForm("docstring: 'Inline calls to private functions'"),
    ),
    PassContract(
        name="tirx.FlattenBuffer",
        # Docstring: "for the TIR not contains opaque block".
        stages=WITHOUT_BLOCKS,
        # Docstring: "Flatten [...] to single dimensional BufferLoad/BufferStore".
        post=none_left("an access of several dimensions", _several_dimensions),
    ),
    PassContract(
        name="tirx.NarrowDataType",
        variants=one_of("tirx.transform.NarrowDataType(32)", "tirx.transform.NarrowDataType(64)"),
        # Docstring: "Run this pass after FlattenBuffer".
        stages=FLAT,
    ),
    PassContract(
        name="s_tir.LoopPartition",
        variants=under(
            "s_tir.transform.LoopPartition()",
            "s_tir.LoopPartition",
            {"partition_const_loop": True},
            {"partition_const_loop": True, "no_unroll_loop_with_extent_one": True},
            {
                "partition_const_loop": True,
                "unroll_loop_with_partition_hint_no_interval": True,
            },
        ),
        stages=WITHOUT_BLOCKS,
    ),
    PassContract(
        name="tirx.VectorizeLoop",
        variants=one_of(
            "tirx.transform.VectorizeLoop()", "tirx.transform.VectorizeLoop(enable_vectorize=False)"
        ),
        stages=(*RAW, *FLAT),
        requires=_flattened,
        normal_form=NormalForm("docstring: 'Lower vectorization loops'"),
        rejections=(
            Rejection(
                "A while loop inside a vectorized loop not supported",
                "the message names the loop; vectors have no control flow",
            ),
        ),
        post=none_left("a vectorized loop", has(ir.For, is_vectorized).has),
    ),
    PassContract(
        name="s_tir.InjectDoubleBuffer",
        variants=under(
            "s_tir.transform.InjectDoubleBuffer()", "s_tir.InjectDoubleBuffer", {"split_loop": 2}
        ),
        stages=(*RAW, *FLAT),
        requires=_flat_rows,
        looks_for=has(ir.AttrStmt, _in_turn),
        exemptions=(
            Exemption(
                "values",
                "a buffer is filled for the next iteration before this one is over",
                "include/tvm/s_tir/stmt.h: 'Marks production of double buffer data'; #405, which "
                "added it: 'explicit prefetchs next stage's input'",
                _read_ahead,
            ),
        ),
    ),
    PassContract(
        name="tirx.StorageRewrite",
        stages=FLAT,
        requires=_with_plain_loops,
        looks_for=has(ir.AllocBuffer),
    ),
    PassContract(
        name="tirx.PointerValueTypeRewrite",
        # StorageRewrite ends with this pass, so later modules have been through it.
        stages=FLAT,
        exemptions=(
            Exemption("signature", _RETYPED, _OF_ARGUMENTS, _has_vectors),
            Exemption("values", _RETYPED, _OF_ARGUMENTS, _has_vectors),
        ),
    ),
    PassContract(
        name="s_tir.HoistIfThenElse",
        variants=one_of(
            "s_tir.transform.HoistIfThenElse()", "s_tir.transform.HoistIfThenElse('basic')"
        ),
        stages=FLAT,
        looks_for=has(ir.IfThenElse),
    ),
    PassContract(name="s_tir.HoistExpression", stages=FLAT),
    PassContract(
        name="tirx.UnrollLoop",
        variants=under(
            "tirx.transform.UnrollLoop()",
            "tirx.UnrollLoop",
            {"auto_max_step": 16},
            {"auto_max_extent": 4},
            {"auto_max_step": 64, "auto_max_depth": 2, "explicit_unroll": True},
        ),
        stages=(*RAW, *WITHOUT_BLOCKS),
        requires=without_blocks,
        normal_form=NormalForm(
            "docstring: 'Unroll the constant loop marked by unroll'; with its option each run "
            "unrolls the innermost loops, up to the depth and size that it is given",
            when=lambda mod, call: not call.config,
        ),
    ),
    PassContract(
        name="s_tir.RenormalizeSplitPattern",
        stages=FLAT,
        normal_form=NormalForm("docstring: 'Renormalize the split pattern'"),
    ),
    PassContract(
        name="s_tir.RewriteUnsafeSelect",
        stages=FLAT,
        looks_for=has(ir.Select),
        normal_form=NormalForm(
            "docstring: 'Detect and rewrite unsafe select', after which there is none"
        ),
    ),
    PassContract(
        name="tirx.CommonSubexprElim",
        stages=WITHOUT_BLOCKS,
        normal_form=NormalForm("docstring: 'Replace redundant computations by new variables'"),
    ),
    PassContract(
        name="tirx.BF16ComputeLegalize",
        stages=WITHOUT_BLOCKS,
        looks_for=_IN_BF16,
        # It computes in float32, and rounds at stores.
        relation=Relation.LOOSE,
        post=none_left("an operation on bfloat16", _IN_BF16.has),
        ops_alike=True,
        normal_form=NormalForm("docstring: 'Legalize bf16 compute Ops'"),
    ),
    PassContract(
        name="tirx.FP8ComputeLegalize",
        variants=one_of(
            "tirx.transform.FP8ComputeLegalize()", "tirx.transform.FP8ComputeLegalize('float16')"
        ),
        stages=WITHOUT_BLOCKS,
        looks_for=_IN_FP8,
        relation=Relation.LOOSE,
        post=none_left("an operation on float8", _IN_FP8.has),
        ops_alike=True,
        normal_form=NormalForm("docstring: 'Legalize fp8 compute Ops'"),
    ),
)
