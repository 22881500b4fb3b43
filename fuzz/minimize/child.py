"""The job of the minimizer: the search, with its oracle in the same process."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TypeAlias

from ...compat.serialization import load_json
from ...generators.stages import Stage
from ...oracles.identify import identity_of
from ...oracles.identity import Identity, is_alike
from ..jobs.jobs import Check, violations_of
from ..process.context import Context
from ..process.process_state import StateWatch
from ..process.protocol import Death, Job
from .reduction import FIRST, EditId
from .reductions import REDACTIONS, REDUCTIONS
from .search import Candidate, Search, search

MAKING = "edit"
"""The step in which a candidate is made; a death in it is not the fault of a pass."""

HEARTBEAT_SECONDS = 0.1
"""Seconds between two reports of the number of candidates."""


@dataclass(frozen=True, slots=True)
class Shrunk:
    """A smaller module shows the violation; the search continues from it."""

    module: str
    """The module, as TVM JSON."""
    edit_id: EditId
    tried: int
    """Number of candidates since the job began."""


@dataclass(frozen=True, slots=True)
class SearchProgress:
    """The number of candidates since the job began."""

    tried: int
    exhausted: bool = False
    """No edit of a whole cycle leads to a smaller module, which ends the job."""


ReduceResult: TypeAlias = Shrunk | SearchProgress


@dataclass(frozen=True, slots=True, kw_only=True)
class Reduce(Job[ReduceResult]):
    """Search for ever smaller modules that show a violation; see `search`.

    Its positions are edits: the index is the reduction's, the ordinal is the number of the edit.
    """

    check: Check
    """The check of the first module."""
    wanted: Identity
    """Failure, blamed and site of the violation."""
    anchor: EditId = FIRST
    after: EditId | None = None
    share: int = 0
    shares: int = 1
    redacts: bool = False
    """Search among `REDACTIONS`."""


def reduce(job: Reduce, context: Context[ReduceResult]) -> None:
    """Report each smaller module at once, until there are no more."""
    journal, calls = context.journal, job.check.calls
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
            context.report(SearchProgress(tried))
        watch = StateWatch(calls if job.wanted.how == Death.CHANGED else ())
        found = violations_of(job.check, candidate.mod, journal)
        watch.end(journal)
        return any(is_alike(identity_of(each, calls), job.wanted) for each in found)

    where = Search(
        reductions=REDACTIONS if job.redacts else REDUCTIONS,
        anchor=job.anchor,
        after=job.after,
        share=job.share,
        shares=job.shares,
        before=before,
        report_fault=context.fail,
    )
    for smaller in search(load_json(job.check.module), is_interesting, where):
        context.report(Shrunk(smaller.module, smaller.edit_id, tried))
    context.report(SearchProgress(tried, exhausted=True))
