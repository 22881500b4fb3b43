"""The record of an oracle: one promise and the check of it."""

from __future__ import annotations

import contextlib
import enum
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import tvm

from .errors import TooLarge
from .identity import FailureKind
from .pass_runs import PassRuns
from .passcall import PassCall
from .silence import inventory
from .silence.log import abstain, is_curious, is_loud, keep
from .violation import Case, Violation


@dataclass(frozen=True, slots=True)
class Half:
    """One of the two things that an oracle compared, to be shown beside the other."""

    label: str
    mod: tvm.IRModule | None = None
    """The module; None if there is none, for the reason in the label, or if only values matter."""
    values: str = ""
    """The computed values, if the oracle compares them."""


Halves = tuple[Half, Half]


ALL = frozenset({1, 2, 3, 4})
"""The tiers of oracles: structural, metamorphic, of evaluated values, and of executed values."""

TWINS = frozenset({2})
"""The tier of oracles that compare runs of a pass on modules that mean the same."""

FORMS = frozenset({1, 2})
"""The tiers of oracles that check the form of a result, not the values it computes."""


class About(enum.Enum):
    """The subject of an oracle's violations."""

    RESULT = enum.auto()
    """The result of a pass, or of a pipeline."""
    RUN = enum.auto()
    """One run of a pass. If the pass changes nothing, no result is compared."""
    RUNS = enum.auto()
    """Several runs of a pass, which are compared. The oracle is silent if the contract lets each
    run give another result (an exemption from "chance")."""
    OPERATORS = enum.auto()
    """Operators, in modules of the oracle's own, so that no other violation explains these."""


@dataclass(frozen=True, slots=True)
class Breach:
    """The meaning of a broken promise."""

    failure: FailureKind
    """The class of the violation in its identity."""
    explains: frozenset[int] = ALL
    """The tiers whose oracles would only report consequences of the violation, and so are not
    asked. A missing, ill-formed or differently called result makes everything else meaningless. If
    only a form is missing, or varies from run to run, other forms may differ for that reason, but
    values do not. The behaviour of a second run explains nothing about the first."""
    hint: bool = False
    """It breaks no promise: it is reported, but affects exit codes only if the oracle is asked by
    name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Oracle:
    """One promise, the check of it, and the text that shows a violation."""

    name: str
    tier: int
    promise: str
    """The promise of every pass, in one sentence for reports."""
    source: str
    """The place where TVM promises it: a docstring, a documentation page, a checker."""
    breach: Breach
    """The meaning of its violations."""
    breaches: Mapping[str, Breach] = field(default_factory=dict)
    """The meaning of violations that differ from `breach`, by the first part of their keys."""
    about: About = About.RESULT
    universal: bool = False
    """Every pass must keep the promise, so passes without a contract are checked, too."""
    check: Callable[[PassRuns], Violation | tuple[Violation, ...] | None] | None = None
    """Returns the violations in the runs of one pass, which are made once for all oracles.

    None: the oracle is asked of whole pipelines, never of a single pass.
    """
    brief: Callable[[Case, Violation], Iterable[str]] = lambda case, violation: ()
    """Python (tvm and numpy) that shows this violation, the best first; none, one or several.

    They may use `mod` and `the_pass`, which is called on modules, or `passes`, a list of passes.
    They may fail to show the violation, so execute one before using it. The last statement raises;
    unless it re-raises the pass's own exception, the pass runs before it.
    """
    halves: Callable[[Case, Violation], Halves | None] = lambda case, violation: None
    """The two halves to show side by side; None: the module before the pass and after it.

    It may run passes, and must work on the case's own module, not on one that an earlier run left.
    """

    def breach_of(self, key: Sequence[str]) -> Breach:
        """The meaning of a violation with this key."""
        return self.breaches.get(key[0], self.breach) if key else self.breach

    def promised(self, runs: PassRuns) -> bool:
        """True if the contract of the pass makes this promise; if not, the oracle abstains."""
        if runs.contract.universal_only and not self.universal:
            abstain(inventory.NO_PROMISE, "nobody has written a contract for the pass")
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
        """Python that shows the violation: the brief forms, or one that asks relaxfuzz again.

        Yields nothing if an array in it is too large to be written out.
        """
        with contextlib.suppress(TooLarge):
            if brief:
                yield from self.brief(case, violation)
            elif any(type(call) is not PassCall for call in case.calls):
                yield "the_pass(mod)"  # it exists only in the memory of one process
            else:
                yield _ASKING.format(calls=case.calls, pipeline=case.pipeline, oracle=self.name)

    def violations(self, runs: PassRuns) -> tuple[Violation, ...]:
        """All violations that the check finds."""
        found = None if self.check is None else self.check(runs)
        if isinstance(found, tuple):
            return found
        return () if found is None else (found,)


_ASKING = """\
from relaxfuzz.oracles.check import check
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.violation import Case

found = check(Case(mod, {calls!r}, {pipeline!r}), oracles=[{oracle!r}])
assert not found, found[0].title
"""
