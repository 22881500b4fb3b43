"""The exhibit: what an oracle compared, as two texts of which the difference tells the story."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from . import composition
from .check import narrow
from .halves import ran
from .oracle import Case, Half, Halves, Journal, Violation, silent
from .printed import clipped, printed
from .subject import Subject
from .tiers import ORACLES


@dataclass(frozen=True, slots=True)
class Exhibit:
    """A finding to look at."""

    module: str
    """The module, as TVMScript; bounded, see `printed`."""
    left_label: str
    left: str
    """What was expected, or came first."""
    right_label: str
    right: str
    """What came instead; empty where there is nothing, and the label says why."""

    @property
    def diff(self) -> str:
        """Unified, with the labels in its head; empty where there is nothing to compare."""
        if not self.left or not self.right or self.left == self.right:
            return ""
        sides = self.left.splitlines(), self.right.splitlines()
        return "\n".join(
            difflib.unified_diff(*sides, self.left_label, self.right_label, lineterm="")
        )


def exhibit(case: Case, violation: Violation, journal: Journal = silent) -> Exhibit:
    """Run the passes again and show what the oracle compared.

    Whatever goes wrong on the way, the module itself is shown. The case's module is changed by a
    pass that changes its input: give a copy.
    """
    journal("print the module")
    module = printed(case.mod)
    journal("show")
    left, right = _halves(case, violation)
    return Exhibit(module, left.label, _text(left, journal), right.label, _text(right, journal))


def alone(module: str, violation: Violation) -> Exhibit:
    """The module, where the pass ends the process or cannot be run."""
    what = f"{violation.pass_name}: {violation.title}"
    return Exhibit(clipped(module), GIVEN, clipped(module), what, "")


GIVEN = "the module"


def _halves(case: Case, violation: Violation) -> Halves:
    oracle = ORACLES.get(violation.oracle)
    try:
        # Of several passes the one that is blamed is shown, with what it was given.
        case = narrow(case, violation)
        shown = None if oracle is None else oracle.halves(case, violation)
        return shown or before_and_after(case, violation)
    except Exception:  # what is shown is a help, not the finding
        return Half(GIVEN, case.mod), Half(f"{violation.pass_name}: {violation.title}")


def before_and_after(case: Case, violation: Violation) -> Halves:
    """The module that the pass was given, and its result."""
    if len(case.calls) != 1:
        return Half(GIVEN, case.mod), Half(f"{violation.pass_name}: {violation.title}")
    (call,) = case.calls
    subject = Subject(case.mod, case.calls, composition.contract_of(call), alone=True)
    before = subject.given.copy()
    outcome = subject.direct
    return Half(f"before {call.name}", before), ran(outcome, f"after {call.name}", call.name)


def _text(half: Half, journal: Journal) -> str:
    journal(f"print {half.label}")
    text = "" if half.mod is None else printed(half.mod)
    return clipped("\n\n".join(filter(None, (text, half.values))))
