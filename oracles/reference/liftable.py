"""What of a function can be computed from its weights alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import tvm_ffi
from tvm import relax
from tvm.ir import GlobalVar
from tvm_ffi import StructuralKey

from ...generators.rewrite.nodes import is_symbolic, sequence, substitute, variables, with_parts
from ..errors import NoAnswer
from ..inspect import op_name
from .grouping import IN_PLACE

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
        return [var for var in defined_by(self.weights) if var not in params]


def closed(target: Target) -> Target:
    """The function with weights whose types stand by themselves.

    A transform does not know dimensions that only the inputs define: it takes and gives tensors of
    any shape instead, and the function checks them itself.

    Raises:
        NoAnswer: the type of an input needs a dimension that only such a weight defines.
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
    left = {*defined_by([*target.inputs, *taken]), *target.func.params}
    undefined = [
        var for var in variables(*(param.ty for param in target.inputs)) if var not in left
    ]
    if undefined:
        raise NoAnswer(
            f"{target.gvar.name_hint}: inputs and weights define each other's dimensions "
            f"({undefined})"
        )
    body = target.func.body
    body = sequence([relax.BindingBlock(checks), *body.blocks], body.body)
    func = with_parts(target.func, params=[*target.inputs, *taken], body=substitute(body, new))
    return replace(target, func=func)


class Liftable:
    """What can be computed from the weights of one function."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.bindings: list[relax.Binding] = []
        """What needs no input, in order; what needs no weight either is among it."""
        self.made: dict[relax.Var, relax.Binding] = {}
        """Those of them that need a weight: they go."""
        rooted = set(target.weights)
        dims = set(target.symbols)
        known = rooted | dims
        for block in target.func.body.blocks:
            if not isinstance(block, relax.DataflowBlock):
                continue
            for binding in block.bindings:
                used = {*variables(binding)} - {binding.var}
                # A dimension that a match_cast defines cannot stand in the type of the transform,
                # nor can a variable that holds a shape.
                ty = binding.var.ty
                sized = dims.issuperset((*relax.analysis.tir_vars_in_type(ty), *variables(ty)))
                if sized and used <= known and _computes(binding):
                    known.add(binding.var)
                    self.bindings.append(binding)
                    if not used.isdisjoint(rooted):
                        rooted.add(binding.var)
                        self.made[binding.var] = binding

    def needed_for(self, wanted: Iterable[relax.Var]) -> list[relax.Binding]:
        """The bindings that compute these variables."""
        needed = set(wanted)
        kept: list[relax.Binding] = []
        for binding in reversed(self.bindings):
            if binding.var in needed:
                needed |= {*variables(binding)}
                kept.append(binding)
        return kept[::-1]

    def key(self, var: relax.Var) -> StructuralKey:
        """Equal for values that are computed in the same way from the same weights."""
        block = relax.DataflowBlock(self.needed_for([var]))
        return StructuralKey(
            relax.Function(self.target.weights, sequence([block], var), var.ty, True)
        )


def defined_by(params: Iterable[relax.Var]) -> list[relax.Var]:
    ty = relax.TupleType([param.ty for param in params])
    return list(relax.analysis.definable_tir_vars_in_type(ty))


def _computes(binding: relax.Binding) -> bool:
    """It gives a value that can be stored, and does nothing else."""
    if op_name(binding.value) in (STOP, *IN_PLACE):
        return False
    found: list[relax.FuncType] = []
    tvm_ffi.structural_walk(binding.var.ty, (relax.FuncType, found.append))
    return not found and not is_symbolic(binding.var)


def correspondence(liftable: Sequence[Liftable]) -> list[dict[relax.Var, relax.Var]]:
    """For each function: its variables that the transform knows, to those of the first one.

    Several functions have in common what they compute in the same way from the weights.
    """
    first = liftable[0]
    known = [[*each.target.weights, *each.target.symbols] for each in liftable]
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
