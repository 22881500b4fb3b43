"""What of a function can be computed from its weights, and what is left to do for each input."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import tvm_ffi
from tvm import relax
from tvm.ir import DictAttrs, GlobalVar
from tvm_ffi import StructuralKey

from ..inspect import op_name
from .grouping import IN_PLACE
from .rebuild import block_like, fresh, is_symbolic, rebuilt, sequence, substituted, variables

STOP = "relax.builtin.stop_lift_params"


@dataclass(frozen=True, slots=True)
class Target:
    """A function and how many of its parameters are inputs; the others are weights."""

    gvar: GlobalVar
    func: relax.Function
    number: int

    @property
    def inputs(self) -> list[relax.Var]:
        return list(self.func.params[: self.number])

    @property
    def weights(self) -> list[relax.Var]:
        return list(self.func.params[self.number :])

    @property
    def symbols(self) -> list[relax.Var]:
        """The symbolic variables that the types of the weights define, in order."""
        params = set(self.func.params)  # a number may be a parameter itself
        return [var for var in _defined_by(self.weights) if var not in params]


def closed(target: Target) -> Target:
    """The function with weights whose types stand by themselves.

    A transform does not know dimensions that only the inputs define: it takes and gives tensors of
    any shape instead, and the function checks them itself.
    """
    known = {var: var for var in target.symbols}
    taken: list[relax.Var] = []
    checks: list[relax.Binding] = []
    new: dict[relax.Var, relax.Var] = {}
    for weight in target.weights:
        ty = relax.analysis.erase_to_well_defined(weight.ty, known)
        if tvm_ffi.structural_equal(ty, weight.ty):
            taken.append(weight)
        else:
            taken.append(relax.Var(weight.name, ty))
            new[weight] = relax.Var(weight.name, weight.ty)
            checks.append(relax.MatchCast(new[weight], taken[-1], weight.ty))
    if not checks:
        return target
    body = target.func.body
    body = sequence([relax.BindingBlock(checks), *body.blocks], body.body)
    func = rebuilt(target.func, params=[*target.inputs, *taken], body=substituted(body, new))
    return replace(target, func=func)


class Liftable:
    """What can be computed from the weights of one function."""

    def __init__(self, target: Target, casts: bool) -> None:
        self.target = target
        self.bindings: list[relax.Binding] = []
        """What needs no input, in order; what needs no weight either is among it."""
        self.made: dict[relax.Var, relax.Binding] = {}
        """Those of them that need a weight: they go."""
        self.symbols = target.symbols
        """Symbolic variables that are known where the weights are."""
        known = {*target.weights, *target.symbols}
        rooted = set(target.weights)
        defined = set(_defined_by(target.func.params))
        for block in target.func.body.blocks:
            for binding in block.bindings:
                new = {binding.var}
                if isinstance(binding, relax.MatchCast):
                    new |= {*relax.analysis.tir_vars_in_type(binding.ty)} - defined
                    defined |= new
                used = {*variables(binding)} - new
                dataflow = isinstance(block, relax.DataflowBlock)
                dims = {*relax.analysis.tir_vars_in_type(binding.var.ty)}
                closed = used <= known and dims <= {*self.symbols, *new}
                if dataflow and closed and _computes(binding, casts):
                    known |= new
                    self.bindings.append(binding)
                    if used & rooted:
                        rooted.add(binding.var)
                        self.made[binding.var] = binding
                        self.symbols += [var for var in new if is_symbolic(var)]

    def needed_for(self, wanted: Iterable[relax.Var]) -> list[relax.Binding]:
        """The bindings that compute these variables, and all checks of types."""
        needed = set(wanted)
        kept: list[relax.Binding] = []
        for binding in reversed(self.bindings):
            check = isinstance(binding, relax.MatchCast) and binding.var in self.made
            if check or binding.var in needed:
                needed |= {*variables(binding)}
                kept.append(binding)
        return kept[::-1]

    def key(self, var: relax.Var) -> StructuralKey:
        """Equal for values that are computed in the same way from the same weights."""
        block = relax.DataflowBlock(self.needed_for([var]))
        return StructuralKey(
            relax.Function(self.target.weights, sequence([block], var), var.ty, True)
        )


def _defined_by(params: Iterable[relax.Var]) -> list[relax.Var]:
    ty = relax.TupleType([param.ty for param in params])
    return list(relax.analysis.definable_tir_vars_in_type(ty))


def _computes(binding: relax.Binding, casts: bool) -> bool:
    """It gives a value that can be stored, and does nothing else."""
    if isinstance(binding, relax.MatchCast) and not casts:
        return False
    if op_name(binding.value) in (STOP, *IN_PLACE):
        return False
    found: list[relax.FuncType] = []
    tvm_ffi.structural_walk(binding.var.ty, (relax.FuncType, found.append))
    return not found and not is_symbolic(binding.var)


class Part:
    """One of the functions that share a transform, before and after."""

    def __init__(self, liftable: Liftable, same: dict[relax.Var, relax.Var], forgets: bool) -> None:
        self.liftable = liftable
        self.target = target = liftable.target
        self.same = same
        """What the transform knows: weights, symbolic variables, what is made of them; to each the
        variable of the first function that is the same."""
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
        own = self._own()
        given = [*self.target.inputs, *(own[output] for output in outputs)]
        known = {*given, *_defined_by(given)}
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
        own = self._own()
        weights = set(self.target.weights)
        param = {
            output: own[output]
            if own[output] in weights
            else relax.Var(own[output].name, own[output].ty)
            for output in outputs
        }
        shape = [relax.Var("s", relax.ShapeType([own[s] for s in symbols]))] if symbols else []
        new = {var: param[first] for var, first in self.same.items() if first in param}
        stopped: list[relax.Binding] = []
        blocks: list[relax.BindingBlock] = []
        for block in self.target.func.body.blocks:
            left: list[relax.Binding] = []
            for binding in block.bindings:
                if self._goes(binding):
                    continue
                value = binding.value
                if op_name(value) == STOP and value.args[0] in self.same:
                    # Outside of dataflow blocks nothing is lifted, by a second run neither.
                    alias = new[binding.var] = relax.Var(binding.var.name, binding.var.ty)
                    stopped.append(relax.VarBinding(alias, value.args[0]))
                else:
                    left.append(binding)
            blocks.append(block_like(block, left))
        body = sequence([relax.BindingBlock(stopped), *blocks], self.target.func.body.body)
        return rebuilt(
            self.target.func,
            params=[*self.target.inputs, *shape, *param.values()],
            body=_without_stops(substituted(body, new)),
        )

    def _own(self) -> dict[relax.Var, relax.Var]:
        own: dict[relax.Var, relax.Var] = {}
        for var, first in self.same.items():
            own.setdefault(first, var)
        return own


def _without_stops(body: relax.SeqExpr) -> relax.SeqExpr:
    return tvm_ffi.structural_map(
        body, (relax.Call, lambda call: call.args[0] if op_name(call) == STOP else call)
    )


class Lifting:
    """The split of functions that share one transform; often it is one function alone."""

    def __init__(self, targets: Sequence[Target], forgets_returned: bool) -> None:
        liftable = [Liftable(target, casts=len(targets) == 1) for target in targets]
        self._first = first = liftable[0]
        self.parts = [
            Part(each, same, forgets_returned)
            for each, same in zip(liftable, _correspondence(liftable), strict=True)
        ]
        wanted = {part.same[var] for part in self.parts for var in part.needed if var in part.same}
        self._give(wanted)
        # A shape that defines what is missing is handed on as it is.
        wanted |= {
            weight
            for weight in first.target.weights
            if isinstance(weight.ty, relax.ShapeType)
            and not set(self.symbols).isdisjoint(_defined_by([weight]))
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
            params: its parameters.
            before: bindings outside of dataflow.
            given: bindings of the weights, made of those.
            attrs: its attributes.
            pure: whether `before` is.
        """
        made = self._first.needed_for([*self.symbols, *self.outputs])
        fields: list[relax.Expr] = [relax.ShapeExpr(self.symbols)] if self.symbols else []
        result = relax.Tuple([*fields, *self.outputs])
        output = relax.Var("transformed", result.ty)
        within = [*given, *made, relax.VarBinding(output, result)]
        # What only the dataflow block sees is no output of it.
        new = {
            binding.var: relax.DataflowVar(binding.var.name, binding.var.ty)
            for binding in (*given, *made)
            if not is_symbolic(binding.var)
        }
        blocks = [relax.BindingBlock(list(before)), relax.DataflowBlock(within)]
        body = substituted(sequence(blocks, output), new)
        return fresh(relax.Function(list(params), body, result.ty, pure, attrs))


def _correspondence(liftable: Sequence[Liftable]) -> list[dict[relax.Var, relax.Var]]:
    """For each function: its variables that the transform knows, to those of the first one.

    Several functions have in common what they compute in the same way from the weights.
    """
    first = liftable[0]
    known = [[*each.target.weights, *each.symbols] for each in liftable]
    same = [dict(zip(each, known[0], strict=True)) for each in known]
    if len(liftable) == 1:
        return [same[0] | {var: var for var in first.made}]
    keys = [{var: each.key(var) for var in each.made} for each in liftable]
    everywhere = set.intersection(*(set(found.values()) for found in keys))
    chosen: dict[StructuralKey, relax.Var] = {}
    for var, key in keys[0].items():
        chosen.setdefault(key, var)
    for each, found in zip(same, keys, strict=True):
        each |= {var: chosen[key] for var, key in found.items() if key in everywhere}
    return same
