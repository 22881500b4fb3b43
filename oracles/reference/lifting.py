"""The split of a function into what its weights give and what is left to do for each input."""

from __future__ import annotations

from collections.abc import Sequence

from tvm import relax
from tvm.ir import DictAttrs

from ...compat.structural import structural_map
from ...generators.rewrite.nodes import (
    block_like,
    is_symbolic,
    sequence,
    substitute,
    variables,
    with_fresh_variables,
    with_parts,
)
from ..inspect import bindings_of, op_name
from .liftable import STOP, Liftable, Target, correspondence, defined_by


class Part:
    """One of the functions that share a transform, before and after."""

    def __init__(self, liftable: Liftable, same: dict[relax.Var, relax.Var], forgets: bool) -> None:
        self.liftable = liftable
        self.target = target = liftable.target
        self.same = same
        """What the transform knows: weights, symbolic variables, what is made of them; to each the
        variable of the first function that is the same."""
        self._own: dict[relax.Var, relax.Var] = {}
        for var, first in same.items():
            self._own.setdefault(first, var)
        left = [
            binding
            for block in target.func.body.blocks
            for binding in block.bindings
            if not self._goes(binding)
        ]
        returned = [] if forgets else [target.func.body.body]
        types = [target.func.ret_ty, *(param.ty for param in target.inputs)]
        self.needed = {*variables(*left, *returned, *types)}

    def _goes(self, binding: relax.Binding) -> bool:
        return binding.var in self.liftable.made and binding.var in self.same

    def missing(self, outputs: Sequence[relax.Var]) -> list[relax.Var]:
        """Symbolic variables that no parameter would define, in the first function's variables."""
        given = [*self.target.inputs, *(self._own[output] for output in outputs)]
        known = {*given, *defined_by(given)}
        needed = self.needed | {*variables(*(param.ty for param in given))}
        return [
            first
            for var, first in self.same.items()
            if is_symbolic(var) and var in needed and var not in known
        ]

    def rewritten(
        self, symbols: Sequence[relax.Var], outputs: Sequence[relax.Var]
    ) -> relax.Function:
        """The function that takes its inputs and what the transform gives."""
        weights = set(self.target.weights)
        param = {
            output: self._own[output]
            if self._own[output] in weights
            else relax.Var(self._own[output].name, self._own[output].ty)
            for output in outputs
        }
        shape = (
            [relax.Var("s", relax.ShapeType([self._own[s] for s in symbols]))] if symbols else []
        )
        new = {var: param[first] for var, first in self.same.items() if first in param}
        stopped = self._fixed()
        moved = {binding.var for binding in stopped}
        new |= {var: relax.Var(var.name, var.ty) for var in moved}
        known = moved.union(self.same)
        blocks: list[relax.BindingBlock] = []
        for block in self.target.func.body.blocks:
            left: list[relax.Binding] = []
            for binding in block.bindings:
                if self._goes(binding) or binding.var in moved:
                    continue
                value = binding.value
                if op_name(value) == STOP and known.issuperset(variables(value)):
                    alias = new[binding.var] = relax.Var(binding.var.name, binding.var.ty)
                    stopped.append(relax.VarBinding(alias, value.args[0]))
                else:
                    left.append(binding)
            blocks.append(block_like(block, left))
        body = sequence([relax.BindingBlock(stopped), *blocks], self.target.func.body.body)
        return with_parts(
            self.target.func,
            params=[*self.target.inputs, *shape, *param.values()],
            body=_without_stops(substitute(body, new)),
        )

    def _fixed(self) -> list[relax.Binding]:
        """What needs no weight, and is given to stop_lift_params: nothing made of it is lifted.

        It goes outside of dataflow blocks, where a second run lifts nothing either.
        """
        stops = [b.value for b in bindings_of(self.target.func) if op_name(b.value) == STOP]
        needed = self.liftable.needed_for(variables(*stops))
        return [binding for binding in needed if not self._goes(binding)]


def _without_stops(body: relax.SeqExpr) -> relax.SeqExpr:
    return structural_map(
        body, (relax.Call, lambda call: call.args[0] if op_name(call) == STOP else call)
    )


class Lifting:
    """The split of functions that share one transform; often it is one function alone."""

    def __init__(self, targets: Sequence[Target], forgets_returned: bool) -> None:
        liftable = [Liftable(target) for target in targets]
        self._first = first = liftable[0]
        self.parts = [
            Part(each, same, forgets_returned)
            for each, same in zip(liftable, correspondence(liftable), strict=True)
        ]
        wanted = {part.same[var] for part in self.parts for var in part.needed if var in part.same}
        self._give(wanted)
        # A shape that defines what is missing is handed on as it is.
        wanted |= {
            weight
            for weight in first.target.weights
            if isinstance(weight.ty, relax.ShapeType)
            and not set(self.symbols).isdisjoint(defined_by([weight]))
        }
        self._give(wanted)

    def _give(self, wanted: set[relax.Var]) -> None:
        """Decide what the transform gives: the first function's variables, and dimensions."""
        first = self._first
        self.outputs = [var for var in (*first.target.weights, *first.made) if var in wanted]
        missing = [var for part in self.parts for var in part.missing(self.outputs)]
        self.symbols = list(dict.fromkeys(missing))

    @property
    def keeps_weights(self) -> bool:
        """The functions go on taking their weights as they were."""
        weights = self._first.target.weights
        return (
            not self.symbols
            and len(self.outputs) == len(weights)
            and all(map(relax.Var.same_as, self.outputs, weights))
        )

    def transform(
        self,
        params: Sequence[relax.Var],
        before: Sequence[relax.Binding],
        given: Sequence[relax.Binding],
        attrs: DictAttrs,
        pure: bool = True,
    ) -> relax.Function:
        """The function that makes what the others take.

        Args:
            before: bindings outside of dataflow.
            given: bindings of the weights, made of the parameters.
            pure: whether `before` is.
        """
        # A match_cast is a check too, whether its value is needed or not.
        checks = (
            var
            for var, binding in self._first.made.items()
            if isinstance(binding, relax.MatchCast) and var in self.parts[0].same
        )
        made = self._first.needed_for([*self.outputs, *checks])
        fields: list[relax.Expr] = [relax.ShapeExpr(self.symbols)] if self.symbols else []
        result = relax.Tuple([*fields, *self.outputs])
        output = relax.Var("transformed", result.ty)
        within = _on_demand(given, [*made, relax.VarBinding(output, result)])
        # What only the dataflow block sees is no output of it.
        new = {
            binding.var: relax.DataflowVar(binding.var.name, binding.var.ty)
            for binding in within[:-1]
            if not is_symbolic(binding.var)
        }
        blocks = [relax.BindingBlock(list(before)), relax.DataflowBlock(within)]
        body = substitute(sequence(blocks, output), new)
        return with_fresh_variables(relax.Function(list(params), body, result.ty, pure, attrs))


def _on_demand(
    given: Sequence[relax.Binding], bindings: Sequence[relax.Binding]
) -> list[relax.Binding]:
    """The bindings, and those of the given ones that they need, each before its first use."""
    waiting = {binding.var: binding for binding in given}
    found: list[relax.Binding] = []

    def take(binding: relax.Binding) -> None:
        for used in variables(binding):
            if used in waiting and used is not binding.var:
                take(waiting.pop(used))
        found.append(binding)

    for binding in bindings:
        take(binding)
    return found
