"""The contracts of the passes of `tvm.relax.transform` and of the dispatch of CPU builds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..contract import PassContract
from . import dispatch, fusion, legalization, lowering, memory, structure

FAMILIES = (structure, legalization, fusion, lowering, memory, dispatch)
"""Every module of contracts, in the order in which a build meets their passes."""


def _by_name(contracts: Iterable[PassContract]) -> Mapping[str, PassContract]:
    """Raises ValueError where two contracts bear the same name."""
    named: dict[str, PassContract] = {}
    for contract in contracts:
        if contract.name in named:
            raise ValueError(f"Duplicate contract of {contract.name!r}")
        named[contract.name] = contract
    return named


catalogue: Mapping[str, PassContract] = _by_name(
    contract for family in FAMILIES for contract in family.CONTRACTS
)
"""What each pass promises, by its name."""
