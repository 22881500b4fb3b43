"""The variables of one activation of a function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from tvm import relax

from ..errors import Unsupported
from ..inspect import nodes
from .expressions import VISIT
from .matching import match, settle

if TYPE_CHECKING:
    from .evaluator import Evaluator


class Frame:
    """Values by the addresses of their variables, which the hashes of nodes are.

    Relax's variables and symbolic ones are of one class and share one dictionary. It is not keyed
    by the variables themselves: they compare by making a comparison node, which costs more than
    the rest of a look-up.
    """

    __slots__ = ("env", "evaluator", "pending")

    def __init__(self, evaluator: Evaluator, env: Mapping[int, Any]) -> None:
        self.evaluator: Final[Evaluator] = evaluator
        self.env = {**env}
        self.pending: list[tuple[Any, int]] = []
        """Dimensions to check as soon as all parameters are known."""

    def value(self, expr: Any) -> Any:
        """The value of an expression.

        Raises:
            Unsupported: a kind of expression that the evaluator does not know.
        """
        visit = VISIT.get(type(expr))
        if visit is None:
            raise Unsupported(f"expression {type(expr).__name__}")
        return visit(self, expr)

    def enter(self, func: relax.Function, args: Sequence[Any]) -> None:
        """Give the parameters their values, and the symbolic variables of their types.

        Raises:
            Mismatch: an argument that does not meet its parameter's type.
        """
        watch = self.evaluator.watch
        for param, arg in zip(func.params, args, strict=True):
            self.env[hash(param)] = arg
            match(self, param.ty, arg)
            if watch is not None:
                watch(param, arg)
        if self.pending:
            settle(self)

    def tell_written(self, call: relax.Call) -> None:
        """Tell the variables among the operands that a PrimFunc has written to."""
        evaluator = self.evaluator
        written, evaluator.written = evaluator.written, []
        for var in nodes(call, relax.Var):
            value = self.env.get(hash(var))
            if evaluator.watch is not None and any(value is array for array in written):
                evaluator.watch(var, value)
