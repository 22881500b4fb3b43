"""The words of the oracle layer: a case, an oracle, a violation."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import tvm

from .errors import Unloadable
from .passcall import PassCall

if TYPE_CHECKING:
    from .pass_runs import PassRuns


@dataclass(frozen=True, slots=True)
class Case:
    """One thing to check: a module with one pass, a list of passes, or a named pipeline."""

    mod: tvm.IRModule
    calls: tuple[PassCall, ...] = ()
    """One call: an ordinary check. Two to five: the Sequential of them. None: see `pipeline`."""
    pipeline: str | None = None
    """"zero", "default" or "cpu_generic": checked after each step, blame on the step."""


@dataclass(frozen=True, slots=True)
class Violation:
    """What an oracle found wrong; the value that becomes a finding once it is confirmed."""

    oracle: str
    pass_name: str
    """The pass that is blamed."""
    title: str
    """One line for people: what went wrong, without addresses, indices or paths."""
    detail: str
    """The whole story: exception text, first mismatch, offending node."""
    key: tuple[str, ...]
    """What identifies the bug within one TVM build, besides oracle and pass."""
    fingerprint: tuple[str, ...]
    """The same across TVM versions: no line numbers, no file paths."""


@dataclass(frozen=True, slots=True)
class Problem:
    """What an oracle says of a case, before the blame is put on a pass."""

    title: str
    detail: str
    key: tuple[str, ...]
    fingerprint: tuple[str, ...]
    culprit: str | None = None
    """Who is to blame if not the pass: an operator, the parser."""

    @classmethod
    def plain(cls, title: str, detail: str = "") -> Problem:
        """A problem that its title identifies."""
        return cls(title, detail or title, (title,), (title,))

    def blame(self, oracle: str, pass_name: str) -> Violation:
        """The violation of one pass, or of whom the oracle found out."""
        blamed = self.culprit or pass_name
        return Violation(oracle, blamed, self.title, self.detail, self.key, self.fingerprint)


@dataclass(frozen=True, slots=True)
class Half:
    """One of the two things that an oracle compared, to be shown beside the other."""

    label: str
    mod: tvm.IRModule | None = None
    """None: there is none, and the label says why; or only the values matter."""
    values: str = ""
    """What it computes, where the oracle looks at that."""


Halves = tuple[Half, Half]


@dataclass(frozen=True, slots=True, kw_only=True)
class Oracle:
    """One promise and the check of it."""

    name: str
    tier: int
    promise: str
    """What every pass promises, in one sentence for reports."""
    source: str
    """Where TVM promises it: a docstring, a documentation page, a checker."""
    check: Callable[[PassRuns], Problem | tuple[Problem, ...] | None]
    """What is wrong, if anything. It asks the runs, made once for all oracles."""
    snippet: str | Callable[[Case], str]
    """Standalone Python (tvm and numpy) that raises with the finding's message, or what writes it.

    It is given `mod` (the IRModule), `passes` (a list of passes, one in an ordinary check),
    `the_pass` (the first of them) and `apply(mod, p=the_pass)`, which runs a pass under the case's
    PassContext and target.
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
    cost: float = 0.0
    """Milliseconds of one check, roughly; the dearer, the rarer a campaign asks it."""
    ends: bool = True
    """What the later oracles would say is a consequence of this violation: they are not asked."""

    def problems(self, runs: PassRuns) -> tuple[Problem, ...]:
        """All that is wrong; nothing where a module cannot be compared."""
        try:
            found = self.check(runs)
        except Unloadable:
            return ()
        if isinstance(found, tuple):
            return found
        return () if found is None else (found,)


Journal = Callable[[str], None]
"""Told the name of each step before it is taken, so that a dead process leaves its last words."""


def silent(step: str) -> None:
    """A journal that nobody reads."""
