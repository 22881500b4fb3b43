"""Families: passes that run on modules of one kind, at the stages of one pipeline."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import tvm
from hypothesis.strategies import SearchStrategy

from .modules import ir_modules
from .prim_funcs import prim_funcs
from .prim_funcs.arithmetic import arithmetic
from .prim_funcs.kernels import TARGETS, kernels
from .stages import ARITHMETIC, DEVICE, RELAX, TENSORIR, Stage


@dataclass(frozen=True, slots=True)
class Family:
    """The modules on which the passes of a family are checked."""

    name: str
    modules: Callable[..., SearchStrategy[tvm.IRModule]]
    """The strategy for modules of the first stage; all take the settings of `ir_modules`."""
    stages: tuple[Stage, ...]
    """The stages of the pipeline, in order."""
    targets: tuple[str, ...] = ()
    """The kinds of targets that its modules can be bound to."""
    imports: tuple[str, ...] = ()
    """Modules of TVM that its passes import at run time, slowly."""

    @property
    def first(self) -> Stage:
        """The stage of its generated modules."""
        return self.stages[0]


_INTRINSICS = ("tvm.s_tir.tensor_intrin", "tvm.s_tir.tensor_intrin.metal")
"""The rule for matrix products looks for matrix instructions of the target."""

FAMILIES: Mapping[str, Family] = {
    family.name: family
    for family in (
        Family("relax", ir_modules, tuple(RELAX)),
        Family("tensorir", prim_funcs, tuple(TENSORIR)),
        Family("dlight", kernels, tuple(DEVICE), targets=tuple(TARGETS), imports=_INTRINSICS),
        Family("arith", arithmetic, tuple(ARITHMETIC)),
    )
}
"""All families by name."""

DEFAULT = "relax"


def family_of(stage: Stage) -> Family:
    """The family of modules of this stage."""
    return next(family for family in FAMILIES.values() if stage in family.stages)


def by_family(stages: Sequence[Stage]) -> Mapping[str, tuple[Stage, ...]]:
    """The given stages by the names of their families."""
    found: dict[str, tuple[Stage, ...]] = {}
    for stage in stages:
        name = family_of(stage).name
        found[name] = (*found.get(name, ()), stage)
    return found
