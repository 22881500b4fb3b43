"""Passes of the installed TVM that nobody has written a contract for."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Mapping

import tvm

from ...generators.choices import Choices
from ...generators.stages import DEVICE, RELAX, TENSORIR, Stage
from ..contract import PassContract, Variants
from ..passcall import PassCall, constructor, public_passes

UNKNOWN_COST = 1000.0
"""So that a campaign gives the pass the least share."""

_STAGES: Mapping[str, tuple[Stage, ...]] = {
    "tirx": (*TENSORIR, *DEVICE),
    "s_tir": (*TENSORIR, *DEVICE),
    "dlight": (Stage.KERNELS,),
}
"""Of passes below Relax, by what stands before their names."""


@functools.cache
def without_contract(name: str) -> PassContract:
    """What stands for the contract of a pass that has none."""
    return PassContract(
        name=name,
        variants=_defaults(name),
        no_variants="it cannot be constructed with the defaults of its signature",
        stages=_STAGES.get(name.partition(".")[0], tuple(RELAX)),
        universal_only=True,
        cost=UNKNOWN_COST,
    )


def _defaults(name: str) -> Variants:
    """The defaults of the signature; of a flag also the other value."""
    flags = {n: p.default for n, p in _parameters(name).items() if isinstance(p.default, bool)}

    def variants(choices: Choices, mod: tvm.IRModule) -> PassCall | None:
        flipped = choices.subset(list(flags), 0.25)
        given = ", ".join(f"{flag}={not flags[flag]}" for flag in flipped)
        call = PassCall(f"{public_passes()[name]}({given})")
        try:
            call.build()
        except Exception:
            return None
        return call

    return variants


def missing_arguments(name: str) -> tuple[str, ...]:
    """The parameters of a pass without a default."""
    several = inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD
    return tuple(
        parameter.name
        for parameter in _parameters(name).values()
        if parameter.default is inspect.Parameter.empty and parameter.kind not in several
    )


def _parameters(name: str) -> Mapping[str, inspect.Parameter]:
    try:
        return inspect.signature(constructor(name)).parameters
    except ValueError:  # of a class that only C++ defines
        return {}
