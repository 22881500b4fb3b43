"""Decides whether a pass did its actual work, beyond mere clean-up of its input."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from typing import Any

import tvm
import tvm_ffi
from tvm import relax

from ..compat import ir
from .behaviour import is_work
from .contract import PassContract
from .inspect import nodes, op_name


def acted(
    contract: PassContract, before: tvm.IRModule, after: tvm.IRModule, did: Collection[str]
) -> bool:
    """True if the pass changed the calls of the operators that it works on.

    Calls that dead code elimination alone removes do not count. If the contract names no operators,
    any change to a module with the sought feature counts. If the contract names no feature either,
    any behaviour counts that is not clean-up.

    Args:
        did: the pass's behaviours; see `behaviours`.
    """
    sought = contract.looks_for
    if sought is None:
        return is_work(did)
    if not sought.has(before):
        return False
    names = {f"relax.{op}" for op in sought.ops}
    return not names or _calls(before, names) != _calls(after, names)


def _calls(mod: tvm.IRModule, names: Collection[str]) -> Counter[tuple[Any, ...]]:
    """The calls of these operators whose results are used, with attributes and operand types."""
    used = relax.transform.DeadCodeElimination()(mod)
    calls = (call for call in nodes(used, relax.Call) if op_name(call) in names)
    return Counter(
        (
            op_name(call),
            tvm_ffi.structural_hash(call.attrs),
            *(_operand(arg) for arg in call.args),
        )
        for call in calls
    )


def _operand(arg: Any) -> tuple[bool, int]:
    """Key of an operand; names of symbolic dimensions do not matter."""
    return isinstance(arg, ir.GenericConst), tvm_ffi.structural_hash(arg.ty, map_free_vars=True)
