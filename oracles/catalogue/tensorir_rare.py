"""Contracts of passes of TVM's pipelines that act on what few PrimFuncs have, as of one device.

The pipelines run them on every module. So of all other modules they promise to change nothing.
"""

from __future__ import annotations

from typing import Any

import tvm

from ...compat import ir
from ...compat.structural import structural_equal
from ...generators.stages import Stage
from ..contract import PassContract, Post, Sought
from ..passcall import PassCall
from .tensorir_blocks import OPAQUE
from .tensorir_common import WITHOUT_BLOCKS, between, calls, has, nodes_of

LOWERED = between(Stage.LOOPS_LOWERED, Stage.ANNOTATED_ENTRY)


def _annotated(name: str) -> Sought:
    return has(ir.SBlock, lambda block: name in block.annotations)


def _in_scope(prefix: str) -> Sought:
    """Memory of a kind that only some device has."""

    def inside(mod: tvm.IRModule) -> bool:
        buffers = [alloc.buffer for alloc in nodes_of(mod, ir.AllocBuffer)]
        buffers += [each for block in nodes_of(mod, ir.SBlock) for each in block.alloc_buffers]
        return any(str(buffer.ty.storage_scope).startswith(prefix) for buffer in buffers)

    return Sought(inside)


def _attributed(key: str) -> Sought:
    return has(ir.AttrStmt, lambda stmt: str(stmt.attr_key) == key)


def _unchanged_without(sought: Sought) -> Post:
    """Docstrings: each names what the pass works on, and nothing else."""

    def post(before: tvm.IRModule, after: tvm.IRModule, call: PassCall) -> str | None:
        if sought.has(before) or structural_equal(before, after):
            return None
        return "a module is changed that has nothing for the pass"

    return post


def _rare(name: str, stages: tuple[Stage, ...], sought: Sought, **settings: Any) -> PassContract:
    return PassContract(
        name=name,
        stages=stages,
        looks_for=sought,
        post=_unchanged_without(sought),
        cost=0.1,
        **settings,
    )


_MATRIX = has(tvm.ir.Call, calls("tirx.tvm_load_matrix_sync"))

CONTRACTS: tuple[PassContract, ...] = (
    _rare("s_tir.LowerAutoCopy", OPAQUE, _annotated("auto_copy")),
    _rare("s_tir.InjectPermutedLayout", OPAQUE, _annotated("permuted_layout")),
    _rare("s_tir.TransformMmaBufferLayout", OPAQUE, _in_scope("m16n8k8.")),
    _rare("s_tir.VerifyVTCMLimit", LOWERED, _in_scope("global.vtcm")),
    _rare("s_tir.LowerVtcmAlloc", LOWERED, _in_scope("global.vtcm")),
    _rare("s_tir.LowerAsyncDMA", LOWERED, _attributed("async_commit_queue_scope")),
    _rare("s_tir.InferFragment", LOWERED, _MATRIX),
    _rare("s_tir.InjectPTXAsyncCopy", LOWERED, _attributed("async_scope")),
    _rare("tirx.TilePrimitiveDispatch", WITHOUT_BLOCKS, has(ir.node("TilePrimitiveCall"))),
    PassContract(
        # Unit loops and loops that are bound to threads become what they mean.
        name="tirx.LowerTIRxOpaque",
        stages=between(Stage.BLOCKS_LOWERED, Stage.BLOCKS_LOWERED),
        cost=0.2,
    ),
)
