"""Reductions that put a plainer call in the place of another one."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import tvm
from tvm import relax
from tvm.ir import Op

from ...generators.rewrite.rewriter import Rewriter
from ...oracles.inspect import calls_of, op_name
from ...oracles.keys import computes
from .reduction import Edit, runs

WITH_GRADIENT = "relax.call_tir_with_grad"
"""The call of a kernel that names the kernel of its gradient."""

OPAQUE = frozenset(
    f"relax.{name}"
    for name in ("call_tir", "call_tir_inplace", "call_dps_packed", "call_inplace_packed")
) | {WITH_GRADIENT}
"""Operators that call something of which Relax knows nothing but the type of the result."""

PACKED = "relax.call_pure_packed"
"""The plainest of them: no kernel, no memory for the result."""

PLAIN = ("relax.negative", "relax.add")
"""Operators of the model that stand for others, the plainest first."""


def opaque_calls(mod: tvm.IRModule) -> Iterator[Edit]:
    """Calls of kernels and of functions become calls of a packed function: all, then ever shorter
    runs of them.

    Fewer calls are `OPAQUE`, or of a function in a variable. What nobody calls any more is dropped
    by other reductions.
    """
    for run in runs([hash(call) for call in calls_of(mod) if _is_opaque(call)]):
        yield _Packed(mod, run).run


def _is_opaque(call: relax.Call) -> bool:
    return op_name(call) in OPAQUE or _calls_function(call)


def _calls_function(call: relax.Call) -> bool:
    """A function of the module, a local one, or one that was passed."""
    return isinstance(call.op, tvm.ir.GlobalVar | relax.Var)


def without_gradients(mod: tvm.IRModule) -> Iterator[Edit]:
    """Kernels are called without those of their gradients: all, then ever shorter runs of them.

    Fewer calls come with the kernel of a gradient.
    """
    for run in runs([hash(call) for call in calls_of(mod, WITH_GRADIENT)]):
        yield _WithoutGradients(mod, run).run


def plain_operators(mod: tvm.IRModule) -> Iterator[Edit]:
    """Operators become `negative` of a first operand, or `add` of two: all, then runs of them.

    Two findings of a bug that any operator shows have the same module then. No operator comes later
    in `PLAIN`, and some come earlier.
    """
    found = [hash(call) for call in calls_of(mod) if _rank(call) > 0]
    for run in runs(found):
        for name in PLAIN:
            yield _Plain(mod, run, name).run


def _rank(call: relax.Call) -> int:
    """The place in `PLAIN`, behind it for another operator of the model, 0 for all else."""
    name = op_name(call)
    if name is None or not computes(name) or not isinstance(call.ty, relax.TensorType):
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
        return relax.Call(Op.get(PACKED), [relax.ExternFunc("f"), *given], None, types)


class _WithoutGradients(Rewriter):
    def __init__(self, mod: tvm.IRModule, chosen: Collection[int]) -> None:
        super().__init__(mod)
        self._chosen = frozenset(chosen)

    def call(self, call: relax.Call, args: list[Any]) -> Any:
        new = super().call(call, args)
        if hash(call) not in self._chosen:
            return new
        return relax.Call(Op.get("relax.call_tir"), new.args, None, new.ty_args)


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
