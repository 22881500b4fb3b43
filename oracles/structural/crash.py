"""No crash: a pass gives a module, or refuses and names what it does not support."""

from __future__ import annotations

from .. import keys
from ..grades.grade import Grade
from ..identity import FailureKind
from ..oracle import Oracle
from ..pass_runs import PassRuns
from ..silence import inventory
from ..silence.log import excused
from ..text import messages
from ..violation import Violation


def check(runs: PassRuns) -> Violation | None:
    """Every exception is a problem, but a refusal that the contract lists."""
    error = runs.direct.error
    if error is None:
        return None
    if runs.rejected(error) and excused(inventory.REJECTION, messages.headline(str(error))):
        return None
    return keys.exception(error)


ORACLE = Oracle(
    name="crash",
    failure=FailureKind.RAISES,
    tier=1,
    grade=Grade.B,
    universal=True,
    of_runs=True,
    promise="A pass gives a module for every well-formed one that meets its documented conditions.",
    source="docs/arch/pass_infra.rst: 'All passes are designed in a Module to Module manner'; "
    "docs/errors.rst: 'Internal check failures often indicate that TVM reached a state that the "
    "implementation did not expect'",
    check=check,
    snippet="for p in passes:\n    mod = apply(mod, p)",
    brief=lambda case, violation: ("the_pass(mod)",),
)
