"""What a child does with the job `Reduce`: the search, with its oracle asked in process."""

from __future__ import annotations

import time
from collections.abc import Callable

import tvm

from ...generators.stages import Stage
from ...generators.tvm_api import load_json
from ...oracles.violation import Violation
from ..process.journal import Journal
from ..process.protocol import Exhausted, Failed, FromChild, Met, Reduce, Shrunk, Tried, identity
from .reduction import Spot
from .search import Candidate, Search, search

MAKING = "edit"
"""The step in which a candidate is made: a death there is no fault of a pass."""

SIGN_SECONDS = 0.1
"""Between two signs of life."""


def reduce(
    id: int,
    job: Reduce,
    check: Callable[[tvm.IRModule], list[Violation]],
    journal: Journal,
    say: Callable[[FromChild], None],
) -> None:
    """Look for smaller modules until there are none; say each at once.

    Args:
        check: gives the violations of a module under the job's passes and oracles.
    """
    wanted = (job.oracle, job.pass_name, job.key, job.place)
    told = {wanted}
    tried = 0
    sign = time.monotonic()

    def before(spot: Spot) -> None:
        journal.place(spot.reduction, Stage.RAW, spot.number, "", job.calls, job.pipeline)
        journal.step(MAKING)

    def holds(candidate: Candidate) -> bool:
        nonlocal tried, sign
        tried += 1
        if time.monotonic() - sign > SIGN_SECONDS:
            sign = time.monotonic()
            say(Tried(id, tried))
        seen = {identity(violation): violation for violation in check(candidate.mod)}
        for other, violation in seen.items():
            if other not in told:
                told.add(other)
                say(Met(id, violation, candidate.module))
        return wanted in seen

    where = Search(
        anchor=job.anchor,
        after=job.after,
        share=job.share,
        shares=job.shares,
        before=before,
        fault=lambda text: say(Failed(id, text, journal.last())),
    )
    for smaller in search(load_json(job.module), holds, where):
        say(Shrunk(id, smaller.module, smaller.spot, tried))
    say(Exhausted(id, tried))
