"""What runs inside a pass, by itself on the module that the pass was given."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import tvm
from tvm import relax
from tvm.relax import dpl

from ...compat import availability
from ..catalogue import COMMON_PARTS, catalogue
from ..pass_runs import Outcome, PassRuns
from ..passcall import REWRITING, bare_call


def parts_alone(runs: PassRuns, among: Collection[str]) -> Iterator[tuple[str, PassRuns]]:
    """The common parts that apply to the module, the rarest first, each with runs of its own.

    A pass that is a common part itself has none: what it does wrong is its own fault.

    Args:
        among: only these, by name.
    """
    if runs.call.name in COMMON_PARTS:
        return
    for name in COMMON_PARTS:
        contract = catalogue[name]
        if name not in among or name in availability.current().passes:
            continue
        if contract.requires(runs.mod) is None:
            runs.step(name)
            alone = PassRuns(
                runs.mod,
                (bare_call(name),),
                contract,
                alone=True,
                known=runs.given,
                thorough=runs.thorough,
                all_kinds=runs.all_kinds,
            )
            yield name, alone


REWRITER = REWRITING[0]


def is_of_rewriter(runs: PassRuns, mod: tvm.IRModule, outcome: Outcome) -> bool:
    """What a pass of the user's has done to a module, TVM's rewriting by patterns does by itself.

    It renews the types of a function in which no pattern matches, too. A pass that uses it is not
    to blame for that, unless it does more.
    """
    if runs.call.factory is None:
        return False
    nothing = dpl.is_gv("no function has this name")

    def rewrite(func: relax.Function) -> relax.Function:
        return dpl.rewrite_call(nothing, lambda expr, matches: expr, func)

    each = relax.transform.function_pass(lambda func, mod, context: rewrite(func), opt_level=0)
    alone = runs.attempt("rewrite by a pattern that is nowhere", runs.under(each), mod)
    return alone.mark == outcome.mark != Outcome(mod=mod).mark
