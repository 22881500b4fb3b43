"""The costs of oracles and passes, which determine their shares of a campaign's checks.

A new oracle or pass needs no row here, as it gets the cost of an ordinary one. `make bench` prints
measured costs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ...oracles.contract import PassContract


@dataclass(frozen=True, slots=True)
class OracleCost:
    """The cost of an oracle above tier 1, and what a campaign spends on it."""

    ms: float = 20.0
    """Rough time of one check in milliseconds; costlier oracles are asked more rarely."""
    worth: float = 1.0
    """Factor on the tier's usual time for the oracle, based on the root causes that a second of it
    found in measured campaigns."""
    copies: bool = False
    """True if the oracle runs the pass on copies of the module. Its text is saved before the
    checks, which is cheaper than generating the module for each copy."""


ORACLES: Mapping[str, OracleCost] = {
    "devices": OracleCost(0.3),
    "json": OracleCost(15.0, copies=True),
    "source": OracleCost(36.0),
    "function-order": OracleCost(3.0),
    "tvmscript": OracleCost(80.0, worth=4.0),
    "history": OracleCost(40.0, copies=True),
    "fresh-process": OracleCost(150.0),  # 1,100 if a process is started
    "sanitized": OracleCost(2.0),
    "evaluated": OracleCost(10.0),
    "effects": OracleCost(0.4),
    "gradient": OracleCost(0.1),  # 10 if the pass is Gradient
    "executed": OracleCost(20.0),  # 150 if the pass changes a module that the evaluator knows
    # 150 and 200 for a pipeline, but few checks are of pipelines.
    "executed-by-pipeline": OracleCost(5.0, worth=10.0),
    "operator-laws-by-pipeline": OracleCost(5.0),
}
"""The oracles above tier 1 that need no device. The cost on a device depends on the device."""


@dataclass(frozen=True, slots=True)
class PassCost:
    """The cost of a pass, and its share of a campaign."""

    ms: float = 0.25
    """Rough time of one bare application in milliseconds; slow passes get a smaller share."""
    share: float | None = None
    """Share of the checks; None: the usual share, which depends on the cost."""


PASSES: Mapping[str, PassCost] = {
    "FuseTIR": PassCost(1.5),
    "LazyTransformParams": PassCost(2.0),
    "DataflowUseInplaceCalls": PassCost(2.0),
    "LegalizeOps": PassCost(4.0),
    "MetaScheduleApplyDatabase": PassCost(10.0),
    "FoldConstant": PassCost(30.0),
    "s_tir.DefaultGPUSchedule": PassCost(2.0),
    "dlight.ApplyDefaultSchedule": PassCost(20.0),
    "relax.get_default_pipeline": PassCost(100.0, share=0.01),
    "tirx.get_default_tir_pipeline": PassCost(60.0, share=0.05),
}
"""The passes that take much longer than most."""

UNKNOWN = PassCost(1000.0)
"""The cost of a pass without a contract, which gives it the least share."""


def of_oracle(name: str) -> OracleCost:
    """The cost of an oracle."""
    return ORACLES.get(name, OracleCost())


def of_pass(contract: PassContract, like: str | None = None) -> PassCost:
    """The cost of the pass with this contract.

    Args:
        like: the pass of TVM that a user's own pass replaces.
    """
    if contract.universal_only:
        return UNKNOWN
    return PASSES.get(like or contract.name, PassCost())
