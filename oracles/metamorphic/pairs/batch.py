"""Which results change places when the elements of inputs along their first axis do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import tvm
from tvm import relax

from ....generators.ops import table
from ....generators.ops.batching import FIXED, UNKNOWN, Along

DEPTH = 4
"""Calls of functions inside one another that are followed."""


def batched(
    mod: tvm.IRModule, func: relax.Function, args: Sequence[Any]
) -> tuple[frozenset[int], Along] | None:
    """Parameters to permute along axis 0, and how the result follows; None where it does not."""
    for chosen in _candidates(args):
        along: list[Along] = [0 if i in chosen else FIXED for i in range(len(args))]
        result = _Flow(mod, DEPTH).function(func, along)
        if _moves(result):
            return chosen, result
    return None


def along_of(
    mod: tvm.IRModule, func: relax.Function, args: Sequence[Any], permuted: Sequence[Any]
) -> Mapping[str, Along]:
    """What is known of each bound variable, by name, where some arguments are permuted."""
    along: list[Along] = [FIXED if a is b else 0 for a, b in zip(args, permuted, strict=True)]
    flow = _Flow(mod, DEPTH)
    flow.function(func, along)
    return {str(var.name): known for var, known in flow.known.items()}


def _candidates(args: Sequence[Any]) -> Iterator[frozenset[int]]:
    """All parameters of one leading size together, then each alone."""
    sizes: dict[int, list[int]] = {}
    for i, arg in enumerate(args):
        if isinstance(arg, np.ndarray) and arg.ndim and arg.shape[0] > 1:
            sizes.setdefault(arg.shape[0], []).append(i)
    yield from map(frozenset, sizes.values())
    for same in sizes.values():
        if len(same) > 1:
            yield from (frozenset({i}) for i in same)


def _moves(along: Along) -> bool:
    if isinstance(along, tuple):
        return any(map(_moves, along))
    return along is not UNKNOWN and along != FIXED


class _Flow:
    def __init__(self, mod: tvm.IRModule, depth: int) -> None:
        self._mod = mod
        self._depth = depth
        self.known: dict[relax.Var, Along] = {}

    def function(self, func: relax.Function, along: Sequence[Along]) -> Along:
        self.known.update(zip(func.params, along, strict=True))
        return self._of(func.body)

    def _of(self, expr: Any) -> Along:
        if isinstance(expr, relax.Var):
            return self.known.get(expr, FIXED)  # a symbolic dimension is no variable of these
        if isinstance(expr, relax.SeqExpr):
            for block in expr.blocks:
                for binding in block.bindings:
                    self.known[binding.var] = self._of(binding.value)
            return self._of(expr.body)
        if isinstance(expr, relax.Tuple):
            return tuple(map(self._of, expr.fields))
        if isinstance(expr, relax.TupleGetItem):
            whole = self._of(expr.tuple_value)
            return whole[expr.index] if isinstance(whole, tuple) else whole
        if isinstance(expr, relax.If):
            yes, no = self._of(expr.true_branch), self._of(expr.false_branch)
            return yes if yes == no and self._of(expr.cond) == FIXED else UNKNOWN
        if isinstance(expr, relax.Function):
            return UNKNOWN
        if isinstance(expr, relax.Call):
            return self._call(expr)
        return FIXED

    def _call(self, call: relax.Call) -> Along:
        along = [self._of(arg) for arg in call.args]
        if isinstance(call.op, relax.Var) and self._of(call.op) != FIXED:
            return UNKNOWN
        if all(map(_fixed, along)):
            return FIXED
        if isinstance(call.op, tvm.ir.GlobalVar):
            callee = self._mod[call.op]
            if self._depth and isinstance(callee, relax.Function):
                return _Flow(self._mod, self._depth - 1).function(callee, along)
            return UNKNOWN
        if not isinstance(call.op, tvm.ir.Op) or not all(map(_known, along)):
            return UNKNOWN
        record = table.get(call.op.name.removeprefix("relax."))
        if record is None or record.batching is None:
            return UNKNOWN
        return record.batching(call, along)


def _fixed(along: Along) -> bool:
    return all(map(_fixed, along)) if isinstance(along, tuple) else along == FIXED


def _known(along: Along) -> bool:
    return all(map(_known, along)) if isinstance(along, tuple) else along is not UNKNOWN


def followed(value: Any, along: Any, order: Any = None) -> list[Any]:
    """The parts of a result of which something is known, put into the order if one is given."""
    if along is None:
        return []
    if isinstance(along, tuple):
        return [part for item in zip(value, along, strict=True) for part in followed(*item, order)]
    if along < 0 or order is None:
        return [value]
    return [np.take(value, order, along)]


def permuted(args: Sequence[Any], chosen: frozenset[int], order: Any) -> list[Any]:
    """The arguments, those chosen put into the order along their first axis."""
    return [arg[order] if i in chosen else arg for i, arg in enumerate(args)]


def order_of(size: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """An order in which no element is where it was, and which is not its own inverse if it can."""
    return np.roll(np.arange(size), 1)
