"""The variables of one activation of a function, and what a frame asks of its evaluator."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Protocol

from tvm import relax
from tvm.ir import GlobalVar

from ...compat import ir
from ..errors import Unsupported
from .effects import Effect

Visit = Callable[["Frame", Any], Any]
"""Gives the value of an expression of one class."""


class Host(Protocol):
    """The evaluation of a module, as far as the evaluation of an expression needs it."""

    writes: bool
    """Whether tensors may change after they are made."""
    watch: Callable[[relax.Var, Any], None] | None
    """Receives each parameter and bound variable with its value."""
    perturb: Callable[[Any], Any] | None
    """Changes the result of every operator."""
    wraps: bool
    """Whether sums and products of integers may wrap around."""
    promised: bool
    """Operands for which an operator promises nothing have no result."""
    valued: bool
    """The evaluation ends where an operator has no value for its operands."""
    partial: bool
    """An operator has had no result, as far as that is not used."""
    written: list[Any]
    """Arrays that the latest call of a PrimFunc has written to and that are not reported yet."""
    effects: list[Effect] | None
    """Receives the calls of packed functions; None: nobody asks."""
    asserted: bool
    """The module says that what is called now is pure."""
    updated: list[Any]
    """Operands of calls that have updated them in place."""
    misused: bool
    """One of these was used after the call, or updated twice by it."""

    def call_global(self, gvar: GlobalVar, args: Sequence[Any]) -> Any:
        """The result of a function of the module, whatever its kind."""

    def named(self, callee: Any) -> Any:
        """The function of the module that a GlobalVar stands for; anything else as it is."""

    def call_packed(self, name: str, args: Sequence[Any]) -> Any:
        """The result of a packed function."""

    def note_effect(self, function: str, args: Sequence[Any]) -> None:
        """Note a call of a packed function."""

    def call_function(
        self, func: relax.Function, args: Sequence[Any], env: Mapping[int, Any]
    ) -> Any:
        """The result of a Relax function among the variables that it is defined in."""

    def constant(self, expr: ir.GenericConst) -> Any:
        """The value of a constant: the same array each time."""


class Frame:
    """Values by the addresses of their variables, which the hashes of nodes are.

    Relax variables and symbolic variables are of one class and share one dictionary. It is not
    keyed by the variables themselves: they compare by making a comparison node, which costs more
    than the rest of a look-up.

    Args:
        evaluator: the evaluation that the activation is part of.
        env: the variables around the function.
        visit: how each class of expression is evaluated.
    """

    __slots__ = ("_visit", "env", "evaluator", "pending")

    def __init__(
        self, evaluator: Host, env: Mapping[int, Any], visit: Mapping[type, Visit]
    ) -> None:
        self.evaluator: Final = evaluator
        self.env = {**env}
        self.pending: list[tuple[Any, int]] = []
        """Dimensions to check as soon as all parameters are known."""
        self._visit: Final = visit

    def value(self, expr: Any) -> Any:
        """The value of an expression.

        Raises:
            Unsupported: a kind of expression that the evaluator does not know.
        """
        visit = self._visit.get(type(expr))
        if visit is None:
            raise Unsupported(f"expression {type(expr).__name__}")
        return visit(self, expr)
