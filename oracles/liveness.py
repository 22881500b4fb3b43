"""Variables that the result or the side effects of a Relax function depend on, and how long."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvm import relax
from tvm.ir import Op

from .inspect import bindings_of, nodes


def live_variables(func: relax.Function) -> set[int]:
    """The hashes of the live variables, and of all those inside a live branch or local function."""
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


MANY = 64
"""Least number of bindings in a sequence for values to be dropped after their last use."""

_ends: dict[int, tuple[relax.SeqExpr, Sequence[Sequence[int]]]] = {}
"""The results of `ends` for the last sequences, which are kept alive, by address."""


def ends(seq: relax.SeqExpr) -> Sequence[Sequence[int]]:
    """For each binding of a long sequence, the hashes of the tensors that are not used after it.

    Empty for a short sequence, and for one with local functions, which may use a variable later.
    """
    if sum(len(block.bindings) for block in seq.blocks) < MANY:
        return ()
    found = _ends.get(hash(seq))
    if found is None:
        if len(_ends) == MANY:
            _ends.clear()
        found = _ends[hash(seq)] = seq, _ends_of(seq)
    return found[1]


def _ends_of(seq: relax.SeqExpr) -> Sequence[Sequence[int]]:
    if nodes(seq, relax.Function):
        return ()
    own = [binding for block in seq.blocks for binding in block.bindings]
    tensors = (relax.TensorType, relax.TupleType)
    left = {hash(each.var) for each in own if isinstance(each.var.ty, tensors)}
    left -= _variables(seq.body)
    found: list[Sequence[int]] = []
    for binding in reversed(own):
        last = left & {hash(binding.var), *_variables(binding.value)}
        left -= last
        found.append([*last])
    return found[::-1]


def _variables(expr: Any) -> set[int]:
    return set(map(hash, nodes(expr, relax.Var)))


def _may_be_dropped(binding: relax.Binding) -> bool:
    """True if computing the value has no side effects."""
    if isinstance(binding, relax.MatchCast):
        return False
    calls = nodes(binding.value, relax.Call)
    return all(isinstance(call.op, Op) and call.op.get_attr("FPurity") for call in calls)
