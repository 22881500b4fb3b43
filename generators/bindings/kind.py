"""What a kind of binding is, and what all kinds share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tvm import relax, tirx

from ...compat.ops import existing, relax_op
from ..choices import Choices
from ..ops.record import Op
from ..rewrite.nodes import defined_symbolic_vars
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
class Kind:
    """One kind of binding: emits one or more bindings into the scope."""

    emit: Callable[[Choices, Scope, Sequence[Op], Sequence[Callee]], None]
    trait: Trait | None = None
    """Only in modules with this trait; None: always."""
    dataflow: bool = True
    """May stand in a dataflow block."""
    weight: int = 1


def added(
    f: Scope,
    name: str,
    result: relax.Expr,
    *,
    pure: bool = True,
    attrs: Mapping[str, object] | None = None,
) -> relax.GlobalVar:
    """The function of this scope, closed and added to its module as a private one.

    Parameters and bindings define all symbolic variables that it uses.
    """
    f.close()
    body = f.module.builder.normalize(relax.SeqExpr(f.blocks, result))
    func = relax.Function(f.params, body, body.ty, is_pure=pure)
    return f.module.add(name, func.with_attr(dict(attrs)) if attrs else func)


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
