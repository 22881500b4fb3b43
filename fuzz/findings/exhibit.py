"""Exhibits of findings: made in a process of their own, since a pass may end it."""

from __future__ import annotations

from ...generators.tvm_api import load_json, save_json
from ...oracles.text.exhibit import Exhibit, alone
from ...oracles.text.exhibit import exhibit as of
from ...oracles.violation import Case, Violation
from ..process import death
from ..process.executor import Executor, ask
from ..process.jobs import Show
from ..process.protocol import LIMITS, Died, Limits
from .confirm import DEATHS
from .finding import Finding

__all__ = ["Exhibit", "exhibit", "here"]


def exhibit(executor: Executor, finding: Finding, *, limits: Limits = LIMITS) -> Exhibit:
    """What to look at first; never more than the module where the pass ends its process.

    Raises:
        ExecutorError: the harness failed.
    """
    violation = finding.violation
    if finding.oracle not in DEATHS:
        job = Show(finding.module, violation, finding.calls, finding.pipeline)
        shown = ask(executor, job, limits=limits)
        if isinstance(shown, Exhibit):
            return shown
        violation = death.violation(shown)
    shown = ask(executor, Show(finding.module, violation), limits=limits)
    return alone(finding.source, violation) if isinstance(shown, Died) else shown


def here(case: Case, violation: Violation) -> Exhibit:
    """The same in this process, for a pass that is only in its memory.

    The pass runs again, on copies of the module.
    """
    return of(Case(load_json(save_json(case.mod)), case.calls, case.pipeline), violation)
