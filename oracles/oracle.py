"""The record of an oracle: one promise and the check of it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import tvm

from .errors import TooLarge
from .grades.grade import Grade
from .identity import FailureKind
from .pass_runs import PassRuns
from .silence import inventory
from .silence.log import abstain, is_curious, is_loud, keep
from .violation import Case, Violation


@dataclass(frozen=True, slots=True)
class Half:
    """One of the two things that an oracle compared, to be shown beside the other."""

    label: str
    mod: tvm.IRModule | None = None
    """None: there is none, for the reason in the label; or only the values matter."""
    values: str = ""
    """What it computes, where the oracle looks at that."""


Halves = tuple[Half, Half]


ALL = frozenset({1, 2, 3, 4})
"""The tiers of oracles: structural, metamorphic, of values that are evaluated, and executed."""

TWINS = frozenset({2})
"""The tier of oracles that compare runs of a pass on modules that mean the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Oracle:
    """One promise and the check of it."""

    name: str
    tier: int
    promise: str
    """What every pass promises, in one sentence for reports."""
    grade: Grade
    """How much it matters that the promise is broken; see docs/triage.md."""
    source: str
    """Where TVM promises it: a docstring, a documentation page, a checker."""
    snippet: str | Callable[[Case], str]
    """Standalone Python (tvm and numpy) that raises with the finding's message, or what writes it.

    It is given `mod` (the IRModule), `passes` (a list of passes, one in an ordinary check),
    `the_pass` (the first of them) and `apply(mod, p=the_pass)`, which runs a pass under the case's
    PassContext and target.
    """
    check: Callable[[PassRuns], Violation | tuple[Violation, ...] | None] = lambda runs: None
    """What is wrong with the runs of one pass, which are made once for all oracles.

    The default is for oracles of whole pipelines.
    """
    brief: Callable[[Case, Violation], Iterable[str]] = lambda case, violation: ()
    """Shorter forms of the check for this one violation, the best first; none, one or several.

    They are given `mod` and `the_pass`, which is called on modules, or `passes`, a list of such.
    They may fail to show the violation: whoever uses one executes it first. The last statement is
    what raises; unless it raises what the pass itself raised, the pass is run before it.
    """
    halves: Callable[[Case, Violation], Halves | None] = lambda case, violation: None
    """What people want to see side by side; None: the module before the pass and after it.

    It may run passes, and must work on what the case holds, not on what an earlier run left.
    """
    grade_of: Mapping[str, Grade] = field(default_factory=dict)
    """The grade of violations that are of another one, by the first part of their keys."""
    hints: frozenset[str] = frozenset()
    """First parts of the keys of violations that break no promise: they are reported, and decide no
    exit code unless the oracle is asked by name."""
    cost: float = 0.0
    """Milliseconds of one check, roughly, as `make bench` measures it; the dearer, the rarer a
    campaign asks it."""
    worth: float = 1.0
    """A campaign spends so many times the usual time of the tier on it, for the root causes that a
    second of it has found in measured campaigns."""
    thorough: bool = False
    """Asked for by name, it looks at everything that it otherwise samples."""
    copies: bool = False
    """It runs the pass on copies of the module that it is given."""
    compares_runs: bool = False
    """It compares results of several runs of the pass: silent where the contract allows that each
    gives another one (an exemption from "chance")."""
    past: bool = False
    """It looks for what depends on earlier modules: asked, too, about a violation of another oracle
    that does not come out in a fresh process."""
    of_pipelines: bool = False
    """It is about whole builds: asked of pipelines, never of a single pass."""
    of_runs: bool = False
    """It is about the run itself: on a module that the pass leaves as it is, it compares
    nothing."""
    of_operators: bool = False
    """It judges operators by themselves, in modules of its own: no other violation explains what it
    finds."""
    universal: bool = False
    """Every pass keeps the promise, whatever it is for: asked of passes without a contract, too."""
    explains: frozenset[int] = ALL
    """The tiers whose oracles would report consequences of this violation: those that are behind
    it are not asked. Of a result that is not there, is ill-formed or is called in another way,
    nothing else means anything; where only a form is missed, twins differ for it, and values do
    not; what a second run does explains nothing of the first."""
    leaves_values: bool = False
    """Values can be compared behind its violations. A pass of the user's has one row for all that
    is wrong with its result, so that they are."""
    on_request: bool = False
    """It needs a device, or else what not every machine has: asked only where somebody names it."""
    failure: FailureKind
    """The class of its violations in their identity."""
    failure_of: Mapping[str, FailureKind] = field(default_factory=dict)
    """The class of violations that are of another one, by the first part of their keys."""

    def promised(self, runs: PassRuns) -> bool:
        """The contract of the pass makes this promise; if not, the oracle abstains."""
        if runs.contract.universal_only and not self.universal:
            abstain(inventory.NO_CONTRACT)
            return False
        exemption = runs.exemption(self.name)
        if exemption is None or is_loud(inventory.EXEMPTION):
            return True
        kept = self.violations(runs) if is_curious() else ()
        abstain(inventory.EXEMPTION, f"exempt: {exemption.reason}")
        for violation in kept:
            keep(inventory.EXEMPTION, violation.title)
        return False

    def checks(self, case: Case, violation: Violation, *, brief: bool) -> Iterator[str]:
        """Python that shows the violation: the shorter forms, or the whole check.

        None where an array in it is too large to be written out.
        """
        with contextlib.suppress(TooLarge):
            if brief:
                yield from self.brief(case, violation)
            else:
                yield self.snippet if isinstance(self.snippet, str) else self.snippet(case)

    def violations(self, runs: PassRuns) -> tuple[Violation, ...]:
        """All that is wrong."""
        found = self.check(runs)
        if isinstance(found, tuple):
            return found
        return () if found is None else (found,)
