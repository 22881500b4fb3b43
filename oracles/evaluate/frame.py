"""The variables of one activation of a function, and the evaluation that it is part of."""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from tvm import relax
from tvm.ir import GlobalVar

from ...compat import ir
from ..errors import Unsupported
from .effects import PackedCall

Visit = Callable[["Frame", Any], Any]
"""A function that gives the value of an expression of one class."""


@dataclass(eq=False, kw_only=True)
class Evaluation(abc.ABC):
    """The evaluation of one module, as seen by the evaluation of an expression."""

    watch: Callable[[relax.Var, Any], None] | None = None
    """Called with every parameter and bound variable and its value, in order of evaluation; not for
    memory that is only allocated; again for every variable that a PrimFunc writes to. The values it
    receives are not changed later."""
    perturb: Callable[[Any], Any] | None = None
    """Changes the result of every operator, and the writes of PrimFuncs, to show how far a result
    depends on rounding."""
    effects: list[PackedCall] | None = None
    """Receives the calls of packed functions that may have an effect, in order."""
    wraps: bool = False
    """Sums and products of integers may wrap around; see `Behaviour`."""
    promised: bool = True
    """An operator has no result for operands without a promise; otherwise the operator's reference
    gives it."""
    foreign: set[str] | None = None
    """Receives the operators whose records do not cover their operands' kind of numbers; their
    references then give the results. None: they have no results."""
    converts: bool = False
    """A number that an integer dtype cannot hold becomes an arbitrary one, a different one for each
    `PATTERN`; otherwise the conversion is undefined."""
    valued: bool = True
    """An operator without a value for its operands ends the evaluation; otherwise zeros replace its
    result, to show if the rest is defined."""

    writes: bool = field(default=False, init=False)
    """True if tensors may change after they are made."""
    partial: bool = field(default=False, init=False)
    """True if some intermediate value was not promised or not known, and no result needs it."""
    written: list[Any] = field(default_factory=list, init=False)
    """The arrays that the latest call of a PrimFunc has written to, until they are reported."""
    updated: list[Any] = field(default_factory=list, init=False)
    """The operands that `call_tir_inplace` has updated."""
    misused: bool = field(default=False, init=False)
    """True if an updated operand was aliased or live after the call, contrary to the docstring of
    `relax.op.call_tir_inplace`."""
    asserted: bool = field(default=False, init=False)
    """True while calls are pure by declaration of the module."""

    @abc.abstractmethod
    def call_global(self, gvar: GlobalVar, args: Sequence[Any]) -> Any:
        """The result of a function of the module, whatever its kind."""

    @abc.abstractmethod
    def named(self, callee: Any) -> Any:
        """The function of the module that a GlobalVar names; any other expression unchanged."""

    @abc.abstractmethod
    def call_packed(self, name: str, args: Sequence[Any]) -> Any:
        """The result of a packed function."""

    @abc.abstractmethod
    def note_effect(self, function: str, args: Sequence[Any]) -> None:
        """Note a call of a packed function."""

    @abc.abstractmethod
    def call_function(
        self, func: relax.Function, args: Sequence[Any], env: Mapping[int, Any]
    ) -> Any:
        """The result of a Relax function, given the variables in scope at its definition."""

    @abc.abstractmethod
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
        self, evaluator: Evaluation, env: Mapping[int, Any], visit: Mapping[type, Visit]
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
