"""The contracts of the passes of Relax, of the dispatch of CPU builds, and of TensorIR."""

from __future__ import annotations

import dataclasses
import functools
from collections import Counter
from collections.abc import Iterable, Mapping

import tvm

from ...generators.choices import Choices
from ...generators.families import FAMILIES
from ...generators.near import did_you_mean
from ...generators.ops import table
from ..contract import Exemption, PassContract
from ..passcall import BadPass, PassCall, bare_call, load, public_passes, tiny_module
from . import (
    algebra,
    arithmetic,
    byoc,
    canonicalization,
    devices,
    dispatch,
    fusion,
    gpu_pipelines,
    layout,
    legalization,
    lowering,
    memory,
    params,
    rewriting,
    structure,
    tensorir_blocks,
    tensorir_host,
    tensorir_loops,
    tensorir_rare,
    training,
    tuning,
)
from .uncovered import missing_arguments, without_contract

GROUPS = (
    structure,
    canonicalization,
    params,
    training,
    algebra,
    rewriting,
    layout,
    byoc,
    dispatch,
    legalization,
    fusion,
    tuning,
    lowering,
    memory,
    tensorir_blocks,
    tensorir_loops,
    tensorir_rare,
    tensorir_host,
    devices,
    gpu_pipelines,
    arithmetic,
)
"""Every module of contracts, roughly in the order of their passes in a build."""

_TUNING = "needs a tuning run, which fills a database and leaves the module as it is"
_IPC = "acts only on memory that CUDA devices of several processes share"

LEFT_OUT: Mapping[str, str] = {
    "IPCAllReduceRewrite": _IPC,
    "LowerGPUIPCAllocStorage": _IPC,
    "MetaScheduleTuneIRMod": _TUNING,
    "MetaScheduleTuneTIR": _TUNING,
    "s_tir.DecorateDeviceScope": "marks each function as one for a device, for Trainium alone",
    "s_tir.InjectPTXLDG32": "makes instructions of PTX, which are not evaluated, for an option",
    "s_tir.InstrumentBoundCheckers": "acts only on bounds that lowering for an option notes",
    "s_tir.InstrumentProfileIntrinsics": "inserts calls of Hexagon's profiler, by a global counter",
    "tirx.LowerTIRx": "removes the layouts of tile programs, which no generated PrimFunc has",
    "VMBuiltinLower": "the old name of LowerRuntimeBuiltin, which gives a warning",
}
"""Public passes that no campaign chooses, and why."""


def by_name(contracts: Iterable[PassContract]) -> Mapping[str, PassContract]:
    """The contracts by the names of their passes.

    Raises:
        ValueError: two contracts have the same name; or a contract names an inner pass without a
            contract, or an operator missing from the table.
    """
    named: dict[str, PassContract] = {}
    for contract in contracts:
        if contract.name in named:
            raise ValueError(f"Duplicate contract of {contract.name!r}")
        named[contract.name] = contract
    for contract in named.values():
        for name in contract.inside:
            if name not in named:
                raise ValueError(
                    f"Contract of {contract.name!r}: no contract of {name!r}, which it has inside"
                    f"{did_you_mean(name, named)}"
                )
        sought = () if contract.looks_for is None else contract.looks_for.ops
        if unknown := sorted(set(sought).difference(table)):
            raise ValueError(f"Contract of {contract.name!r}: it looks for unknown {unknown}")
    return named


_WRITTEN = by_name(contract for group in GROUPS for contract in group.CONTRACTS)


@functools.cache
def new_passes() -> Mapping[str, str]:
    """Public passes of the installed TVM that are neither in a group nor left out.

    Each name has the reason why a campaign cannot choose the pass; empty if it can.
    """
    new = [name for name in public_passes() if name not in _WRITTEN and name not in LEFT_OUT]
    missing = {name: ", ".join(missing_arguments(name)) for name in new}
    return {name: missing[name] and f"needs arguments: {missing[name]}" for name in new}


catalogue: Mapping[str, PassContract] = {
    **_WRITTEN,
    **{name: without_contract(name) for name, reason in new_passes().items() if not reason},
}
"""The contract of each pass, by name; new passes come last, with the universal promises."""


def of_family(*names: str) -> Mapping[str, PassContract]:
    """The contracts of the passes of these families, by name; a pass may be in several."""
    stages = frozenset(stage for name in names for stage in FAMILIES[name].stages)
    return {name: each for name, each in catalogue.items() if stages.intersection(each.stages)}


def promised_by(name: str) -> PassContract | None:
    """The contract of a public pass of TVM; None: TVM has no pass of this name."""
    if name not in catalogue and name in public_passes():
        return without_contract(name)
    return catalogue.get(name)


UNKNOWN = (
    Exemption(
        "values",
        "what is rewritten may use a variable after what was its last use, and so after its kill",
        "docstring of KillAfterLastUse: 'Drop all tensor/storage objects after last use'",
        memory.killed,
    ),
)
"""The exemptions of a pass about which nothing is known."""


def contract_of(call: PassCall) -> PassContract:
    """The contract of the pass, of the pass it is declared to be like, or the user's own.

    Nothing is known of other passes of TVM; a user's own pass keeps the strict contract.

    Raises:
        BadPass: the contract of a user's own pass cannot be loaded.
    """
    if call.like is not None:
        kept = _loaded(call.like) if is_users_contract(call) else catalogue[call.like]
        return dataclasses.replace(kept, name=call.name, variants=lambda choices, mod: call)
    known = promised_by(call.name) if call.is_tvms else None
    if known is not None and call.is_step:
        return dataclasses.replace(known, variants=lambda choices, mod: call)
    return known or PassContract(
        name=call.name, variants=lambda choices, mod: call, exemptions=UNKNOWN
    )


def is_users_contract(call: PassCall) -> bool:
    """True if user code defines the contract; then the driver must not ask for it."""
    return call.like is not None and ":" in call.like


def _loaded(spelling: str) -> PassContract:
    made = load(spelling)
    if not isinstance(made, PassContract):
        raise BadPass(f"Expected {spelling} to be a PassContract but got {made!r:.80}")
    return made


def documented(call: PassCall) -> bool:
    """True if the pass is one of TVM's that the catalogue describes."""
    return call.is_tvms and call.name in catalogue


def has_contract(call: PassCall) -> bool:
    """True if the pass has a written contract; a user's own pass counts as having one."""
    contract = promised_by(call.name) if call.is_tvms else None
    return contract is None or not contract.universal_only


@functools.cache
def parts(pass_name: str) -> frozenset[str]:
    """All passes that run inside a pass, at whatever depth."""
    direct = catalogue[pass_name].inside if pass_name in catalogue else ()
    return frozenset(direct).union(*map(parts, direct))


def plain_call(name: str) -> PassCall:
    """The pass of the catalogue with the simplest arguments that its contract chooses."""
    return catalogue[name].choose(Choices(b""), tiny_module()) or bare_call(name)


def rejects(contract: PassContract, error: Exception, mod: tvm.IRModule) -> bool:
    """True if the exception is a clean refusal of the module, by the pass or one inside it."""
    inside = frozenset(contract.inside).union(*map(parts, contract.inside))
    return contract.rejects(error, mod) or any(
        each.outside and each.covers(error, mod)
        for name in inside
        for each in catalogue[name].rejections
    )


_INSIDE = Counter(name for contract in catalogue.values() for name in contract.inside)

COMMON_PARTS = tuple(name for name, count in reversed(_INSIDE.most_common()) if count > 1)
"""The passes that several others have inside, the rarest first."""
