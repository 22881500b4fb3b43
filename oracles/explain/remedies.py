"""What to do about an operator that is not lowered: passes that are tried, and advice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import tvm

from ..passcall import PassCall
from ..structural.lowering_gaps import leftovers
from ..violation import silent
from .spelling import operator
from .steps import along

CANDIDATES: tuple[str, ...] = (
    "DeadCodeElimination",
    "RealizeVDevice",
    "LambdaLift",
    "DecomposeOpsForInference",
    "LiftTransformParams",
)
"""Passes that remove some calls, and that no pipeline for the CPU runs by themselves."""

INSTEAD: Mapping[str, str] = {
    "relax.ewise_fma": "Write `R.add(R.multiply(a, b), c)` for `R.ewise_fma(a, b, c)`.",
    "relax.builtin.stop_lift_params": "It is a mark for LiftTransformParams and computes nothing. "
    "LiftTransformParams leaves it where it is: write `a` for `R.builtin.stop_lift_params(a)` when "
    "the parameters are lifted.",
    "relax.wrap_param": "It is a mark that ToMixedPrecision uses inside. Write "
    "`R.astype(a, dtype)` for `R.wrap_param(a, dtype)`.",
    "relax.call_tir_with_grad": "Gradient makes a call_tir of it. Where you need no gradient, "
    "write `R.call_tir(f, args, out_ty)`.",
    "relax.hint_on_device": "It is a hint for RealizeVDevice, which must run before.",
}
"""What to write for operators that are known to have no legalization."""

MARKS = frozenset(INSTEAD) - {"relax.ewise_fma"}
"""Operators that are hints to a pass and compute nothing: no legalization makes sense."""


def passes(mod: tvm.IRModule, op: str, calls: Sequence[PassCall]) -> list[str]:
    """Passes which, run before the pipeline, make all calls of the operator go away: each tried.

    Args:
        mod: the user's module.
        calls: the steps of the pipeline.
    """
    return [name for name in CANDIDATES if _helps(mod, op, PassCall(f"{name}()"), calls)]


def _helps(mod: tvm.IRModule, op: str, first: PassCall, calls: Sequence[PassCall]) -> bool:
    walk = along(mod, [first, *calls], silent)
    return walk.broken is None and all(name != op for _, _, name in leftovers(walk.end))


def legalization(op: str) -> str:
    """How to bring a legalization of one's own."""
    return (
        f'Or bring your own: run `relax.transform.LegalizeOps({{"{op}": legalize}})` before the '
        f"build, where `legalize(builder, call)` returns what computes `{operator(op)}`."
    )
