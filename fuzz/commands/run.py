"""`relaxfuzz run`: generate modules, check passes, report."""

from __future__ import annotations

import dataclasses
import random
from dataclasses import dataclass

from ..campaign.campaign import CampaignConfig
from ..campaign.schedule import MODULES_IN_BLOCK
from ..cluster.where import Where
from ..findings.known import Choice
from ..session.fuzzing import fuzz
from ..session.session import session
from ..user_input.options import CampaignOptions, Relaxations
from ..user_input.targets import oracles_of, targets

BUDGET = "60s"
"""Where neither --budget nor --modules is given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request(CampaignOptions):
    """The command line of `run`."""

    workers: int
    block: int | None
    where: Where | None
    oracles: tuple[str, ...] | None
    json: bool
    knowns: Choice
    relaxations: Relaxations


def run(request: Request) -> int:
    """Run the campaign; the exit code.

    Raises:
        Mistake: the request cannot be met.
        ExecutorError: the workers cannot be kept alive.
    """
    seconds = request.time_budget(BUDGET)
    chosen = targets(request.passes, request.relaxations)
    config = CampaignConfig(
        seed=random.SystemRandom().randrange(2**31) if request.seed is None else request.seed,
        targets=chosen,
        seconds=seconds,
        modules=request.modules,
        oracles=oracles_of(request.oracles),
        compositions=not request.passes,
        modules_in_block=request.block or MODULES_IN_BLOCK,
    )
    names = tuple(target.name for target in chosen) if request.passes else None
    with session(
        request.out,
        request.workers,
        request.knowns,
        as_json=request.json,
        where=request.where,
        calls=[target.call for target in chosen if target.call is not None],
        campaign="relaxfuzz run",
    ) as made:
        avoid = made.expected.triggers(chosen)
        config = dataclasses.replace(config, avoid=avoid)
        finished = fuzz(config, made, command="run", named=names)
        return made.conclude(finished.modules, finished.checks, finished.seconds)
