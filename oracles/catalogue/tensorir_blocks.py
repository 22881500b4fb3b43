"""Contracts of the passes of TensorIR that lower blocks, in the order of TVM's pipeline."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import tvm
from tvm import tirx

from ...compat import ir
from ...generators.prim_funcs.rare.nests import STAGE
from ...generators.stages import Stage
from ..contract import Exemption, NormalForm, PassContract
from ..passcall import PassCall
from .common import none_left, one_of
from .tensorir_common import ANYWHERE, accesses, between, has, meet, nodes_of, outgrown

AFTER_INIT = between(Stage.INIT_LOWERED, Stage.MATCHES_LOWERED)
"""PlanAndUpdateBufferAllocationLocation and ConvertBlocksToOpaque check that no block has initial
values: "tvm/s_tir/pipeline.py" has LowerInitBlock before them."""

OPAQUE = between(Stage.OPAQUE, Stage.MATCHES_LOWERED)
"""The messages of CompactBufferAllocation and LowerOpaqueBlock ask for opaque blocks, and name
ConvertBlocksToOpaque."""


def _is_canonical(loop: Any) -> bool:
    step = 1 if loop.step is None else getattr(loop.step, "value", None)
    return getattr(loop.min, "value", None) == 0 and step == 1


_OTHER_LOOPS = has(ir.For, lambda loop: not _is_canonical(loop))
_INITIAL = has(ir.SBlock, lambda block: block.init is not None)
_MATCHES = has(ir.SBlock, lambda block: len(block.match_buffers) > 0)


def _blocks_lowered(before: tvm.IRModule, after: tvm.IRModule, call: PassCall) -> str | None:
    """Docstring: "Remove the block to ensure that the TIR can not be scheduled again"."""
    return "a block is left" if nodes_of(after, ir.SBlock) else outgrown(before, after)


def _compacted(before: tvm.IRModule, after: tvm.IRModule, call: PassCall) -> str | None:
    """Docstring, is_strict: "Ensure the compacted shape to be always smaller than the original
    shape".
    """
    over = outgrown(before, after)
    if over is not None or "False" in call.expr:
        return over
    old, new = (_allocated(mod) for mod in (before, after))
    if old.keys() == new.keys() and any(new[name] > old[name] for name in new):
        return "a buffer has grown"
    return None


def _allocated(mod: tvm.IRModule) -> dict[str, int]:
    """The number of elements of each buffer of known size that blocks allocate, by unique name."""
    found: dict[str, list[int]] = {}
    for block in nodes_of(mod, ir.SBlock):
        for buffer in block.alloc_buffers:
            size = 1
            for dim in buffer.ty.shape:
                size *= int(dim.value) if isinstance(dim, tirx.IntImm) else 0
            found.setdefault(str(buffer.name), []).append(size)
    return {name: sizes[0] for name, sizes in found.items() if len(sizes) == 1 and sizes[0]}


def _statements(loop: ir.For) -> list[Any]:
    """The statements of a pipeline: "the direct children of the annotated loop (ignoring
    SBlockRealize, SBlock, SeqStmt)", include/tvm/s_tir/transform.h.
    """
    body = loop.body.block.body if isinstance(loop.body, ir.SBlockRealize) else loop.body
    found: list[Any] = []
    for stmt in _sequence(body):
        inner = stmt.block.body if isinstance(stmt, ir.SBlockRealize) else None
        found += inner.seq if isinstance(inner, ir.SeqStmt) else [stmt]
    return found


def _sequence(stmt: Any) -> Iterable[Any]:
    return stmt.seq if isinstance(stmt, ir.SeqStmt) else [stmt]


def _depend_across_stages(mod: tvm.IRModule, call: PassCall) -> bool:
    """True if a statement of a pipeline accesses what another stage writes in another iteration."""
    for loop in nodes_of(mod, ir.For):
        stages: dict[int, list[Any]] = {}
        for stage, stmt in zip(loop.annotations.get(STAGE, ()), _statements(loop), strict=False):
            stages.setdefault(int(stage), []).extend(accesses(stmt))
        if meet(loop, stages.values()):
            return True
    return False


CONTRACTS: tuple[PassContract, ...] = (
    PassContract(
        name="s_tir.CanonicalizeLoop",
        stages=ANYWHERE,
        looks_for=_OTHER_LOOPS,
        post=none_left("a loop with another start than zero, or a step,", _OTHER_LOOPS.has),
        normal_form=NormalForm(
            "docstring: 'Canonicalize the loop to start from zero and use trivial step'"
        ),
    ),
    PassContract(
        name="s_tir.LowerInitBlock",
        stages=between(Stage.TENSORIR, Stage.INIT_LOWERED),
        looks_for=_INITIAL,
        post=none_left("a block with initial values", _INITIAL.has),
        normal_form=NormalForm("docstring: 'Lower block init stmt into IfThenElse statements'"),
    ),
    PassContract(
        name="s_tir.PlanAndUpdateBufferAllocationLocation",
        # Opaque blocks no longer show over which loops values are kept.
        stages=between(Stage.INIT_LOWERED, Stage.ALLOCATIONS_PLACED),
        looks_for=has(ir.SBlock, lambda block: len(block.alloc_buffers) > 0),
        normal_form=NormalForm("docstring: 'Locate the buffer allocation to the exact position'"),
    ),
    PassContract(
        name="s_tir.ConvertBlocksToOpaque",
        stages=AFTER_INIT,
        looks_for=has(ir.SBlock),
        post=none_left(
            "a block with iter_vars", has(ir.SBlock, lambda block: bool(block.iter_vars)).has
        ),
        normal_form=NormalForm("docstring: 'convert the blocks into opaque ones'"),
    ),
    PassContract(
        name="s_tir.CompactBufferAllocation",
        variants=one_of(
            "s_tir.transform.CompactBufferAllocation()",
            "s_tir.transform.CompactBufferAllocation(is_strict=False)",
        ),
        stages=OPAQUE,
        looks_for=has(ir.SBlock, lambda block: len(block.alloc_buffers) > 0),
        post=_compacted,
    ),
    PassContract(
        name="s_tir.LowerMatchBuffer",
        stages=AFTER_INIT,
        looks_for=_MATCHES,
        post=none_left("a match_buffer", _MATCHES.has),
        normal_form=NormalForm("docstring: 'Remove match buffers inside the block'"),
    ),
    PassContract(
        name="s_tir.InjectSoftwarePipeline",
        stages=OPAQUE,
        looks_for=has(ir.For, lambda loop: STAGE in loop.annotations),
        exemptions=(
            Exemption(
                "values",
                "a statement of a later iteration runs before one of an earlier iteration",
                "include/tvm/s_tir/transform.h: 'producers and consumers are overlapped with the "
                "information provided in loop annotations'",
                _depend_across_stages,
            ),
        ),
    ),
    PassContract(
        name="s_tir.LowerOpaqueBlock",
        # Blocks have no names for regions of buffers any more.
        stages=between(Stage.MATCHES_LOWERED, Stage.MATCHES_LOWERED),
        looks_for=has(ir.SBlock),
        post=_blocks_lowered,
        normal_form=NormalForm("docstring: 'Remove the block'"),
    ),
    PassContract(
        name="s_tir.RemoveWeightLayoutRewriteBlock",
        variants=one_of(
            "s_tir.transform.RemoveWeightLayoutRewriteBlock()",
            "s_tir.transform.RemoveWeightLayoutRewriteBlock(skip_tensor_rewrite=True)",
        ),
        stages=between(Stage.TENSORIR, Stage.BOUND),
        looks_for=has(
            ir.SBlock, lambda block: "meta_schedule.layout_rewrite_preproc" in block.annotations
        ),
        normal_form=NormalForm("docstring: 'Remove weight layout rewrite block'"),
        exemptions=(
            Exemption(
                "values",
                "leaves a step out: the weight is to come in the new layout",
                "docstring: 'Remove weight layout rewrite block before benchmarking during tuning "
                "stage'",
            ),
            Exemption(
                "signature",
                "the parameter for the weight has the new layout",
                "docstring, skip_tensor_rewrite: 'exact rewrite of Tensor, according to the given "
                "index map, will be skipped'",
            ),
        ),
    ),
)
