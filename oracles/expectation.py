"""What functions must give for chosen arguments, as NumPy says."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import tvm
from tvm import relax

from ..generators.ops import table
from ..generators.ops.record import Tolerance
from .errors import Mismatch, Unsupported
from .evaluate import Evaluator
from .execute import Failure, Plan
from .inputs import arguments
from .inspect import ops_used, public_functions
from .relations import Rule
from .values import difference, finite, leaves, perturbed

DRAWS = ((0, False), (1, True))
"""Seeds of the arguments, and whether they are positive only."""


@dataclass(frozen=True, slots=True)
class Expectation:
    """One call of one function, and what it must give."""

    function: str
    args: list[Any]
    result: Any
    sensitive: Any
    """The result where every operator's result is slightly off: the leeway that rounding has."""

    def plan(self) -> Plan:
        """The call itself."""
        return lambda run: run(self.function, self.args)

    def differs(self, actual: Any, tolerance: Tolerance | None = None) -> str | None:
        """What the first difference is: "values: expected ... but got ..."; or None."""
        if isinstance(actual, Failure):
            return f"results (the VM raised {actual.error}): {actual.text}"
        return difference(self.result, actual, self.sensitive, tolerance)


def expectations(mod: tvm.IRModule, rule: Rule | None = None) -> list[Expectation]:
    """Calls of the public functions that the evaluator knows, with finite results throughout.

    NaN and infinity are left out, since operators are free in how they treat them.

    Args:
        rule: may choose other arguments, and leave functions out.
    """
    return list(_expectations(mod, rule))


def _expectations(mod: tvm.IRModule, rule: Rule | None) -> Iterator[Expectation]:
    for gvar, func in public_functions(mod):
        name = str(gvar.name_hint)
        if not func.is_pure or not executes(func) or (rule and not rule.applies(name)):
            continue
        for seed, positive in DRAWS:
            try:
                args = arguments(func, seed, positive=positive)
                if rule is not None:
                    args = rule.arguments(name, args)
                result, usual = _evaluated(mod, name, args)
                if usual and not any(callable(leaf) for _, leaf in leaves(result)):
                    sensitive = Evaluator(mod, perturb=perturbed).run(name, args)
                    yield Expectation(name, args, result, sensitive)
            except (Unsupported, Mismatch):
                continue


def _evaluated(mod: tvm.IRModule, name: str, args: list[Any]) -> tuple[Any, bool]:
    """The result, and whether all values on the way are finite."""
    usual = True

    def watch(var: relax.Var, value: Any) -> None:
        nonlocal usual
        usual = usual and (callable(value) or finite(value))

    return Evaluator(mod, watch).run(name, args), usual


def executes(func: relax.Function) -> bool:
    """Every operator is one that CPU builds are expected to run."""
    records = (table.get(op.removeprefix("relax.")) for op in ops_used(func))
    return all(record is None or record.executes for record in records)
