"""Variables that the result of a Relax function, or what it does besides, depends on."""

from __future__ import annotations

from typing import Any

from tvm import relax
from tvm.ir import Op

from .inspect import bindings_of, nodes


def live_variables(func: relax.Function) -> set[int]:
    """The hashes of the variables; those inside a branch or a local function are all among them."""
    body = func.body
    found = set(map(hash, func.params))
    if not isinstance(body, relax.SeqExpr):
        return found | _variables(func)
    found |= _variables(body.body)
    own = [binding for block in body.blocks for binding in block.bindings]
    for binding in reversed(own):
        if hash(binding.var) in found or not _may_be_dropped(binding):
            found |= {hash(binding.var)} | _variables(binding.value)
            found |= {hash(inner.var) for inner in bindings_of(binding.value)}
    return found


def _variables(expr: Any) -> set[int]:
    return set(map(hash, nodes(expr, relax.Var)))


def _may_be_dropped(binding: relax.Binding) -> bool:
    """Nothing happens but that the value is computed."""
    if isinstance(binding, relax.MatchCast):
        return False
    calls = nodes(binding.value, relax.Call)
    return all(isinstance(call.op, Op) and call.op.get_attr("FPurity") for call in calls)
