"""Contracts of the passes that group calls and make one TensorIR function of each group."""

from __future__ import annotations

import tvm
from tvm import relax

from ...generators.choices import Choices
from ...generators.stages import Stage
from ..contract import PassContract
from ..inspect import attr, calls_of, global_vars, is_public, relax_functions
from ..passcall import PassCall
from .reading import spelled
from .spelling import always

MAX_DEPTH = "relax.FuseOps.max_depth"
MAX_FUSED_OPS = 256
"""docs/arch/fusion.rst: "A group cannot exceed kMaxFusedOps (256) nodes"."""


def _fuse_ops(c: Choices, mod: tvm.IRModule) -> PassCall:
    level = c.pick([None, 0, 1, 2, 4])
    depth = c.pick([None, None, 1, 2, 3, 5])
    config = {} if depth is None else {MAX_DEPTH: depth}
    return PassCall(spelled("FuseOps", fuse_opt_level=level), config=config)


def _grouped(before: tvm.IRModule, after: tvm.IRModule, call: PassCall) -> str | None:
    """docs/arch/fusion.rst: each group is a private function with Primitive that is called."""
    known = {gvar.name_hint for gvar in before.get_global_vars()}
    new = {g.name_hint: f for g, f in after.functions_items() if g.name_hint not in known}
    if not known <= {gvar.name_hint for gvar in after.get_global_vars()}:
        return "a function is lost"
    used = {g.name_hint for g in global_vars(after)}
    for name, func in new.items():
        if not isinstance(func, relax.Function) or is_public(func):
            return "a new function is no private Relax function"
        if not attr(func, "Primitive"):
            return "a group's function has no attribute Primitive"
        if name not in used:
            return "a group's function is called nowhere"
        if len(calls_of(func)) > call.config.get(MAX_DEPTH, MAX_FUSED_OPS):
            return "a group holds more calls than max_depth allows"
    if "fuse_opt_level=0" in call.expr and new:
        return "groups although fuse_opt_level is 0"
    return None


def _groups_lowered(before: tvm.IRModule, after: tvm.IRModule, call: PassCall) -> str | None:
    """Docstring and docs/arch/fusion.rst: one PrimFunc for each group of call_tir."""
    for _, func in relax_functions(after):
        if attr(func, "Primitive") and not attr(func, "Codegen"):
            return "a Relax function with attribute Primitive is left"
    return None


CONTRACTS: tuple[PassContract, ...] = (
    PassContract(
        name="FuseOps",
        variants=_fuse_ops,
        stages=(Stage.ANNOTATED, Stage.LEGALIZED, Stage.RAW, Stage.FUSED),
        post=_grouped,
        cost=0.4,
    ),
    PassContract(
        name="FuseTIR",
        variants=always("FuseTIR()"),
        stages=(Stage.FUSED, Stage.ANNOTATED, Stage.TIR_FUSED),
        post=_groups_lowered,
        cost=1.5,
    ),
)
