"""Contracts of rules that schedule kernels for devices, and of passes that lower thread code."""

from __future__ import annotations

import ast
from typing import Any

import tvm
from tvm import tirx

from ...compat import ir
from ...compat.structural import structural_equal
from ...generators.choices import Choices
from ...generators.prim_funcs.kernels import TARGETS
from ...generators.stages import DEVICE, Stage, expression
from ..contract import Exemption, NormalForm, PassContract, Rejection
from ..inspect import attr, is_bound_to_threads, nodes, prim_funcs, stores_in_blocks
from ..pass_arguments import positional, text_of
from ..passcall import PassCall
from ..tensorir.sanitizer.races import variables
from ..tensorir.threads.launch import ALLREDUCE, calls
from ..tensorir.threads.limits import shared_buffers
from .common import definition, one_of
from .launches import is_of_device, over_limits_after
from .tensorir_common import (
    dynamic_pieces,
    has,
    keeps_shared_memory,
    mostly_on_a_copy,
    outgrown,
    with_target,
)


def _rules(*names: str) -> str:
    return f"s_tir.dlight.ApplyDefaultSchedule({', '.join(f's_tir.dlight.{n}()' for n in names)})"


REST = ("gpu.Reduction", "gpu.GeneralReduction", "gpu.Fallback")

(DEFAULT,) = map(expression, DEVICE[Stage.SCHEDULED])
"""The default schedules: tvm/relax/backend/{cuda,rocm,gpu_generic}/pipeline.py."""

ADRENO = ("adreno.Conv2d", "adreno.LayoutTransform", "adreno.Pool2D")
ADRENO_LISTS = (_rules(*ADRENO), _rules(*REST))
"""The lists of rules that tvm/relax/backend/adreno/pipeline.py applies one after the other."""

SINGLE = (
    "gpu.Matmul",
    "gpu.GEMV",
    "gpu.LowBatchGEMV",
    "gpu.Reduction",
    "gpu.GeneralReduction",
    "gpu.RMSNorm",
    "gpu.Transpose",
    "gpu.Fallback",
)
"""Rules that may each stand alone: they leave functions not of their kind unchanged."""


CPU = ("cpu.GEMV", "cpu.Reduction")
"""Rules for functions of the host; not every TVM has all of them. Like the rules in `SINGLE`, they
leave functions not of their kind unchanged."""


DEVICES = 0.7
"""The chance that functions without a target are scheduled for a device, the aim of most rules."""


def _of_cpu(mod: tvm.IRModule, call: PassCall) -> bool:
    return "dlight.cpu." in call.expr


def _kernels(mod: tvm.IRModule) -> list[tirx.PrimFunc]:
    return [func for _, func in prim_funcs(mod) if _is_kernel(func)]


def _is_kernel(func: tirx.PrimFunc) -> bool:
    return is_of_device(attr(func, "target"))


# Its source goes into reproducers.
def under_target(pass_: tvm.transform.Pass, target: dict[str, Any]) -> tvm.transform.Pass:
    """The pass with this current target."""

    def run(mod: tvm.IRModule, context: tvm.transform.PassContext) -> tvm.IRModule:
        with tvm.target.Target(target, host="llvm"):
            return pass_(mod)

    return tvm.transform.module_pass(run, opt_level=0, name="under_target")


def _under_device(choices: Choices) -> PassCall:
    """The schedules under a current target: `ApplyDefaultSchedule` asks for `Target.current` if
    functions have no target of their own.
    """
    target = dict(TARGETS[choices.pick(tuple(TARGETS))])
    rules = _rules(choices.pick(SINGLE)) if choices.flag() else DEFAULT
    inner = mostly_on_a_copy(choices, rules)
    imports = dict.fromkeys(("import tvm", *inner.imports, _TYPES, definition(under_target)))
    return PassCall(f"under_target({inner.expr}, {target!r})", imports=tuple(imports))


_TYPES = "from typing import Any"


def _current(call: PassCall) -> tvm.target.Target | None:
    """The current target that the call sets."""
    if not call.expr.startswith("under_target("):
        return None
    return tvm.target.Target(ast.literal_eval(text_of(call, 1)), host="llvm")


def _bound(mod: tvm.IRModule, target: tvm.target.Target) -> tvm.IRModule:
    """The module with this target for the PrimFuncs that have none."""
    return tvm.IRModule(
        {
            gvar: func if attr(func, "target") is not None else func.with_attr("target", target)
            for gvar, func in prim_funcs(mod)
        }
    )


def _schedules(choices: Choices, mod: tvm.IRModule) -> PassCall:
    kernels = _kernels(mod)
    unbound = any(attr(func, "target") is None for _, func in prim_funcs(mod))
    if not kernels and unbound and choices.flag(DEVICES):
        return _under_device(choices)
    if not kernels:
        names = [name for name in CPU if hasattr(tvm.s_tir.dlight.cpu, name.partition(".")[2])]
        return mostly_on_a_copy(choices, _rules(choices.pick(names)))
    rules: tuple[str, ...] = SINGLE
    default = DEFAULT
    if all("adreno" in attr(func, "target").keys for func in kernels):
        rules = (*ADRENO, "adreno.Fallback", *SINGLE)
        default = _rules(*ADRENO, *REST)
    expr = _rules(choices.pick(rules)) if choices.flag() else default
    return mostly_on_a_copy(choices, expr)


def _on_threads(before: tvm.IRModule, after: tvm.IRModule, call: PassCall) -> str | None:
    """Fallback: "A fallback schedule rule for all GPU operators. It will try to inline all the
    blocks first, and then apply a simple block/grid mapping". The target gives the limits."""
    target = _current(call)
    if target is not None:
        before, after = _bound(before, target), _bound(after, target)
    over = over_limits_after(before, after) or _over_limits_lowered(before, after)
    if over is not None:
        return over
    given = {str(gvar.name_hint) for gvar, func in prim_funcs(before) if _is_scheduled(func)}
    for gvar, func in prim_funcs(after):
        if not _is_kernel(func):
            continue
        if _is_scheduled(func):
            # A kernel marked before the pass may have been scheduled in another way.
            new = "Fallback" in call.expr or str(gvar.name_hint) not in given
            if new and _stores_outside_of_threads(func):
                return "a kernel stores outside of its threads"
        elif "Fallback" in call.expr:
            return "a kernel is not marked as scheduled"
    return None


def _is_scheduled(func: tirx.PrimFunc) -> bool:
    return bool(attr(func, "tirx.is_scheduled"))


def _stores_outside_of_threads(func: tirx.PrimFunc) -> bool:
    """True if a store is not in a loop over threads. VerifyMemory, in the default pipeline of
    `tirx.build`, refuses such a store: "Did you forget to bind?"."""
    bound = filter(_is_bound, nodes(func, ir.For))
    on_threads = {store.__chandle__() for loop in bound for store in nodes(loop, ir.BufferStore)}
    return any(each.__chandle__() not in on_threads for each in _scheduled_stores(func))


def _over_limits_lowered(before: tvm.IRModule, after: tvm.IRModule) -> str | None:
    """Report as `over_limits_after` does, after the default pipeline of `tirx.build`: only then
    does the shared memory of kernels have its size.
    """
    if not any(map(shared_buffers, _kernels(after))):
        return None
    try:
        lowered = tvm.s_tir.pipeline.default_s_tir_pipeline()[0](after)
    except Exception:  # a pass of the pipeline that raises also raises in its own check
        return None
    return over_limits_after(before, lowered)


def _bound_to_threads(before: tvm.IRModule, after: tvm.IRModule, call: PassCall) -> str | None:
    """Docstring: "Set default thread bindings for GPU PrimFuncs". The target says what there is.
    Loops of blocks are bound: code outside of blocks has none.
    """
    over = over_limits_after(before, after)
    acting = (func for func in _kernels(after) if _acts_in_blocks(func))
    if over is None and not all(map(is_bound_to_threads, acting)):
        return "a kernel is not bound to threads"
    return over


def _scheduled_stores(func: tirx.PrimFunc) -> list[Any]:
    """The stores in blocks; all stores if the function has no blocks.

    Docstring of Fallback: "apply a simple block/grid mapping to the spatial loops on top of the
    remaining blocks".
    """
    return stores_in_blocks(func) or nodes(func, ir.BufferStore)


def _acts_in_blocks(func: tirx.PrimFunc) -> bool:
    """True if a block below the root stores something."""
    return bool(stores_in_blocks(func))


def _scope(call: PassCall) -> str:
    """The pass's argument; for a pass declared like it, the pipeline's first one.

    Docstring: "Insert sync between parallel read/write of shared buffers"; storage_scope: "The
    target storage scope".
    """
    if call.factory:
        return "shared"
    # A step of a pipeline gets a copy of its module, so the pass is called inside another call.
    start = call.expr.find("s_tir.transform.ThreadSync(")
    inner = call.expr[start:].partition(")")[0] + ")" if start > 0 else call.expr
    return str(positional(PassCall(inner))[0])


def _allreduced(before: tvm.IRModule, after: tvm.IRModule, call: PassCall) -> str | None:
    """Docstring: "Lower cross thread allreduce"."""
    if any(calls(func, ALLREDUCE) for _, func in prim_funcs(after)):
        return "an allreduce is left"
    return outgrown(before, after)


def _merges(choices: Choices, mod: tvm.IRModule) -> PassCall:
    """The pass, with or without the option to merge memory of known size as well."""
    expr = "s_tir.transform.MergeSharedMemoryAllocations()"
    return choices.pick((PassCall(expr), PassCall(expr, {"tirx.merge_static_smem": True})))


def _with_barriers(mod: tvm.IRModule) -> str | None:
    """Require barriers for merged memory, although the pass inserts none. ThreadSync treats all
    dynamic shared memory of a kernel as one buffer, so its barriers still suffice after the merge
    (apache/tvm#15478)."""
    if dynamic_pieces(mod) < 2:
        return None
    try:
        synchronized = tvm.s_tir.transform.ThreadSync("shared.dyn")(mod)
    except Exception:
        return "dynamic shared memory that no barrier can stand in"
    alike = structural_equal(synchronized, mod, map_free_vars=True)
    return None if alike else "dynamic shared memory: ThreadSync('shared.dyn') comes first"


def _is_bound(loop: ir.For) -> bool:
    return bool(loop.kind == ir.ForKind.THREAD_BINDING)


def _has_idle_loops(error: Exception, mod: tvm.IRModule) -> bool:
    """True if the module has a loop of one iteration whose variable nothing uses."""
    return any(
        getattr(loop.extent, "value", None) == 1
        and loop.loop_var.__chandle__() not in variables(loop.body)
        for _, func in prim_funcs(mod)
        for loop in nodes(func, ir.For)
    )


CONTRACTS: tuple[PassContract, ...] = (
    PassContract(
        name="dlight.ApplyDefaultSchedule",
        variants=_schedules,
        stages=(Stage.KERNELS, Stage.BOUND),
        post=_on_threads,
        exemptions=(
            Exemption(
                "allocations",
                "a buffer of the function that one parallel iteration uses is placed into it later",
                "docstring of PlanAndUpdateBufferAllocationLocation: 'Locate the buffer allocation "
                "to the exact position (usually is the lca of buffer access)'",
                _of_cpu,
            ),
        ),
    ),
    PassContract(
        name="s_tir.DefaultGPUSchedule",
        requires=with_target,
        stages=(Stage.KERNELS,),
        post=_bound_to_threads,
    ),
    PassContract(
        name="s_tir.LowerCrossThreadReduction",
        stages=(Stage.SCHEDULED,),
        looks_for=has(ir.For, _is_bound),
        normal_form=NormalForm(
            "docstring: 'Lower cross-thread reduction from thread bindings to intrinsic function "
            "calls'"
        ),
        rejections=(
            Rejection(
                "requires all the reduction-related loops to be the deepest",
                "the message itself, of src/s_tir/transform/lower_cross_thread_reduction.cc. "
                "DLight puts a loop around the block. If it has one iteration, StmtSimplify drops "
                "its variable from the axes; TVM's pipelines simplify later",
                when=_has_idle_loops,
            ),
        ),
    ),
    PassContract(
        name="s_tir.LiftThreadBinding",
        stages=(Stage.REDUCTIONS_LOWERED, Stage.THREADS_LIFTED),
        looks_for=has(ir.For, _is_bound),
    ),
    PassContract(
        name="s_tir.ManifestSharedMemoryLocalStage",
        stages=(Stage.THREADS_LIFTED,),
    ),
    PassContract(
        name="s_tir.UnifyThreadBinding",
        stages=(Stage.THREADS_LIFTED, Stage.THREADS_UNIFIED),
        looks_for=has(ir.For, _is_bound),
        normal_form=NormalForm("docstring: 'Unify all the thread bindings'"),
    ),
    PassContract(
        name="s_tir.InjectVirtualThread",
        stages=(Stage.DEVICE_FLATTENED, Stage.DEVICE_LOOPS_LOWERED),
    ),
    PassContract(
        name="s_tir.ThreadSync",
        variants=one_of(
            "s_tir.transform.ThreadSync('shared')",
            "s_tir.transform.ThreadSync('shared.dyn')",
            "s_tir.transform.ThreadSync('warp')",
        ),
        stages=(Stage.DEVICE_LOOPS_LOWERED, Stage.DEVICE_ENTRY, Stage.SYNCHRONIZED),
        synchronizes=_scope,
        rejections=(
            Rejection(
                "Cannot insert syncs inside condition",
                "the message itself, of src/s_tir/transform/thread_storage_sync.cc: not all "
                "threads would reach the barrier",
            ),
        ),
    ),
    PassContract(
        name="s_tir.LowerThreadAllreduce",
        requires=with_target,
        stages=(Stage.SYNCHRONIZED,),
        post=_allreduced,
        normal_form=NormalForm("docstring: 'Lower cross thread allreduce'"),
    ),
    PassContract(
        name="s_tir.MergeSharedMemoryAllocations",
        variants=_merges,
        requires=_with_barriers,
        stages=(Stage.ALLREDUCED,),
        post=keeps_shared_memory,
    ),
    PassContract(
        name="tirx.LowerWarpMemory",
        requires=with_target,
        stages=(Stage.DEVICE_SPLIT,),
        normal_form=NormalForm(
            "docstring: 'Lower warp memory access to low-level device related function calls'"
        ),
    ),
)
