"""Correct passes on PrimFuncs and kernels that look suspicious."""

from __future__ import annotations

from typing import Any

import tvm
from tvm import tirx

from relaxfuzz.compat import ir
from relaxfuzz.compat.structural import structural_map
from relaxfuzz.generators.rewrite.nodes import with_functions
from relaxfuzz.generators.stages import Stage
from relaxfuzz.oracles.inspect import nodes

from ..specimen import Family, Specimen, of
from .schedules import KERNELS, THREADS, Unfit, on_threads, scheduling, the_only
from .tensorir import FLAT, dtype_of, is_plain, looped, number, sequence
from .tools import made, on_prim_funcs


def halves_loops() -> tvm.transform.Pass:
    """Loops of constant extent become two, one after the other."""

    def change(loop: Any) -> Any:
        extent = number(loop.extent)
        # Of innermost loops only: else the size doubles with each level.
        if not is_plain(loop) or extent is None or extent < 2 or nodes(loop.body, ir.For):
            return loop
        dtype = dtype_of(loop.loop_var)
        half, rest = extent // 2, extent - extent // 2
        return sequence(
            [
                looped(loop, loop.min, tirx.const(half, dtype), loop.body),
                looped(loop, loop.min + half, tirx.const(rest, dtype), loop.body),
            ]
        )

    def transform(mod: tvm.IRModule) -> tvm.IRModule:
        halved = on_prim_funcs(mod, lambda func: structural_map(func, (ir.For, change)))
        return tirx.transform.ConvertSSA()(halved)

    return made("halves_loops", transform)


def renews_loops() -> tvm.transform.Pass:
    """Each loop gets a variable of its own, and counts from zero."""

    def change(loop: Any) -> Any:
        if not is_plain(loop):
            return loop
        var = tirx.Var("renewed", dtype_of(loop.loop_var))
        index = var if number(loop.min) == 0 else var + loop.min
        body = structural_map(
            loop.body, (tirx.Var, lambda each: index if each.same_as(loop.loop_var) else each)
        )
        zero = tirx.const(0, dtype_of(loop.loop_var))
        return ir.For(var, zero, loop.extent, loop.kind, body)

    return made(
        "renews_loops",
        lambda mod: on_prim_funcs(mod, lambda func: structural_map(func, (ir.For, change))),
    )


def loads_through_shared_memory() -> tvm.transform.Pass:
    """What a block of threads reads is copied to shared memory first, by other threads."""

    def rule(schedule: Any, blocks: list[Any]) -> None:
        block = the_only(blocks)
        loops = schedule.get_loops(block.block_rv)
        if not block.is_injective() or not loops or not schedule.get(block.block_rv).reads:
            raise Unfit
        outer, _ = on_threads(schedule, loops)
        cached = schedule.cache_read(block.block_rv, 0, "shared")
        try:
            schedule.compute_at(cached, outer, preserve_unit_loops=True)
        except Exception as error:  # what is read where depends on what another buffer holds
            raise Unfit from error
        rest = schedule.get_loops(cached)[1:]
        if not rest:  # a block of threads reads a number
            raise Unfit
        _, lanes = schedule.split(schedule.fuse(*rest), factors=[None, THREADS])
        schedule.bind(lanes, "threadIdx.x")

    return scheduling("loads_through_shared_memory", rule)


def copies_on_every_thread() -> tvm.transform.Pass:
    """Two rows of threads compute the same elements, and both store them."""

    def rule(schedule: Any, blocks: list[Any]) -> None:
        block = the_only(blocks)
        loops = schedule.get_loops(block.block_rv)
        if not block.is_injective() or not loops:
            raise Unfit
        on_threads(schedule, loops)

    def change(func: tirx.PrimFunc) -> tirx.PrimFunc:
        return structural_map(func, (ir.For, widened))

    def widened(loop: Any) -> Any:
        if loop.thread_binding is None or str(loop.thread_binding.thread_tag) != "blockIdx.x":
            return loop
        zero, two = tirx.const(0), tirx.const(2)
        axis = tirx.IterVar(tvm.ir.Range(0, 2), tirx.Var("rows", "int32"), 1, "threadIdx.y")
        var = tirx.Var("rows", "int32")
        body = ir.For(var, zero, two, loop.kind, loop.body, thread_binding=axis)
        return ir.with_fields(loop, span=loop.span, body=body)

    def transform(mod: tvm.IRModule) -> tvm.IRModule:
        scheduled = scheduling("copies", rule)(mod)
        functions = {
            gvar: func if func.same_as(mod[gvar]) else change(func)
            for gvar, func in scheduled.functions_items()
        }
        return with_functions(scheduled, functions)

    return made("copies_on_every_thread", transform)


SPECIMENS: tuple[Specimen, ...] = (
    Specimen(
        factory=of(halves_loops),
        family=Family.CORRECT,
        fault="Loops come twice, and so do the variables that they define, until these are "
        "renewed.",
        source="s_tir.transform.LoopPartition",
        stages=FLAT,
    ),
    Specimen(
        factory=of(renews_loops),
        family=Family.CORRECT,
        fault="Every loop is another node, with another variable and other bounds.",
        source="s_tir.transform.CanonicalizeLoop",
        stages=(Stage.TENSORIR,),
    ),
    Specimen(
        factory=of(loads_through_shared_memory),
        family=Family.CORRECT,
        fault="Threads read what others stored in shared memory, and no barrier is there yet.",
        source="dlight.gpu.Matmul: operands are fetched by all threads; ThreadSync comes later",
        stages=KERNELS,
    ),
    Specimen(
        factory=of(copies_on_every_thread),
        family=Family.CORRECT,
        fault="Two threads store each element, though always the same value.",
        source="apache/tvm#14199: before it, all threads wrote back what they had reduced",
        stages=KERNELS,
    ),
)
