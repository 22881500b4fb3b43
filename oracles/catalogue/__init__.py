"""The contracts of the passes of `tvm.relax.transform` and of the dispatch of CPU builds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..contract import PassContract
from . import (
    algebra,
    byoc,
    canonicalization,
    dispatch,
    fusion,
    layout,
    legalization,
    lowering,
    memory,
    params,
    structure,
    training,
)

FAMILIES = (
    structure,
    canonicalization,
    params,
    training,
    algebra,
    layout,
    byoc,
    dispatch,
    legalization,
    fusion,
    lowering,
    memory,
)
"""Every module of contracts, roughly in the order in which a build meets their passes."""

_TUNING = "needs a tuning database or a tuning run, and changes the bodies of PrimFuncs only"
_GPU = "acts only on memory that CUDA devices of several processes share"

LEFT_OUT: Mapping[str, str] = {
    "IPCAllReduceRewrite": _GPU,
    "LowerGPUIPCAllocStorage": _GPU,
    "MetaScheduleApplyDatabase": _TUNING,
    "MetaScheduleTuneIRMod": _TUNING,
    "MetaScheduleTuneTIR": _TUNING,
    "VMBuiltinLower": "the old name of LowerRuntimeBuiltin, which gives a warning",
}
"""Public passes without a contract, and why. Nothing but the strict default is known of them."""


def by_name(contracts: Iterable[PassContract]) -> Mapping[str, PassContract]:
    """The contracts by the names of their passes.

    Raises:
        ValueError: two contracts bear the same name.
    """
    named: dict[str, PassContract] = {}
    for contract in contracts:
        if contract.name in named:
            raise ValueError(f"Duplicate contract of {contract.name!r}")
        named[contract.name] = contract
    return named


catalogue: Mapping[str, PassContract] = by_name(
    contract for family in FAMILIES for contract in family.CONTRACTS
)
"""What each pass promises, by its name. With `LEFT_OUT` it names every public pass of the TVM that
relaxfuzz is tested with; a newer TVM's further passes get the strict default."""
