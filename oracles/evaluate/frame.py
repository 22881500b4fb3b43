"""The variables of one activation of a function, and the interface of its evaluator."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Protocol

from tvm import relax
from tvm.ir import GlobalVar

from ...compat import ir
from ..errors import Unsupported
from .effects import PackedCall

Visit = Callable[["Frame", Any], Any]
"""A function that gives the value of an expression of one class."""


class EvaluationHost(Protocol):
    """The evaluation of a module, as seen by the evaluation of an expression."""

    writes: bool
    """True if tensors may change after they are made."""
    watch: Callable[[relax.Var, Any], None] | None
    """Receives each parameter and bound variable with its value."""
    perturb: Callable[[Any], Any] | None
    """Changes the result of every operator."""
    wraps: bool
    """True if sums and products of integers may wrap around."""
    promised: bool
    """True if an operator has no result for operands without a promise."""
    foreign: set[str] | None
    """Receives the operators whose records do not cover their operands' kind of numbers."""
    converts: bool
    """True if a number that an integer dtype cannot hold is converted to an arbitrary one."""
    valued: bool
    """True if an operator without a value for its operands ends the evaluation."""
    partial: bool
    """True if an operator had no result and nothing used it."""
    written: list[Any]
    """Arrays that the latest call of a PrimFunc has written to and that are not reported yet."""
    effects: list[PackedCall] | None
    """Receives the calls of packed functions; None: they are not recorded."""
    asserted: bool
    """True while calls are pure by declaration of the module."""
    updated: list[Any]
    """Operands of calls that have updated them in place."""
    misused: bool
    """True if an updated operand was used after the call, or updated twice by it."""

    def call_global(self, gvar: GlobalVar, args: Sequence[Any]) -> Any:
        """The result of a function of the module, whatever its kind."""

    def named(self, callee: Any) -> Any:
        """The function of the module that a GlobalVar names; any other expression unchanged."""

    def call_packed(self, name: str, args: Sequence[Any]) -> Any:
        """The result of a packed function."""

    def note_effect(self, function: str, args: Sequence[Any]) -> None:
        """Note a call of a packed function."""

    def call_function(
        self, func: relax.Function, args: Sequence[Any], env: Mapping[int, Any]
    ) -> Any:
        """The result of a Relax function, given the variables in scope at its definition."""

    def constant(self, expr: ir.GenericConst) -> Any:
        """The value of a constant: the same array each time."""


class Frame:
    """The values of variables, by address; the hash of a node is its address.

    Relax variables and symbolic variables are of one class and share one dictionary. The variables
    themselves are not the keys: comparing two of them makes a node, which costs more than the rest
    of a look-up.

    Args:
        evaluator: the evaluation that the activation is part of.
        env: the variables around the function.
        visit: evaluates each class of expression.
    """

    __slots__ = ("_visit", "env", "evaluator", "pending")

    def __init__(
        self, evaluator: EvaluationHost, env: Mapping[int, Any], visit: Mapping[type, Visit]
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
