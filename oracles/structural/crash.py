"""No crash: a pass gives a module, or refuses and names the unsupported feature."""

from __future__ import annotations

import dataclasses

from .. import keys
from ..errors import NoModule
from ..identity import FailureKind
from ..oracle import About, Breach, Oracle
from ..pass_runs import PassRuns
from ..passcall import partitions
from ..silence import inventory
from ..silence.log import excused
from ..text import messages
from ..violation import Case, Violation


def check(runs: PassRuns) -> Violation | None:
    """Report exceptions except refusals that the contract lists, and results that are no module."""
    error = runs.direct.error
    if error is None:
        return None
    if isinstance(error, NoModule):
        return Violation.titled(NO_MODULE, str(error))
    if runs.rejected(error) and excused(inventory.REJECTION, messages.headline(str(error))):
        return None
    found = keys.exception(error)
    return _of_part(runs, found) if runs.call.name in partitions() else found


def _of_part(runs: PassRuns, found: Violation) -> Violation:
    """The exception, blamed on the pass inside a partition function that raised.

    Such a function only calls passes, with patterns and checks in files of TVM's backends.
    """
    assert found.raised is not None
    own = any(each.startswith(BACKENDS) for each in found.trace.functions)
    within = found.raised.within or ("" if own else runs.raising())
    return dataclasses.replace(found, raised=dataclasses.replace(found.raised, within=within))


BACKENDS = "relax/backend/"
"""The folder of these files."""

NO_MODULE = "the pass returns no module, or one without a function"

_RETURNS_A_MODULE = """\
after = the_pass(mod)
assert isinstance(after, tvm.IRModule), "the pass returns no module"
for name, func in after.functions_items():
    assert isinstance(func, tvm.ir.BaseFunc), f"the result has no function for {name}"
"""


def _brief(case: Case, violation: Violation) -> tuple[str, ...]:
    return (_RETURNS_A_MODULE,) if violation.key == (NO_MODULE,) else ("the_pass(mod)",)


ORACLE = Oracle(
    name="crash",
    breach=Breach(FailureKind.RAISES),
    about=About.RUN,
    tier=1,
    universal=True,
    promise="A pass gives a module for every well-formed one that meets its documented conditions.",
    source="docs/arch/pass_infra.rst: 'All passes are designed in a Module to Module manner'; "
    "docs/errors.rst: 'Internal check failures often indicate that TVM reached a state that the "
    "implementation did not expect'",
    check=check,
    brief=_brief,
)
