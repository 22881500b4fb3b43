"""Measures the effect of a violation on users, in a child."""

from __future__ import annotations

from dataclasses import dataclass

from ...compat.serialization import load_json
from ...generators.stages import Stage
from ...oracles.consequence import consequence
from ...oracles.grades.consequence import Consequence
from ...oracles.pace import paced
from ...oracles.passcall import PassCall
from ...oracles.violation import Case, Violation
from ..process.context import Context
from ..process.protocol import Job

SECONDS = 6.0
"""CPU time after which no further kinds of arguments are computed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure(Job[Consequence | None]):
    """Measure the consequence of a violation of a minimized module."""

    module: str
    """The module, as TVM JSON."""
    violation: Violation
    calls: tuple[PassCall, ...] = ()
    pipeline: str | None = None


def measure(job: Measure, context: Context[Consequence | None]) -> None:
    """Report the consequence; None if it is not known."""
    journal = context.journal
    journal.position(0, Stage.RAW, 0, "measure", job.calls, job.pipeline)
    case = Case(load_json(job.module), job.calls, job.pipeline)
    with paced(SECONDS, None, lambda: journal.step("build")):
        context.report(consequence(case, job.violation, journal.step))
