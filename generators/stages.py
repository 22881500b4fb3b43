"""Stages: a pass is fed modules as it meets them in the compilation pipeline."""

from __future__ import annotations

import enum
from collections.abc import Mapping

import tvm
from tvm import relax

from ..compat import availability


class Stage(enum.StrEnum):
    """How far a module has come on its way through the default pipeline, in order."""

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


STEPS: Mapping[Stage, tuple[str, ...]] = {
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
"""The passes that take a module from the stage before to this one (none takes arguments)."""

assert tuple(STEPS) == tuple(Stage), "STEPS lists every stage, in order"


def usable() -> list[Stage]:
    """The stages that modules reach on the installed TVM, in order."""
    off = availability.current().stages
    return [stage for stage in Stage if stage not in off]


def steps(to: Stage) -> tuple[str, ...]:
    """The passes of `STEPS` that take a module to this stage on the installed TVM."""
    off = availability.current().steps
    return tuple(name for name in STEPS[to] if name not in off)


def last_step(stage: Stage) -> str | None:
    """The pass that a module of this stage has been through last; None for a raw one."""
    order = list(Stage)
    names = [name for each in order[: order.index(stage) + 1] for name in steps(each)]
    return names[-1] if names else None


def step(mod: tvm.IRModule, name: str) -> tvm.IRModule:
    """Apply one pass of `STEPS` for the CPU target; exceptions of the pass are not caught."""
    with tvm.target.Target("llvm"):
        return getattr(relax.transform, name)()(mod)


def advance(mod: tvm.IRModule, to: Stage) -> tvm.IRModule:
    """Take a raw module to this stage."""
    order = list(Stage)
    for stage in order[: order.index(to) + 1]:
        for name in steps(stage):
            mod = step(mod, name)
    return mod
