"""Faulty schedules of kernels for GPUs, and faulty passes that lower what their threads do."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable
from typing import Any

import tvm
from tvm import s_tir, tirx
from tvm.s_tir.dlight.analysis import normalize_prim_func
from tvm.s_tir.dlight.base import try_inline

from relaxfuzz.compat import ir
from relaxfuzz.compat.structural import structural_equal, structural_map
from relaxfuzz.generators.rewrite.nodes import with_functions
from relaxfuzz.generators.stages import Stage
from relaxfuzz.oracles.inspect import attr, nodes, op_name

from ..specimen import Family, Specimen, of
from .tensorir import number, sequence, statements, substituted, uses
from .tools import made, on_prim_funcs

THREADS = 32

Rule = Callable[[Any, list[Any]], None]
"""Schedules the blocks of a function in place, or raises `Unfit`."""


class Unfit(Exception):
    """A rule is not made for this function."""


Refusals = tuple[type[Exception], ...]


def scheduling(
    name: str, rule: Rule, refusals: Refusals = (Unfit, s_tir.ScheduleError)
) -> tvm.transform.Pass:
    """Schedules the PrimFuncs for which the rule is made; elementwise blocks are inlined before.

    Args:
        refusals: what the rule raises for others.
    """

    def transform(mod: tvm.IRModule) -> tvm.IRModule:
        functions: dict[Any, Any] = dict(mod.functions_items())
        for gvar, func in functions.items():
            if not isinstance(func, tirx.PrimFunc) or not is_kernel(func):
                continue
            # Primitives divide by extents of zero.
            if any(number(loop.extent) == 0 for loop in nodes(func, ir.For)):
                continue
            schedule = s_tir.Schedule(func)
            blocks = normalize_prim_func(schedule)
            if blocks is None:
                continue
            with contextlib.suppress(*refusals):
                rule(schedule, try_inline(schedule, blocks))
                functions[gvar] = schedule.mod["main"].with_attr("tirx.is_scheduled", True)
        return with_functions(mod, functions)

    return made(name, transform)


def is_kernel(func: tirx.PrimFunc) -> bool:
    """A function for a device that is not scheduled."""
    target = attr(func, "target")
    return target is not None and "gpu" in target.keys and not attr(func, "tirx.is_scheduled")


def the_only(blocks: list[Any]) -> Any:
    """The block of a function of one block."""
    if len(blocks) != 1:
        raise Unfit
    return blocks[0]


def loops_of(schedule: Any, block: Any, kind: str) -> list[Any]:
    """The loops of one kind ("S" spatial, "R" reduction) of a normalized block."""
    loops = schedule.get_loops(block.block_rv)
    return [loop for loop, each in zip(loops, block.dom_kind(), strict=True) if each == kind]


def on_threads(schedule: Any, loops: list[Any], threads: int = THREADS) -> tuple[Any, Any]:
    """Loops, fused into one, are bound to blocks of threads."""
    blocks, lanes = schedule.split(schedule.fuse(*loops), factors=[None, threads])
    schedule.bind(blocks, "blockIdx.x")
    schedule.bind(lanes, "threadIdx.x")
    return blocks, lanes


def extent_of(schedule: Any, loop: Any) -> int:
    """The number of iterations; no rule here is made for symbolic ones."""
    extent = number(schedule.get(loop).extent)
    if extent is None:
        raise Unfit
    return extent


# Rules


def fuses_all_loops() -> tvm.transform.Pass:
    """The loops of an elementwise kernel are fused and bound to threads."""

    def rule(schedule: Any, blocks: list[Any]) -> None:
        block = the_only(blocks)
        if not block.is_injective():
            raise Unfit
        outer, *inner = schedule.get_loops(block.block_rv)
        on_threads(schedule, [outer, *inner])

    return scheduling("FuseAllLoops", rule)


def binds_many_threads() -> tvm.transform.Pass:
    """The loops of an elementwise kernel are bound to large blocks of threads."""

    def rule(schedule: Any, blocks: list[Any]) -> None:
        block = the_only(blocks)
        loops = schedule.get_loops(block.block_rv)
        if not block.is_injective() or not loops:
            raise Unfit
        on_threads(schedule, loops, threads=1024)

    return scheduling("BindManyThreads", rule)


def binds_epilogues() -> tvm.transform.Pass:
    """A reduction is done by the threads of a block, and what follows it by the same threads."""

    def rule(schedule: Any, blocks: list[Any]) -> None:
        if len(blocks) != 2 or not blocks[0].is_reduction() or not blocks[1].is_injective():
            raise Unfit
        block, epilogue = blocks
        spatial, reduced = (loops_of(schedule, block, kind) for kind in "SR")
        if len(spatial) < 2 or not reduced:
            raise Unfit
        schedule.reorder(*spatial, *reduced)
        outer = schedule.fuse(*spatial[:-1])
        _, lanes = schedule.split(schedule.fuse(*reduced), factors=[None, THREADS])
        schedule.bind(outer, "blockIdx.x")
        schedule.bind(lanes, "threadIdx.x")
        schedule.set_scope(block.block_rv, 0, "shared")
        schedule.reverse_compute_at(epilogue.block_rv, outer, preserve_unit_loops=True)
        rest = schedule.get_loops(epilogue.block_rv)[1:]
        if rest:
            schedule.bind(schedule.fuse(*rest), "threadIdx.x")

    return scheduling("BindEpilogues", rule)


TILE = 4


def keeps_tiles_in_registers() -> tvm.transform.Pass:
    """Of two elementwise blocks, each thread computes a tile of the first and then of the second.

    The tile stays in registers.
    """

    def rule(schedule: Any, blocks: list[Any]) -> None:
        producer, consumer = _chain(schedule)
        *outer, last = schedule.get_loops(consumer)
        length = extent_of(schedule, last)
        if not outer or length > THREADS * TILE:
            raise Unfit
        once, lanes, _ = schedule.split(last, factors=[None, THREADS, TILE])
        block = schedule.fuse(*outer)
        schedule.bind(block, "blockIdx.x")
        schedule.bind(schedule.fuse(once, lanes), "threadIdx.x")
        schedule.compute_at(producer, block, preserve_unit_loops=True)
        rest = schedule.fuse(*schedule.get_loops(producer)[1:])
        lanes, _ = schedule.split(rest, factors=[THREADS, None])
        schedule.bind(lanes, "threadIdx.x")
        schedule.set_scope(producer, 0, "local")

    return _scheduling_chains("KeepTilesInRegisters", rule)


def _scheduling_chains(name: str, rule: Rule) -> tvm.transform.Pass:
    """As `scheduling`, without inlining."""

    def change(func: tirx.PrimFunc) -> tirx.PrimFunc:
        if not is_kernel(func):
            return func
        schedule = s_tir.Schedule(func)
        with contextlib.suppress(Unfit, s_tir.ScheduleError):
            rule(schedule, [])
            return schedule.mod["main"].with_attr("tirx.is_scheduled", True)
        return func

    return made(name, lambda mod: on_prim_funcs(mod, change))


def _chain(schedule: Any) -> tuple[Any, Any]:
    """Two elementwise blocks, of which the second reads at its own index what the first wrote."""
    blocks = schedule.get_child_blocks(schedule.get_sblock("root"))
    if len(blocks) != 2:
        raise Unfit
    first, second = map(schedule.get, blocks)
    written = [ir.tensor_of(region) for region in first.writes]
    reads = [load for load in nodes(second.body, ir.TensorLoad) if ir.tensor_of(load) in written]
    for block in (first, second):
        store = block.body
        plain = isinstance(store, ir.BufferStore) and block.init is None
        if not plain or not _same(store.indices, [each.var for each in block.iter_vars]):
            raise Unfit
    if not reads or not all(_same(load.indices, second.body.indices) for load in reads):
        raise Unfit
    return tuple(blocks)


def _same(one: Any, other: Any) -> bool:
    return len(one) == len(other) and all(a.same_as(b) for a, b in zip(one, other, strict=True))


def accumulates_in_operand_type() -> tvm.transform.Pass:
    """A reduction by addition adds up in a buffer of its own, which is copied at the end."""

    def rule(schedule: Any, blocks: list[Any]) -> None:
        block = the_only(blocks)
        spatial, reduced = (loops_of(schedule, block, kind) for kind in "SR")
        stmt = schedule.get(block.block_rv)
        if stmt.init is None or not isinstance(stmt.body.value, ir.Add) or not spatial:
            raise Unfit
        schedule.reorder(*spatial, *reduced)
        # A reduction over nothing stores nothing, and nothing may be copied then.
        _ = [extent_of(schedule, loop) for loop in reduced]
        # Before there are predicates (apache/tvm#19406).
        copy = schedule.cache_write(block.block_rv, 0, "global")
        on_threads(schedule, spatial)
        on_threads(schedule, schedule.get_loops(copy) or [schedule.add_unit_loop(copy)])
        operand = ir.tensor_of(stmt.reads[0]).ty.dtype
        schedule.unsafe_set_dtype(block.block_rv, 0, str(operand))

    return scheduling("AccumulateAside", rule)


def pads_reductions() -> tvm.transform.Pass:
    """The extents of reductions are rounded up to whole tiles, filled with zeros."""

    def change(func: tirx.PrimFunc) -> tirx.PrimFunc:
        if not is_kernel(func):
            return func
        return structural_map(func, (ir.For, _padded))

    return made("PadReductions", lambda mod: on_prim_funcs(mod, change))


def _padded(loop: Any) -> Any:
    realize, extent = loop.body, number(loop.extent)
    if not isinstance(realize, ir.SBlockRealize) or not extent or extent % 16 == 0:
        return loop
    block, store = realize.block, realize.block.body
    mine = [
        index
        for index, value in enumerate(realize.iter_values)
        if value.same_as(loop.loop_var) and block.iter_vars[index].iter_type == 2
    ]
    if not mine or number(loop.min) != 0 or not isinstance(store, ir.BufferStore):
        return loop
    old = block.iter_vars[mine[0]]
    whole = tirx.const(-(-extent // 16) * 16, str(old.var.ty.dtype))
    iters = list(block.iter_vars)
    iters[mine[0]] = tirx.IterVar(tvm.ir.Range(0, whole), old.var, old.iter_type)
    inside = old.var < old.dom.extent

    def filled(load: Any) -> Any:
        if ir.tensor_of(load).same_as(store.buffer) or not uses(load, old.var):
            return load
        return tirx.if_then_else(inside, load, tirx.const(0, str(load.ty.dtype)))

    value = structural_map(store.value, (ir.TensorLoad, filled))
    body = ir.BufferStore(store.buffer, value, store.indices)
    new = ir.with_fields(block, span=block.span, iter_vars=iters, body=body)
    realize = ir.SBlockRealize(realize.iter_values, realize.predicate, new)
    return ir.For(loop.loop_var, loop.min, whole, loop.kind, realize)


# Lowering


def synchronizes_threads() -> tvm.transform.Pass:
    """A barrier goes before each statement that needs what other threads did in shared memory."""

    def kernel(attr_stmt: Any) -> Any:
        outermost = attr_stmt.attr_key == "thread_extent" and str(
            attr_stmt.node.thread_tag
        ).startswith("threadIdx")
        nested = any(
            inner.attr_key == "thread_extent" for inner in nodes(attr_stmt.body, ir.AttrStmt)
        )
        if not outermost or nested:
            return attr_stmt
        return ir.with_fields(attr_stmt, span=attr_stmt.span, body=_synced(attr_stmt.body, []))

    return made(
        "SynchronizeThreads",
        lambda mod: on_prim_funcs(mod, lambda func: structural_map(func, (ir.AttrStmt, kernel))),
    )


def _barrier() -> Any:
    return ir.Evaluate(tirx.call_intrin("int32", "tirx.tvm_storage_sync", "shared"))


def _synced(stmt: Any, pending: list[Any]) -> Any:
    """The statement with barriers, and in `pending` the accesses since the last of them."""
    done: list[Any] = []
    for each in statements(stmt):
        if _is_barrier(each):
            pending.clear()
        elif isinstance(each, ir.For) and _shared_accesses(each):
            body = _synced(each.body, [])
            if not _is_barrier(statements(body)[-1]):
                body = sequence([body, _barrier()])
            if pending:
                done.append(_barrier())
            pending.clear()
            each = ir.with_fields(each, span=each.span, body=body)
        else:
            accesses = _shared_accesses(each)
            if any(_conflict(old, new) for old in pending for new in accesses):
                done.append(_barrier())
                pending.clear()
            pending += accesses
        done.append(each)
    return sequence(done)


def _is_barrier(stmt: Any) -> bool:
    call = stmt.value if isinstance(stmt, ir.Evaluate) else None
    return isinstance(call, tvm.ir.Call) and op_name(call) == "tirx.tvm_storage_sync"


def _shared_accesses(stmt: Any) -> list[Any]:
    accesses = [*nodes(stmt, ir.BufferStore), *nodes(stmt, ir.TensorLoad)]
    return [each for each in accesses if _buffer(each).ty.storage_scope.startswith("shared")]


def _buffer(access: Any) -> Any:
    return access.buffer if isinstance(access, ir.BufferStore) else ir.tensor_of(access)


def _conflict(old: Any, new: Any) -> bool:
    """Two threads may access one element, and one of them stores there."""
    stores = isinstance(old, ir.BufferStore) or isinstance(new, ir.BufferStore)
    if not stores or not _buffer(old).same_as(_buffer(new)):
        return False
    return not all(map(structural_equal, old.indices, new.indices))


def merges_shared_buffers() -> tvm.transform.Pass:
    """In a kernel, a buffer in shared memory takes the place of one that is not used any more."""

    def merged(stmts: list[Any]) -> list[Any] | None:
        shared = [
            stmt
            for stmt in stmts
            if isinstance(stmt, ir.AllocBuffer) and stmt.buffer.ty.storage_scope == "shared"
        ]
        steps = _steps(stmts)
        for early, late in itertools.combinations(shared, 2):
            a, b = early.buffer, late.buffer
            begun = _begun(steps, b)
            if structural_equal(a.ty, b.ty) and _ended(steps, a) < begun:
                rest = [stmt for stmt in stmts if not stmt.same_as(late)]
                return [substituted(stmt, b, a) for stmt in _separated(rest, steps[begun])]
        return None

    def change(seq: Any) -> Any:
        stmts = given = list(seq.seq)
        while (after := merged(stmts)) is not None:
            stmts = after
        return seq if stmts is given else sequence(stmts)

    return made(
        "MergeSharedBuffers",
        lambda mod: on_prim_funcs(mod, lambda func: structural_map(func, (ir.SeqStmt, change))),
    )


def _steps(stmts: list[Any]) -> list[Any]:
    """What each thread executes, one after the other: threads are bound on the way."""
    return [
        step
        for stmt in stmts
        if not isinstance(stmt, ir.AllocBuffer)
        for step in (_steps(statements(stmt.body)) if _binds_threads(stmt) else [stmt])
    ]


def _separated(stmts: list[Any], step: Any) -> list[Any]:
    """The statements with a barrier before one of their steps."""
    done: list[Any] = []
    for stmt in stmts:
        if stmt.same_as(step):
            done.append(_barrier())
        if _binds_threads(stmt):
            body = sequence(_separated(statements(stmt.body), step))
            stmt = ir.with_fields(stmt, span=stmt.span, body=body)
        done.append(stmt)
    return done


def _binds_threads(stmt: Any) -> bool:
    return isinstance(stmt, ir.AttrStmt) and stmt.attr_key == "thread_extent"


def _ended(steps: list[Any], buffer: Any) -> int:
    """Where a buffer has been read."""
    reads = [
        index
        for index, step in enumerate(steps)
        if any(ir.tensor_of(load).same_as(buffer) for load in nodes(step, ir.TensorLoad))
    ]
    return min(reads, default=len(steps))


def _begun(steps: list[Any], buffer: Any) -> int:
    """Where a buffer is first used."""
    return next((index for index, step in enumerate(steps) if uses(step, buffer)), -1)


KERNELS = (Stage.KERNELS,)

SPECIMENS: tuple[Specimen, ...] = (
    Specimen(
        factory=of(fuses_all_loops),
        family=Family.CRASH,
        fault="Fails for a block without loops, that of a scalar.",
        source="apache/tvm#16156: [Dlight] Fix NormalizePrimFunc with scalar block",
        stages=KERNELS,
    ),
    Specimen(
        factory=of(binds_many_threads),
        family=Family.STRUCTURE,
        fault="Takes 1024 threads in a block, whatever the target has.",
        source="apache/tvm#15647: [Unity][Dlight] GeMV rule max_num_threads awareness",
        like="dlight.ApplyDefaultSchedule",
        stages=KERNELS,
    ),
    Specimen(
        factory=of(binds_epilogues),
        family=Family.VALUES,
        fault="Binds as many threads as what follows has elements, whatever the reduction has.",
        source="apache/tvm#15412: [Unity][DLight] Fix Reduction Rule",
        like="dlight.ApplyDefaultSchedule",
        stages=KERNELS,
        needs=("a reduction with an epilogue", "rows of another length than a block of threads"),
    ),
    Specimen(
        factory=of(keeps_tiles_in_registers),
        family=Family.VALUES,
        fault="Threads compute other elements than they need where a row is shorter than all "
        "tiles.",
        source="apache/tvm#16775: [Fix][Dlight] (Low-batched-)GeMV on small spatial loops",
        stages=KERNELS,
        needs=("two elementwise blocks that are not inlined", "short rows"),
    ),
    Specimen(
        factory=of(accumulates_in_operand_type),
        family=Family.VALUES,
        fault="Adds up in the dtype of the operands where the sum has a wider one.",
        source="apache/tvm#15363: [Unity][Dlight] Fix matmul schedule when out_dtype = fp32 and "
        "bias add is fp32",
        stages=KERNELS,
        needs=("a sum", "in a wider dtype than the operands"),
    ),
    Specimen(
        factory=of(pads_reductions),
        family=Family.VALUES,
        fault="Fills up with zeros what is not added up, but multiplied or compared.",
        source='apache/tvm#12275: [TIR][CUDA] Fix sub-warp reduction using "max"',
        stages=KERNELS,
        needs=("a reduction by maximum, minimum or product", "an extent that is no multiple of 16"),
    ),
    Specimen(
        factory=of(synchronizes_threads),
        family=Family.VALUES,
        fault="Takes accesses by one index for those of one thread, also if it is the same "
        "index in all threads.",
        source="apache/tvm#13314: [TIR] Add thread sync if access index doesn't depend on thread "
        "index",
        like="s_tir.ThreadSync",
        stages=(Stage.DEVICE_ENTRY,),
        needs=("an element of shared memory that one thread stores", "and others read"),
    ),
    Specimen(
        factory=of(merges_shared_buffers),
        family=Family.VALUES,
        fault="A buffer counts as unused after the first statement that reads it.",
        source="apache/tvm#16216: [BugFix][TIR] Fix dynamic smem merge leaf alloc",
        stages=(Stage.ALLREDUCED,),
        needs=("two buffers of one type in shared memory", "the first read before and after"),
    ),
)
