"""Finds the operator that prevents a build of a module: its call alone, on operands of the same
types, fails in the same way."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import tvm
import tvm_ffi
from tvm import relax

from ...compat import ir
from ..inspect import bindings_of, global_vars, op_name, relax_functions
from ..single_call import MAIN, module_of, with_operands
from . import Failure, ProcessDeath, execute

TOGETHER = 16
"""Number of calls that are tried in one build, each in a function of its own."""


@dataclass(frozen=True, slots=True)
class Single:
    """A call of an operator in a module of its own."""

    function: str
    """The name of the function that contains the call."""
    var: str
    op: str
    mod: tvm.IRModule
    call: relax.Call
    """The call in the module that it comes from."""

    @property
    def place(self) -> str:
        """Function, variable and operator."""
        return f"{self.function}: {self.var} = {self.op}"


@functools.lru_cache(maxsize=1)
def culprit(mod: tvm.IRModule, failure: Failure, pipeline: str) -> Single | None:
    """The first operator whose call alone fails as the build of the module does.

    The result is cached, since both the oracle and the search for a smaller module need it.
    """

    def build(tried: tvm.IRModule) -> list[Any] | Failure | None:
        return execute(tried, [lambda run: None], pipeline)

    singles = list(singles_of(mod))
    for start in range(0, len(singles), TOGETHER):
        batch = singles[start : start + TOGETHER]
        if len(singles) > 1 and not isinstance(build(_together(batch)), Failure):
            continue
        for single in batch:
            if _alike(build(single.mod), failure):
                return single
    return None


def singles_of(mod: tvm.IRModule, op: str | None = None) -> Iterator[Single]:
    """Yields the different calls of an operator that can stand alone, in order; None: of any."""
    return _distinct(single for single in _singles(mod) if op in (None, single.op))


def _alike(outcome: list[Any] | Failure | None, failure: Failure) -> bool:
    if not isinstance(outcome, Failure) or isinstance(outcome, ProcessDeath) != isinstance(
        failure, ProcessDeath
    ):
        return False
    one, other = outcome.violation, failure.violation
    return (one.key, one.trace) == (other.key, other.trace)


def _together(singles: Sequence[Single]) -> tvm.IRModule:
    names = [f"f{number}" for number in range(len(singles))]
    return tvm.IRModule(
        {
            name: single.mod[MAIN].with_attr("global_symbol", name)
            for name, single in zip(names, singles, strict=True)
        }
    )


def _distinct(singles: Iterator[Single]) -> Iterator[Single]:
    seen = set[int]()
    for single in singles:
        mark = int(tvm_ffi.structural_hash(single.mod, map_free_vars=True))
        if mark not in seen:
            seen.add(mark)
            yield single


def _singles(mod: tvm.IRModule) -> Iterator[Single]:
    """Yields the calls of operators that can stand alone, in order."""
    for gvar, func in relax_functions(mod):
        for binding in bindings_of(func):
            op = op_name(binding.value)
            alone = None if op is None else _alone(binding.value)
            if op is not None and alone is not None:
                yield Single(str(gvar.name_hint), str(binding.var.name), op, alone, binding.value)


def _alone(call: relax.Call) -> tvm.IRModule | None:
    """A module of this one call, whose variables and weights among the operands are parameters."""
    if global_vars(call):
        return None
    params: dict[Any, relax.Var] = {}

    def operand(expr: relax.Expr) -> relax.Expr:
        if isinstance(expr, relax.Var) or _is_weight(expr):
            return params.setdefault(expr, relax.Var(f"x{len(params)}", expr.ty))
        return expr

    single = with_operands(call, operand)
    try:
        return module_of(single, [*params.values()])
    except Exception:
        return None


def _is_weight(expr: relax.Expr) -> bool:
    """True for a constant tensor of rank 1 or more, not for a scalar."""
    return isinstance(expr, ir.GenericConst) and bool(getattr(expr.ty, "ndim", 0))
