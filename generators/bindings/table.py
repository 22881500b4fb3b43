"""The table of all kinds of bindings."""

from __future__ import annotations

from .. import idioms
from ..choices import Choices
from ..idioms.building import Link
from ..scope import Scope
from ..traits import Trait
from .branches import branch
from .calls import call_function, results
from .closures import function_value, local_function
from .composites import composite_calls
from .externs import call_dps_packed, call_outside, call_packed, device_hint, impure_call
from .kernels import call_tir, call_tir_inplace, call_tir_with_grad
from .kind import BindingKind, Callees, Ops
from .numbers import number
from .pieces import piece
from .repeats import repeat
from .shapes import shape_value
from .values import alias, get_item, make_tuple, match_cast, operator, tuple_operand
from .wider import any_value


def idiom(c: Choices, s: Scope, ops: Ops, callees: Callees) -> None:
    """A few bindings that form a pattern some pass looks for."""
    usable = idioms.usable(s.module.traits)
    if not usable:
        operator(c, s, ops, callees)
        return
    idiom = usable[c.below(len(usable))]
    idiom.emit(c, s, lambda: links_between(s, ops, callees))


def links_between(s: Scope, ops: Ops, callees: Callees) -> list[Link]:
    """Kinds of bindings between the calls of a pattern, without effects, which end its block."""
    pure_ops = [op for op in ops if op.pure and idioms.suits(op, s.module.traits)]
    pure = [callee for callee in callees if callee.func.is_pure]

    def link(kind: BindingKind) -> Link:
        return Link(
            kind.emit.__name__,
            lambda c, s: kind.emit(c, s, pure_ops, pure),
            kind.trait,
            kind.dataflow,
            aside=kind.emit is operator,
        )

    missing = [emit for emit, needed in ((operator, pure_ops), (call_function, pure)) if not needed]
    return [link(kind) for kind in LINKS if kind.emit not in missing]


KINDS = (
    BindingKind(operator, weight=10),
    BindingKind(idiom, Trait.IDIOMS, weight=5),
    BindingKind(alias, Trait.ALIASES),
    BindingKind(make_tuple, Trait.TUPLES),
    BindingKind(get_item, Trait.TUPLES, weight=2),
    BindingKind(repeat, Trait.REPEATED_CALLS, weight=4),
    BindingKind(tuple_operand, Trait.TUPLES),
    BindingKind(match_cast, Trait.MATCH_CAST, weight=2),
    BindingKind(shape_value, Trait.SHAPE_VALUES, weight=6),
    BindingKind(branch, Trait.IF, dataflow=False, weight=2),
    BindingKind(call_function, Trait.FUNCTION_CALLS, weight=3),
    BindingKind(results, Trait.FUNCTION_CALLS, weight=2),
    BindingKind(local_function, Trait.CLOSURES, dataflow=False, weight=2),
    BindingKind(function_value, Trait.FUNCTION_VALUES, weight=6),
    BindingKind(composite_calls, Trait.COMPOSITE, weight=2),
    BindingKind(number, Trait.NUMBERS, weight=3),
    BindingKind(any_value, Trait.ANY, weight=3),
    BindingKind(call_tir, Trait.CALL_TIR, weight=3),
    BindingKind(call_tir_inplace, Trait.CALL_TIR_INPLACE, weight=2),
    BindingKind(call_tir_with_grad, Trait.CALL_TIR_WITH_GRAD),
    BindingKind(call_dps_packed, Trait.CALL_DPS_PACKED),
    BindingKind(call_packed, Trait.CALL_PACKED, weight=3),
    BindingKind(call_outside, Trait.EXTERN_FUNCS, weight=4),
    BindingKind(impure_call, Trait.IMPURE, dataflow=False),
    BindingKind(device_hint, Trait.VDEVICES, weight=2),
)
"""All kinds of bindings, the simplest first."""

LINKS = tuple(
    kind
    for kind in KINDS
    if kind.emit
    not in (
        *(idiom, repeat, make_tuple, get_item, results, impure_call, function_value, number),
        *(composite_calls, call_outside),
    )
)
"""Kinds of bindings between two calls of an idiom; none of them ends a dataflow block by itself."""


PIECES = 4
"""One in this many bindings is a piece of a real module, if the module has pieces."""


def kinds(s: Scope) -> list[BindingKind]:
    """The kinds that this module's traits allow, each repeated by its weight."""
    usual = [
        kind
        for kind in KINDS
        if kind.trait is None or s.has(kind.trait)
        for _ in range(kind.weight)
    ]
    return usual + [BindingKind(piece)] * (len(usual) // (PIECES - 1)) if s.module.pieces else usual
