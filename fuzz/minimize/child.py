"""The job of the minimizer: the search, with its oracle asked in process."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TypeAlias

from ...compat.serialization import load_json
from ...generators.stages import Stage
from ...oracles.identify import identity_of
from ...oracles.identity import Identity, is_alike
from ...oracles.violation import Mark, Violation, mark_of
from ..process.jobs import Check, Context, violations_of
from ..process.process_state import Watch
from ..process.protocol import Death, Job
from .reduction import FIRST, EditId
from .search import Candidate, Search, search

MAKING = "edit"
"""The step in which a candidate is made: a death there is not the fault of a pass."""

HEARTBEAT_SECONDS = 0.1
"""Between two reports of the number of candidates."""


@dataclass(frozen=True, slots=True)
class Shrunk:
    """A smaller module shows the violation; the search goes on from it."""

    module: str
    """TVM JSON."""
    edit_id: EditId
    tried: int
    """Candidates since the job began."""


@dataclass(frozen=True, slots=True)
class OtherViolation:
    """A candidate shows another violation, which this job has not reported before."""

    violation: Violation
    module: str
    """TVM JSON."""


@dataclass(frozen=True, slots=True)
class Tried:
    """The number of candidates since the job began."""

    tried: int
    exhausted: bool = False
    """No edit of a whole cycle leads to a smaller module: the end of the job."""


ReduceResult: TypeAlias = Shrunk | OtherViolation | Tried


@dataclass(frozen=True, slots=True, kw_only=True)
class Reduce(Job[ReduceResult]):
    """Search for ever smaller modules that show a violation; see `search`.

    Its positions are edits: the index is the reduction's, the ordinal the edit's number.
    """

    check: Check
    """Of the module to begin with."""
    wanted: Identity
    """Failure, blamed and site of the violation."""
    anchor: EditId = FIRST
    after: EditId | None = None
    share: int = 0
    shares: int = 1


def reduce(job: Reduce, context: Context[ReduceResult]) -> None:
    """Report each smaller module at once, until there are none."""
    journal, calls = context.journal, job.check.calls
    reported: set[Mark] = set()
    tried = 0
    heartbeat = time.monotonic()

    def before(edit_id: EditId) -> None:
        journal.position(
            edit_id.reduction, Stage.RAW, edit_id.number, "", calls, job.check.pipeline
        )
        journal.step(MAKING)

    def is_interesting(candidate: Candidate) -> bool:
        nonlocal tried, heartbeat
        tried += 1
        if time.monotonic() - heartbeat > HEARTBEAT_SECONDS:
            heartbeat = time.monotonic()
            context.report(Tried(tried))
        watch = Watch(calls if job.wanted.how == Death.CHANGED else ())
        found = violations_of(job.check, candidate.mod, journal)
        watch.end(journal)
        interesting = False
        for violation in found:
            if is_alike(identity_of(violation, calls), job.wanted):
                interesting = True
            elif mark_of(violation) not in reported:
                reported.add(mark_of(violation))
                context.report(OtherViolation(violation, candidate.module))
        return interesting

    where = Search(
        anchor=job.anchor,
        after=job.after,
        share=job.share,
        shares=job.shares,
        before=before,
        report_fault=context.fail,
    )
    for smaller in search(load_json(job.check.module), is_interesting, where):
        context.report(Shrunk(smaller.module, smaller.edit_id, tried))
    context.report(Tried(tried, exhausted=True))
