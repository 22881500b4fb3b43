"""Calls that differ from those of a module in one thing: type inference gives each a type or
refuses it with an error.

Generated modules hold the calls that it accepts; here are the others, which may kill the process.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import tvm
from tvm import relax, tirx

from ...generators.module_scope import ModuleScope
from ...generators.ops import variation
from ...generators.ops.variation import Variation
from ...generators.scope import Scope
from ...generators.traits import Trait
from ...generators.values import Dim
from ..inspect import calls_of, op_name

DIMS: tuple[Dim, ...] = (2, 3, tirx.Var("n", "int64"))
"""Sizes of what is put in place of an operand, besides those of the call."""


@dataclass(frozen=True, slots=True)
class IllTyped:
    """A call, and what is changed about it."""

    call: relax.Call
    change: Variation

    @property
    def op(self) -> str:
        """The registered name of the operator."""
        return str(op_name(self.call))

    def infer(self) -> None:
        """Ask for the type.

        Raises:
            Exception: type inference refuses the call.
        """
        relax.BlockBuilder().normalize(self._applied()[0])

    def module(self) -> tvm.IRModule:
        """One function, whose one binding is the call; its types are as they were before."""
        call, params = self._applied()
        var = relax.Var("y", self.call.ty)
        block = relax.BindingBlock([relax.VarBinding(var, call)])
        func = relax.Function(params, relax.SeqExpr([block], var), self.call.ty)
        return tvm.IRModule({"main": func})

    def _applied(self) -> tuple[relax.Call, list[relax.Var]]:
        """The changed call, and its variables, which are parameters of its own."""
        types = {
            place: arg.ty
            for place, arg in variation.operands_of(self.call.args)
            if isinstance(arg, relax.Var)
        }
        whole = replace(self.change, operands={**types, **self.change.operands})
        return whole.apply(self.call)


def some(mod: tvm.IRModule, most: int, chance: random.Random) -> Iterator[IllTyped]:
    """So many changes of calls of Relax operators, of random kinds."""
    calls, scope = _calls(mod), _scope()
    for _ in range(most if calls else 0):
        call, kinds = chance.choice(calls), _kinds(calls)
        for kind in chance.sample(kinds, len(kinds)):
            if changes := list(kind(scope, call)):
                yield IllTyped(call, chance.choice(changes))
                break


def every(mod: tvm.IRModule) -> Iterator[IllTyped]:
    """All changes of all calls of Relax operators."""
    calls, scope = _calls(mod), _scope()
    for call in calls:
        for kind in _kinds(calls):
            yield from (IllTyped(call, change) for change in kind(scope, call))


def _scope() -> Scope:
    """Nothing is left out of its modules."""
    return Scope(ModuleScope(frozenset(Trait)), DIMS, ())


def _calls(mod: tvm.IRModule) -> list[relax.Call]:
    return [call for call in calls_of(mod) if str(op_name(call)).startswith("relax.")]


def _kinds(calls: Sequence[relax.Call]) -> tuple[variation.Variations, ...]:
    def exchanged(s: Scope, call: relax.Call) -> Iterator[Variation]:
        """Operands of another call, of whatever type, and one left out."""
        others = [arg for other in calls for arg in other.args]
        for place, arg in variation.operands_of(call.args):
            yield Variation({place: None})
            for other in others:
                if not other.same_as(arg):
                    yield Variation({place: other.ty if isinstance(other, relax.Var) else other})

    return (*variation.KINDS, exchanged)
