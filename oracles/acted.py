"""A pass did what it is for: more than clean-up of the module that it was given."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from typing import Any

import tvm
import tvm_ffi
from tvm import relax

from ..compat import ir
from .contract import PassContract
from .inspect import nodes, op_name


def acted(contract: PassContract, before: tvm.IRModule, after: tvm.IRModule) -> bool:
    """The calls of the operators that the pass works on are others than before.

    Calls that dead code elimination removes by itself do not count. Where the contract names no
    operators, a module that has what the pass works on and is changed counts.
    """
    sought = contract.looks_for
    if sought is None:
        return True
    if not sought.has(before):
        return False
    names = {f"relax.{op}" for op in sought.ops}
    return not names or _calls(before, names) != _calls(after, names)


def _calls(mod: tvm.IRModule, names: Collection[str]) -> Counter[tuple[Any, ...]]:
    """The calls of these operators that something uses, with attributes and operands' types."""
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
    """Names of symbolic dimensions do not matter."""
    return isinstance(arg, ir.GenericConst), tvm_ffi.structural_hash(arg.ty, map_free_vars=True)
