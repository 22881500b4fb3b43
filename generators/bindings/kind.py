"""The record of a kind of binding, and helpers that all kinds share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tvm import relax, tirx

from ...compat.ops import existing, relax_op
from ..choices import Choices
from ..ops.record import Op
from ..rewrite.nodes import defined_symbolic_vars, free_symbolic_vars
from ..scope import Scope
from ..traits import Trait

ARITHMETIC = ("float32", "float16", "float64", "int32", "int64")


@dataclass(frozen=True, slots=True)
class Callee:
    """A Relax function of the module that later ones may call."""

    gvar: relax.GlobalVar
    func: relax.Function
    symbolic: tuple[tirx.Var, ...]

    @classmethod
    def of(cls, gvar: relax.GlobalVar, func: relax.Function) -> Callee:
        """The function under this GlobalVar."""
        return cls(gvar, func, tuple(defined_symbolic_vars(func)))


@dataclass(frozen=True, slots=True)
class BindingKind:
    """One kind of binding: emits one or more bindings into the scope."""

    emit: Callable[[Choices, Scope, Sequence[Op], Sequence[Callee]], None]
    trait: Trait | None = None
    """The trait that a module needs to have it; None: any module may have it."""
    dataflow: bool = True
    """True if a dataflow block may contain it."""
    weight: int = 1


def finish(
    s: Scope, result: relax.Expr, attrs: Mapping[str, object] | None = None
) -> relax.Function:
    """Close the function over its parameters, defining the symbolic variables left open."""
    s.close()
    body = s.module.builder.normalize(relax.SeqExpr(s.blocks, result))
    free = free_symbolic_vars(relax.Function(s.params, body, body.ty))
    if free:
        s.param(relax.ShapeType(free), "s")
    function = relax.Function(s.params, body, body.ty, is_pure=s.pure)
    return function.with_attr(dict(attrs)) if attrs else function


Ops = Sequence[Op]


Callees = Sequence[Callee]


SAME_TYPE: tuple[Callable[[relax.Expr], relax.Expr], ...] = existing(
    relax_op.nn.relu,
    relax_op.negative,
    relax_op.abs,
    lambda x: relax_op.add(x, x),
    lambda x: relax_op.multiply(x, x),
    lambda x: relax_op.maximum(x, x),
)
"""Operators whose result has the type of the operand."""
