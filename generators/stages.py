"""Stages: each pass gets modules in the form they have at its place in the pipeline."""

from __future__ import annotations

import enum
import functools
from collections.abc import Mapping

import tvm
from tvm import relax, s_tir, tirx

from ..compat import availability


class Stage(enum.StrEnum):
    """The progress of a module through a default pipeline, in order."""

    # Stages of relax.build

    RAW = "raw"
    LEGALIZED = "legalized"
    ANNOTATED = "annotated"
    FUSED = "fused"
    TIR_FUSED = "tir_fused"
    IMPERATIVE = "imperative"
    REWRITTEN = "rewritten"
    PLANNED = "planned"
    ALLOCATED = "allocated"
    KILLED = "killed"
    BUILTINS_LOWERED = "builtins_lowered"
    LOWERED = "lowered"
    # Stages of tirx.build
    TENSORIR = "tensorir"
    BOUND = "bound"
    INIT_LOWERED = "init_lowered"
    ALLOCATIONS_PLACED = "allocations_placed"
    OPAQUE = "opaque"
    COMPACTED = "compacted"
    MATCHES_LOWERED = "matches_lowered"
    BLOCKS_LOWERED = "blocks_lowered"
    FLATTENED = "flattened"
    LOOPS_LOWERED = "loops_lowered"
    ANNOTATED_ENTRY = "annotated_entry"
    SPLIT = "split"
    PACKED = "packed"
    HOST_LOWERED = "host_lowered"
    # Stages of tirx.build for a device
    KERNELS = "kernels"
    SCHEDULED = "scheduled"
    REDUCTIONS_LOWERED = "reductions_lowered"
    THREADS_LIFTED = "threads_lifted"
    THREADS_UNIFIED = "threads_unified"
    DEVICE_BLOCKS_LOWERED = "device_blocks_lowered"
    DEVICE_FLATTENED = "device_flattened"
    DEVICE_LOOPS_LOWERED = "device_loops_lowered"
    DEVICE_ENTRY = "device_entry"
    SYNCHRONIZED = "synchronized"
    ALLREDUCED = "allreduced"
    DEVICE_SPLIT = "device_split"
    # No pipeline: expressions for TVM's arithmetic analyzer
    EXPRESSIONS = "expressions"


RELAX: Mapping[Stage, tuple[str, ...]] = {
    Stage.RAW: (),
    Stage.LEGALIZED: ("LegalizeOps",),
    Stage.ANNOTATED: ("AnnotateTIROpPattern",),
    Stage.FUSED: ("FuseOps",),
    Stage.TIR_FUSED: ("FuseTIR",),
    Stage.IMPERATIVE: ("ToNonDataflow", "RemovePurityChecking"),
    Stage.REWRITTEN: ("CallTIRRewrite",),
    Stage.PLANNED: ("StaticPlanBlockMemory",),
    Stage.ALLOCATED: ("LowerAllocTensor",),
    Stage.KILLED: ("KillAfterLastUse",),
    Stage.BUILTINS_LOWERED: ("LowerRuntimeBuiltin", "ComputePrimValue"),
    Stage.LOWERED: ("VMShapeLower", "AttachGlobalSymbol"),
}
"""The default pipeline of `relax.build`: for each stage, the passes that lead to it from the
previous one."""

TENSORIR: Mapping[Stage, tuple[str, ...]] = {
    Stage.TENSORIR: (),
    Stage.BOUND: ("tirx.BindTarget(tvm.target.Target('llvm', host='llvm'))",),
    Stage.INIT_LOWERED: (
        "s_tir.CanonicalizeLoop",
        "s_tir.LowerCrossThreadReduction",
        "s_tir.LowerInitBlock",
    ),
    Stage.ALLOCATIONS_PLACED: ("s_tir.PlanAndUpdateBufferAllocationLocation",),
    Stage.OPAQUE: ("s_tir.ConvertBlocksToOpaque",),
    Stage.COMPACTED: (
        "s_tir.LiftThreadBinding",
        "s_tir.ManifestSharedMemoryLocalStage",
        "s_tir.CompactBufferAllocation",
    ),
    Stage.MATCHES_LOWERED: (
        "s_tir.LowerAutoCopy",
        "s_tir.UnifyThreadBinding",
        "s_tir.LowerMatchBuffer",
    ),
    Stage.BLOCKS_LOWERED: (
        "s_tir.StmtSimplify",
        "s_tir.InjectPermutedLayout",
        "s_tir.AnnotateIrregularLoop",
        "s_tir.InjectSoftwarePipeline",
        "s_tir.TransformMmaBufferLayout",
        "s_tir.LowerOpaqueBlock",
    ),
    Stage.FLATTENED: ("tirx.FlattenBuffer",),
    Stage.LOOPS_LOWERED: (
        "tirx.BF16ComputeLegalize",
        "tirx.NarrowDataType(32)",
        "s_tir.LoopPartition",
        "tirx.VectorizeLoop",
        "s_tir.InjectVirtualThread",
        "s_tir.InjectDoubleBuffer",
        "tirx.StorageRewrite",
        "s_tir.HoistIfThenElse",
        "tirx.UnrollLoop",
    ),
    Stage.ANNOTATED_ENTRY: (
        "s_tir.RenormalizeSplitPattern",
        "tirx.StmtSimplify",
        "tirx.RemoveNoOp",
        "s_tir.RewriteUnsafeSelect",
        "tirx.CommonSubexprElim",
        "tirx.FP8ComputeLegalize",
        "tirx.VerifyMemory",
        "tirx.AnnotateEntryFunc",
    ),
    Stage.SPLIT: ("s_tir.MergeSharedMemoryAllocations", "tirx.SplitHostDevice"),
    Stage.PACKED: ("tirx.MakePackedAPI",),
    Stage.HOST_LOWERED: (
        "tirx.FP8StorageLegalize",
        "tirx.BF16StorageLegalize",
        "tirx.LowerTVMBuiltin",
        "tirx.LowerIntrin",
    ),
}
"""The same for `tirx.build` for a CPU: tvm/tirx/build.py binds the target; the default pipeline in
tvm/s_tir/pipeline.py has the passes after that. Passes only for threads and memory of devices
(VTCM, barriers, fragments, all-reduce) are left out."""

DEVICE: Mapping[Stage, tuple[str, ...]] = {
    Stage.KERNELS: (),
    Stage.SCHEDULED: (
        "dlight.ApplyDefaultSchedule(s_tir.dlight.gpu.Matmul(), s_tir.dlight.gpu.GEMV(), "
        "s_tir.dlight.gpu.Reduction(), s_tir.dlight.gpu.GeneralReduction(), "
        "s_tir.dlight.gpu.Fallback())",
    ),
    Stage.REDUCTIONS_LOWERED: TENSORIR[Stage.INIT_LOWERED],
    Stage.THREADS_LIFTED: (
        "s_tir.PlanAndUpdateBufferAllocationLocation",
        "s_tir.ConvertBlocksToOpaque",
        "s_tir.LiftThreadBinding",
    ),
    Stage.THREADS_UNIFIED: (
        "s_tir.ManifestSharedMemoryLocalStage",
        "s_tir.CompactBufferAllocation",
        *TENSORIR[Stage.MATCHES_LOWERED],
    ),
    Stage.DEVICE_BLOCKS_LOWERED: TENSORIR[Stage.BLOCKS_LOWERED],
    Stage.DEVICE_FLATTENED: TENSORIR[Stage.FLATTENED],
    Stage.DEVICE_LOOPS_LOWERED: TENSORIR[Stage.LOOPS_LOWERED],
    Stage.DEVICE_ENTRY: TENSORIR[Stage.ANNOTATED_ENTRY],
    Stage.SYNCHRONIZED: (
        "s_tir.ThreadSync('shared')",
        "s_tir.ThreadSync('shared.dyn')",
        "s_tir.ThreadSync('warp')",
    ),
    Stage.ALLREDUCED: ("s_tir.InferFragment", "s_tir.LowerThreadAllreduce"),
    Stage.DEVICE_SPLIT: TENSORIR[Stage.SPLIT],
}
"""The same for a device: the schedules of tvm/relax/backend/gpu_generic/pipeline.py, then the
default pipeline of `tirx.build`, with a stage after each pass that changes the work of threads."""

ARITHMETIC: Mapping[Stage, tuple[str, ...]] = {Stage.EXPRESSIONS: ()}
"""No pipeline: TVM's arithmetic analyzer gets the expressions unchanged."""

PIPELINES = (RELAX, TENSORIR, DEVICE, ARITHMETIC)

STEPS: Mapping[Stage, tuple[str, ...]] = {
    stage: names for steps in PIPELINES for stage, names in steps.items()
}

assert tuple(STEPS) == tuple(Stage), "STEPS lists every stage, in order"

MODULES: Mapping[str, str] = {
    "tirx": "tirx.transform",
    "s_tir": "s_tir.transform",
    "dlight": "s_tir.dlight",
}
"""The modules of passes below Relax, by the prefix of the passes' names: several names occur in two
modules, and two of them also in `tvm.relax.transform`."""


@functools.cache
def chain(stage: Stage) -> tuple[Stage, ...]:
    """All stages of the pipeline that this one belongs to, in order."""
    return next(tuple(steps) for steps in PIPELINES if stage in steps)


def between(first: Stage, last: Stage) -> tuple[Stage, ...]:
    """The stages of one pipeline from one to another, inclusive."""
    order = chain(first)
    return order[order.index(first) : order.index(last) + 1]


def usable(among: Stage = Stage.RAW) -> list[Stage]:
    """The stages of this one's pipeline that modules can reach on the installed TVM, in order."""
    off = availability.current().stages
    return [stage for stage in chain(among) if stage not in off]


def steps(to: Stage) -> tuple[str, ...]:
    """The passes of `STEPS` that take a module to this stage on the installed TVM."""
    off = availability.current().steps
    return tuple(name for name in STEPS[to] if name not in off)


def last_step(stage: Stage) -> str | None:
    """The last pass that a module of this stage has gone through; None for a raw one."""
    order = chain(stage)
    names = [name for each in order[: order.index(stage) + 1] for name in steps(each)]
    return pass_of(names[-1]) if names else None


def pass_of(name: str) -> str:
    """The name of the pass of a step of `STEPS`, which may have arguments."""
    return name.partition("(")[0]


def pass_to(stage: Stage) -> str:
    """The pass of `STEPS` whose result is at this stage."""
    return pass_of(STEPS[stage][-1])


LEGALIZER = pass_to(Stage.LEGALIZED)
"""The pass that lowers operators in general."""


def expression(name: str) -> str:
    """The pass of `STEPS` as a Python expression over the names of `made`.

    A pass that is not in its module is searched in the others, because passes have moved between
    releases.
    """
    call = name if name.endswith(")") else f"{name}()"
    family, dot, rest = call.partition(".")
    if not dot or family not in MODULES:
        return call
    path = MODULES[family]
    others = (other for other in MODULES.values() if _has(other, pass_of(rest)))
    return f"{path if _has(path, pass_of(rest)) else next(others, path)}.{rest}"


def _has(path: str, name: str) -> bool:
    return hasattr(functools.reduce(getattr, path.split("."), tvm), name)


def made(name: str) -> tvm.transform.Pass:
    """The pass of `STEPS`.

    Raises:
        NameError, AttributeError: the installed TVM does not have the pass.
    """
    return eval(expression(name), {"tvm": tvm, "tirx": tirx, "s_tir": s_tir}, vars(relax.transform))


def step(mod: tvm.IRModule, name: str) -> tvm.IRModule:
    """Apply one pass of `STEPS` for the CPU target; exceptions of the pass are not caught."""
    with tvm.target.Target("llvm"):
        return made(name)(mod)


def advance(mod: tvm.IRModule, to: Stage) -> tvm.IRModule:
    """Take a raw module to this stage."""
    order = chain(to)
    for stage in order[: order.index(to) + 1]:
        for name in steps(stage):
            mod = step(mod, name)
    return mod
