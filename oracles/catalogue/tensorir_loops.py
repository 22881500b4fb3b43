"""Contracts of the passes of TensorIR that simplify statements, or change loops and buffers."""

from __future__ import annotations

import tvm
from tvm import tirx

from ...compat import ir
from ...generators.prim_funcs.expressions import FLOATS8
from ..contract import Exemption, NormalForm, PassContract, Post, Rejection, Relation, Sought
from ..inspect import is_public, nodes, prim_funcs
from ..passcall import PassCall
from .common import one_of
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


def _no_assume(before: tvm.IRModule, after: tvm.IRModule, call: PassCall) -> str | None:
    """Docstring: "Remove all instances of builtin::assume"."""
    names = (getattr(each.op, "name", None) for each in nodes_of(after, tvm.ir.Call))
    return "an assume is left" if "tirx.assume" in names else None


def _no_assertion(before: tvm.IRModule, after: tvm.IRModule, call: PassCall) -> str | None:
    """Docstring: "Skip assert stmt"."""
    return "an AssertStmt is left" if nodes_of(after, ir.AssertStmt) else None


def _no_vectorized_loop(before: tvm.IRModule, after: tvm.IRModule, call: PassCall) -> str | None:
    """Docstring: "Lower vectorization loops"."""
    left = any(map(is_vectorized, nodes_of(after, ir.For)))
    return "a vectorized loop is left" if left else None


def _flat(before: tvm.IRModule, after: tvm.IRModule, call: PassCall) -> str | None:
    """Docstring: "Flatten the multi-dimensional BufferLoad and BufferStore to single dimensional
    BufferLoad/BufferStore".
    """
    accesses = nodes_of(after, ir.TensorLoad, ir.BufferStore)
    if any(len(access.indices) != 1 for access in accesses):
        return "an access of several dimensions is left"
    return None


def _flattened(mod: tvm.IRModule) -> str | None:
    """The default pipelines of TVM have FlattenBuffer before VectorizeLoop."""
    accesses = nodes_of(mod, ir.TensorLoad, ir.BufferStore)
    if any(len(access.indices) != 1 for access in accesses):
        return "accesses of several dimensions"
    return without_blocks(mod)


def _in_turn(stmt: ir.AttrStmt) -> bool:
    return bool(stmt.attr_key == "double_buffer_scope")


def _flat_rows(mod: tvm.IRModule) -> str | None:
    """The message: "InjectDoubleBuffer expects flat 1-d buffers. Has FlattenBuffer been run?"."""
    rows = [stmt.node.args[0] for stmt in filter(_in_turn, nodes_of(mod, ir.AttrStmt))]
    if any(len(row.ty.shape) != 1 for row in rows):
        return "a buffer of several dimensions that is used in turn"
    return without_blocks(mod) if rows else None


def _read_ahead(mod: tvm.IRModule, call: PassCall) -> bool:
    """What fills a buffer that is used in turn accesses what the rest of its loop writes."""
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


def _legalized(dtype: str) -> Post:
    """Docstrings: "Legalize bf16 compute Ops", "Legalize fp8 compute Ops"."""

    def post(before: tvm.IRModule, after: tvm.IRModule, call: PassCall) -> str | None:
        return f"an operation on {dtype} is left" if computes_in(after, dtype) else None

    return post


def _jumps(mod: tvm.IRModule) -> bool:
    jumps = ("tirx.break_loop", "tirx.continue_loop", "tirx.thread_return")
    return bool(nodes_of(mod, ir.While, ir.Break, ir.Continue)) or any(
        getattr(call.op, "name", None) in jumps for call in nodes_of(mod, tvm.ir.Call)
    )


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
        cost=0.1,
    ),
    PassContract(
        name="s_tir.StmtSimplify",
        variants=under("s_tir.transform.StmtSimplify()", "tirx.StmtSimplify", *_SIMPLIFY),
        stages=ANYWHERE,
        cost=0.3,
    ),
    PassContract(
        name="tirx.StmtSimplify",
        variants=under("tirx.transform.StmtSimplify()", "tirx.StmtSimplify", *_SIMPLIFY),
        stages=ANYWHERE,
        cost=0.3,
    ),
    PassContract(
        name="s_tir.ConvertSSA",
        stages=ANYWHERE,
        post=_ssa,
        normal_form=NormalForm("docstring: 'De-duplicate definitions'"),
        cost=0.1,
    ),
    PassContract(
        name="tirx.ConvertSSA",
        stages=WITHOUT_BLOCKS,
        post=_ssa,
        normal_form=NormalForm("docstring: 'Convert an IRModule to be SSA form'"),
        cost=0.1,
    ),
    PassContract(
        name="tirx.RemoveNoOp",
        variants=under(
            "tirx.transform.RemoveNoOp()", "tirx.RemoveNoOp", {"ignore_profiler_call": True}
        ),
        stages=ANYWHERE,
        normal_form=NormalForm("docstring: 'Remove No Op from the Stmt'"),
        cost=0.3,
    ),
    PassContract(
        name="tirx.RemoveAssume",
        stages=ANYWHERE,
        looks_for=has(tvm.ir.Call, calls("tirx.assume")),
        post=_no_assume,
        normal_form=NormalForm("docstring: 'Remove all instances of builtin::assume'"),
        cost=0.2,
    ),
    PassContract(
        name="s_tir.UseAssumeToReduceBranches",
        stages=ANYWHERE,
        looks_for=has(tvm.ir.Call, calls("tirx.assume")),
        normal_form=NormalForm("docstring: 'Eliminate layout specific pad branch'"),
        cost=0.3,
    ),
    PassContract(
        name="tirx.SkipAssert",
        stages=ANYWHERE,
        post=_no_assertion,
        looks_for=has(ir.AssertStmt),
        normal_form=NormalForm("docstring: 'Skip assert stmt'"),
        cost=0.1,
    ),
    PassContract(
        name="s_tir.RemoveStoreUndef",
        stages=ANYWHERE,
        looks_for=has(tvm.ir.Call, calls("tirx.undef")),
        post=no_undefined_store,
        normal_form=NormalForm("docstring: 'Remove stores of undefined values from the Stmt'"),
        cost=0.1,
    ),
    PassContract(
        name="tirx.InlinePrivateFunctions",
        stages=ANYWHERE,
        looks_for=Sought(_has_private),
        normal_form=NormalForm("docstring: 'Inline calls to private functions'"),
        cost=0.1,
    ),
    PassContract(
        name="tirx.FlattenBuffer",
        # Docstring: "for the TIR not contains opaque block".
        stages=WITHOUT_BLOCKS,
        post=_flat,
        cost=0.2,
    ),
    PassContract(
        name="tirx.NarrowDataType",
        variants=one_of("tirx.transform.NarrowDataType(32)", "tirx.transform.NarrowDataType(64)"),
        # Docstring: "Run this pass after FlattenBuffer".
        stages=FLAT,
        cost=0.3,
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
        cost=0.4,
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
        post=_no_vectorized_loop,
        cost=0.2,
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
        cost=0.1,
    ),
    PassContract(
        name="tirx.StorageRewrite",
        stages=FLAT,
        requires=_with_plain_loops,
        looks_for=has(ir.AllocBuffer),
        cost=0.3,
    ),
    PassContract(
        name="tirx.PointerValueTypeRewrite",
        # StorageRewrite ends with it: what comes behind has been through it.
        stages=FLAT,
        exemptions=(
            Exemption("signature", _RETYPED, _OF_ARGUMENTS, _has_vectors),
            Exemption("values", _RETYPED, _OF_ARGUMENTS, _has_vectors),
        ),
        cost=0.2,
    ),
    PassContract(
        name="s_tir.HoistIfThenElse",
        variants=one_of(
            "s_tir.transform.HoistIfThenElse()", "s_tir.transform.HoistIfThenElse('basic')"
        ),
        stages=FLAT,
        looks_for=has(ir.IfThenElse),
        cost=0.3,
    ),
    PassContract(name="s_tir.HoistExpression", stages=FLAT, cost=0.3),
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
        cost=0.3,
    ),
    PassContract(
        name="s_tir.RenormalizeSplitPattern",
        stages=FLAT,
        normal_form=NormalForm("docstring: 'Renormalize the split pattern'"),
        cost=0.2,
    ),
    PassContract(
        name="s_tir.RewriteUnsafeSelect",
        stages=FLAT,
        looks_for=has(ir.Select),
        normal_form=NormalForm(
            "docstring: 'Detect and rewrite unsafe select', after which there is none"
        ),
        cost=0.1,
    ),
    PassContract(
        name="tirx.CommonSubexprElim",
        stages=WITHOUT_BLOCKS,
        normal_form=NormalForm("docstring: 'Replace redundant computations by new variables'"),
        cost=0.4,
    ),
    PassContract(
        name="tirx.BF16ComputeLegalize",
        stages=WITHOUT_BLOCKS,
        looks_for=Sought(lambda mod: computes_in(mod, "bfloat16"), dtypes=("bfloat16",)),
        # It computes in float32, and rounds where it stores.
        relation=Relation.LOOSE,
        post=_legalized("bfloat16"),
        normal_form=NormalForm("docstring: 'Legalize bf16 compute Ops'"),
        cost=0.2,
    ),
    PassContract(
        name="tirx.FP8ComputeLegalize",
        variants=one_of(
            "tirx.transform.FP8ComputeLegalize()", "tirx.transform.FP8ComputeLegalize('float16')"
        ),
        stages=WITHOUT_BLOCKS,
        looks_for=Sought(lambda mod: computes_in(mod, "float8"), dtypes=FLOATS8),
        relation=Relation.LOOSE,
        post=_legalized("float8"),
        normal_form=NormalForm("docstring: 'Legalize fp8 compute Ops'"),
        cost=0.2,
    ),
)
