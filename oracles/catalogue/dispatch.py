"""Contracts of the passes that place values on devices and operators on libraries."""

from __future__ import annotations

import tvm

from ...generators.stages import Stage
from ..contract import PassContract, Rejection
from ..inspect import ops_used
from ..passcall import PassCall
from .spelling import always


def _hints_realized(before: tvm.IRModule, after: tvm.IRModule, call: PassCall) -> str | None:
    """Docstring: "Propagate virtual device information"; the hints become it."""
    return "relax.hint_on_device is left" if "relax.hint_on_device" in ops_used(after) else None


CONTRACTS: tuple[PassContract, ...] = (
    PassContract(
        name="RealizeVDevice",
        variants=always("RealizeVDevice()"),
        stages=(Stage.RAW, Stage.LEGALIZED, Stage.IMPERATIVE),
        post=_hints_realized,
        rejections=(
            Rejection(
                r"The target VDevice in the GlobalInfos was not found"
                r"|no such device was found in the IRModule's \"vdevice\" annotation",
                "the message names what the module lacks",
            ),
        ),
        cost=0.3,
    ),
)
