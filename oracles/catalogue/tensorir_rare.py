"""Contracts of pipeline passes for features that few PrimFuncs have.

The pipelines run them on every module, so they promise not to change any other module.
"""

from __future__ import annotations

import tvm

from ...compat import ir
from ...compat.structural import structural_equal
from ...generators.stages import Stage, made
from ..contract import NormalForm, PassContract, Post, Sought
from ..passcall import PassCall
from .tensorir_blocks import OPAQUE
from .tensorir_common import (
    RAW,
    WITHOUT_BLOCKS,
    between,
    calls,
    has,
    nodes_of,
    without_blocks,
)

LOWERED = between(Stage.LOOPS_LOWERED, Stage.ANNOTATED_ENTRY)


def _annotated(name: str) -> Sought:
    return has(ir.SBlock, lambda block: name in block.annotations)


def _in_scope(prefix: str) -> Sought:
    """Memory of a kind that only some devices have."""

    def inside(mod: tvm.IRModule) -> bool:
        buffers = [alloc.buffer for alloc in nodes_of(mod, ir.AllocBuffer)]
        buffers += [each for block in nodes_of(mod, ir.SBlock) for each in block.alloc_buffers]
        return any(str(buffer.ty.storage_scope).startswith(prefix) for buffer in buffers)

    return Sought(inside)


def _attributed(key: str) -> Sought:
    return has(ir.AttrStmt, lambda stmt: str(stmt.attr_key) == key)


def _unchanged_without(word: str) -> Post:
    """Docstrings: each names the one thing that the pass works on.

    Args:
        word: a word in the JSON of each module with the feature.
    """

    def post(before: tvm.IRModule, after: tvm.IRModule, call: PassCall) -> str | None:
        if structural_equal(before, after) or word in tvm.ir.save_json(before):
            return None
        # Some are built on src/sym/ir_mutator_with_analyzer.cc, which drops conditions that hold.
        simplify = made("s_tir.StmtSimplify")
        if structural_equal(simplify(before), simplify(after)):
            return None
        return "a module is changed that has nothing for the pass"

    return post


def _rare(
    name: str, stages: tuple[Stage, ...], sought: Sought, word: str, lowers: str = ""
) -> PassContract:
    """
    Args:
        lowers: the docstring's sentence that promises to lower all of it.
    """
    return PassContract(
        name=name,
        stages=stages,
        looks_for=sought,
        post=_unchanged_without(word),
        normal_form=NormalForm(f"docstring: {lowers!r}") if lowers else None,
    )


_QUEUE = "async_commit_queue_scope"
_LOAD = "tirx.tvm_load_matrix_sync"
_TILE = "TilePrimitiveCall"

CONTRACTS: tuple[PassContract, ...] = (
    _rare("s_tir.LowerAutoCopy", OPAQUE, _annotated("auto_copy"), "auto_copy"),
    _rare("s_tir.InjectPermutedLayout", OPAQUE, _annotated("permuted_layout"), "permuted_layout"),
    _rare("s_tir.TransformMmaBufferLayout", OPAQUE, _in_scope("m16n8k8."), "m16n8k8."),
    _rare("s_tir.VerifyVTCMLimit", LOWERED, _in_scope("global.vtcm"), "global.vtcm"),
    _rare(
        "s_tir.LowerVtcmAlloc",
        LOWERED,
        _in_scope("global.vtcm"),
        "global.vtcm",
        "Lower vtcm allocation",
    ),
    _rare("s_tir.LowerAsyncDMA", LOWERED, _attributed(_QUEUE), _QUEUE, "Lower async DMA to DMA"),
    _rare("s_tir.InferFragment", LOWERED, has(tvm.ir.Call, calls(_LOAD)), _LOAD),
    _rare("s_tir.InjectPTXAsyncCopy", LOWERED, _attributed("async_scope"), "async_scope"),
    _rare(
        "tirx.TilePrimitiveDispatch",
        WITHOUT_BLOCKS,
        has(ir.node(_TILE)),
        _TILE,
        "Lower TIRx tile primitive calls",
    ),
    PassContract(
        # Unit loops and loops that are bound to threads are replaced by their meaning.
        name="tirx.LowerTIRxOpaque",
        # The default pipeline of `tvm/tirx/compilation_pipeline.py` gives it loops unchanged.
        stages=(*RAW, *between(Stage.BLOCKS_LOWERED, Stage.BLOCKS_LOWERED)),
        requires=without_blocks,
        normal_form=NormalForm("docstring: 'Lower opaque constructs in TIRX programs'"),
    ),
)
