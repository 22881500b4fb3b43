"""Reductions that replace a call by a plainer one."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import tvm
from tvm import relax
from tvm.ir import Op

from ...generators.ops.roles import OPAQUE, PLAIN, PLAINEST
from ...generators.rewrite.rewriter import Rewriter
from ...oracles.inspect import calls_of, op_name
from ...oracles.keys import computes
from .reduction import Edit, runs


def opaque_calls(mod: tvm.IRModule) -> Iterator[Edit]:
    """Turn calls of kernels and functions into calls of a packed function: all, then runs of them.

    This leaves fewer calls that are `OPAQUE`, or that call a function in a variable. Other
    reductions drop functions that are no longer called.
    """
    for run in runs([hash(call) for call in calls_of(mod) if _is_opaque(call)]):
        yield _Packed(mod, run).run


def _is_opaque(call: relax.Call) -> bool:
    return op_name(call) in OPAQUE or _calls_function(call)


def _calls_function(call: relax.Call) -> bool:
    """Return whether the callee is a function of the module, a local one, or a passed one."""
    return isinstance(call.op, tvm.ir.GlobalVar | relax.Var)


def plain_operators(mod: tvm.IRModule) -> Iterator[Edit]:
    """Replace operators by `negative` of a first operand, or `add` of two: all, then runs of them.

    Two findings of a bug that any operator shows then have the same module. Some operators move to
    an earlier place in `PLAIN`, none to a later one.
    """
    found = [hash(call) for call in calls_of(mod) if _rank(call) > 0]
    for run in runs(found):
        for name in PLAIN:
            yield _Plain(mod, run, name).run


def _rank(call: relax.Call) -> int:
    """The place in `PLAIN`; the next number for other operators on tensors, 0 for all else."""
    name = op_name(call)
    if name is None or not isinstance(call.ty, relax.TensorType):
        return 0
    if not computes(name) and not (call.args and isinstance(call.args[0].ty, relax.TensorType)):
        return 0
    return PLAIN.index(name) if name in PLAIN else len(PLAIN)


class _Packed(Rewriter):
    def __init__(self, mod: tvm.IRModule, chosen: Collection[int]) -> None:
        super().__init__(mod)
        self._chosen = frozenset(chosen)

    def call(self, call: relax.Call, args: list[Any]) -> Any:
        if hash(call) not in self._chosen:
            return super().call(call, args)
        if _calls_function(call):
            given, types = args, [self.type(call.ty)]
        else:
            given = args[1].fields if isinstance(args[1], relax.Tuple) else [args[1]]
            types = [self.type(ty) for ty in call.ty_args]
        return relax.Call(Op.get(PLAINEST), [relax.ExternFunc("f"), *given], None, types)


class _Plain(Rewriter):
    def __init__(self, mod: tvm.IRModule, chosen: Collection[int], name: str) -> None:
        super().__init__(mod)
        self._chosen = frozenset(chosen)
        self._name = name

    def call(self, call: relax.Call, args: list[Any]) -> Any:
        rank = PLAIN.index(self._name)
        operands = [arg for arg in args if isinstance(arg.ty, relax.TensorType)][: rank + 1]
        if hash(call) not in self._chosen or _rank(call) <= rank or len(operands) <= rank:
            return super().call(call, args)
        return relax.Call(Op.get(self._name), operands)
