"""The contract of the pass that applies the records of a tuning database."""

from __future__ import annotations

import ast
from collections.abc import Callable

import tvm
from tvm.s_tir import meta_schedule

from ...compat import ir
from ...generators.choices import Choices
from ...generators.stages import Stage
from ...generators.traits import Trait
from ..contract import PassContract, Sought
from ..inspect import attr, prim_funcs
from ..passcall import PassCall
from .common import definition

IMPORTS = (
    "from collections.abc import Callable",
    "import tvm",
    "from tvm.s_tir import meta_schedule",
)


# The records of a database, and the pass run within it: their source goes into reproducers.


def split_loop(schedule: tvm.s_tir.Schedule, loops: list[object]) -> None:
    """The innermost loop becomes two."""
    schedule.split(loops[-1], [None, 2])


def fuse_loops(schedule: tvm.s_tir.Schedule, loops: list[object]) -> None:
    """The loops become one, which is unrolled."""
    schedule.unroll(schedule.fuse(*loops) if len(loops) > 1 else loops[0])


def in_database(
    make: Callable[[], tvm.transform.Pass], change: Callable[..., None], names: list[str]
) -> tvm.transform.Pass:
    """The pass within a database that has a schedule of the functions with these names."""

    def may_change(loop: tvm.tirx.Stmt) -> bool:
        # The primitives refuse in words a loop that has an annotation or is bound to a thread.
        fixed = loop.annotations or loop.thread_binding is not None
        return not fixed and getattr(loop.extent, "value", 1) != 0

    def schedule(made: tvm.s_tir.Schedule) -> bool:
        func = made.mod["main"]
        if made.mod.attrs["task_name"] not in names or "tirx.is_scheduled" in (func.attrs or {}):
            return False
        for block in made.get_child_blocks(made.get_sblock(func.body.block.name_hint)):
            loops = made.get_loops(block)
            if loops and all(may_change(made.get(each)) for each in loops):
                change(made, loops)
        return True

    def run(mod: tvm.IRModule, context: tvm.transform.PassContext) -> tvm.IRModule:
        with meta_schedule.database.ScheduleFnDatabase(schedule):
            return make()(mod)

    return tvm.transform.module_pass(run, opt_level=0, name=make.__name__)


CHANGES = (split_loop, fuse_loops)
MOST = 2
"""The number of functions that get a schedule; making one takes some 5 ms."""


def _within_a_database(c: Choices, mod: tvm.IRModule) -> PassCall:
    change = c.pick(CHANGES)
    known = _with_blocks(mod)
    names = sorted({c.pick(known) for _ in range(MOST)}) if known else []
    sources = (definition(each) for each in (change, in_database))
    return PassCall(
        f"in_database(MetaScheduleApplyDatabase, {change.__name__}, {names})",
        imports=(*IMPORTS, *sources),
    )


def _with_blocks(mod: tvm.IRModule) -> list[str]:
    """The names of the PrimFuncs that can be scheduled."""
    funcs = prim_funcs(mod)
    return sorted(gvar.name_hint for gvar, func in funcs if isinstance(func.body, ir.SBlockRealize))


def _without_prim_funcs(mod: tvm.IRModule) -> str | None:
    return None if _with_blocks(mod) else "no PrimFunc with a block"


def _scheduled(before: tvm.IRModule, after: tvm.IRModule, call: PassCall) -> str | None:
    """tvm/tirx/function.h, kIsScheduled: a function with a record is marked."""
    functions = {gvar.name_hint: func for gvar, func in prim_funcs(after)}
    for name in ast.literal_eval(call.expr[call.expr.index("[") : -1]):
        if name not in functions:
            return "a PrimFunc is lost"
        if not attr(functions[name], "tirx.is_scheduled"):
            return "a PrimFunc that has a record is not marked as scheduled"
    return None


CONTRACTS: tuple[PassContract, ...] = (
    PassContract(
        name="MetaScheduleApplyDatabase",
        variants=_within_a_database,
        stages=(Stage.LEGALIZED, Stage.TIR_FUSED, Stage.RAW, Stage.IMPERATIVE),
        requires=_without_prim_funcs,
        looks_for=Sought(lambda mod: _without_prim_funcs(mod) is None, traits=(Trait.CALL_TIR,)),
        post=_scheduled,
    ),
)
