"""Builds: what the documented pipeline builds before a pass, it builds after it.

That is lowered and turned into code of the VM; PrimFuncs are not compiled.
"""

from __future__ import annotations

from collections.abc import Iterator

import tvm

from ..composition import documented, first_fault
from ..errors import Mismatch, RefusedOperands, Undefined, Unsupported
from ..execute import Death, Failure, execute
from ..grades.grade import Grade
from ..identity import FailureKind
from ..inspect import complete, nodes
from ..oracle import Oracle
from ..pass_runs import PassRuns
from ..pipelines import steps
from ..silence import inventory
from ..silence.log import excused
from ..structural.checkers import flaw
from ..text.value_reproducer import remaining_text
from ..violation import Case, Violation
from .sides import sides

NO_LONGER = "the result builds no longer"


def check(runs: PassRuns) -> Violation | None:
    """The error of the result's build, where the module has none.

    A later pass that breaks its own contract on the result of one of TVM's passes is to blame
    itself, and is where it is checked; unless that result says less of types than the module, or
    gives an operator operands that its reference refuses.
    """
    after = runs.changed_result()
    if after is None:
        return None
    runs.step("build the result")
    failure = execute(after, (), link=False)
    if not isinstance(failure, Failure) or flaw(after) is not None:
        return None  # another oracle reports what is ill-formed
    runs.step("build the module")
    if not isinstance(execute(runs.mod, (), link=False), list):
        return None
    found = failure.violation.under(NO_LONGER)
    later = (
        documented(runs.call)
        and not isinstance(failure, Death)
        and _incomplete(after) <= _incomplete(runs.mod)
        and first_fault(after, steps("default"), runs.step) is not None
        and not _misapplies(runs)
    )
    return None if later and excused(inventory.LATER_PASS, found.title) else found


def _misapplies(runs: PassRuns) -> bool:
    """The evaluator, too, fails at an operator of the result, where the module has values."""
    for _, side in sides(runs):
        try:
            side.value()
        except RefusedOperands:
            return True
        except (Unsupported, Mismatch, Undefined):
            return False
    return False


def _incomplete(mod: tvm.IRModule) -> int:
    """How many variables have a type that leaves a dtype, a shape or everything open."""
    return sum(not complete(var.ty) for var in nodes(mod, tvm.relax.Var))


def _brief(case: Case, violation: Violation) -> Iterator[str]:
    yield 'relax.build(mod, "llvm")  # works\nrelax.build(the_pass(mod), "llvm")'


def _snippet(case: Case) -> str:
    """Both builds, by the passes that are still to come."""
    (call,) = case.calls
    before, after = (remaining_text(mod, "default") for mod in (case.mod, call.run(case.mod)))
    return (
        'target = tvm.target.Target({"kind": "llvm", "opt-level": 0})\n'
        f"relax.build(mod, target, relax_pipeline={before})  # works\n"
        f"relax.build(apply(mod), target, relax_pipeline={after})"
    )


ORACLE = Oracle(
    name="builds",
    failure=FailureKind.RAISES,
    tier=4,
    grade=Grade.A,
    cost=30.0,
    promise="What the documented pipeline builds before a pass, it builds after it.",
    source="docs/get_started/overview.rst: 'It is easy to compose new optimization passes, "
    "libraries and codegen to the existing pipeline'",
    check=check,
    snippet=_snippet,
    brief=_brief,
    thorough=True,
)
