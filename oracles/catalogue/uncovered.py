"""Passes of the installed TVM without a contract."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Mapping

import tvm

from ...generators.choices import Choices
from ...generators.stages import DEVICE, RELAX, TENSORIR, Stage
from ..contract import PassContract, Variants
from ..passcall import PassCall, constructor, public_passes

_STAGES: Mapping[str, tuple[Stage, ...]] = {
    "tirx": (*TENSORIR, *DEVICE),
    "s_tir": (*TENSORIR, *DEVICE),
    "dlight": (Stage.KERNELS,),
}
"""The stages of passes below Relax, by the prefix of their names."""


@functools.cache
def without_contract(name: str) -> PassContract:
    """The placeholder for the contract of a pass that has none."""
    return PassContract(
        name=name,
        variants=_defaults(name),
        no_variants="it cannot be constructed with the defaults of its signature",
        stages=_STAGES.get(name.partition(".")[0], tuple(RELAX)),
        universal_only=True,
    )


def _defaults(name: str) -> Variants:
    """Calls with the defaults of the signature, some with a flag flipped."""
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
    except ValueError:  # a class that only C++ defines has no signature
        return {}
