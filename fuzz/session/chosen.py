"""A campaign, its workers and its known bugs, as chosen by the settings of a command."""

from __future__ import annotations

import random
import sys
from collections.abc import Sequence

from ...compat import availability
from ..affected.passes import affected
from ..campaign.campaign import CampaignConfig
from ..campaign.schedule import MODULES_IN_BLOCK
from ..findings.known import Choice
from ..loading.targets import device_named, options_of, oracles_of
from ..process.launch import SHOW
from ..process.targets import Target
from ..system.environment import Environment
from ..system.errors import UserError, parse_budget
from ..user_input.settings import BUDGET, Settings
from .silences import lifts_known, loud_environment, loud_rules


def campaign_of(
    given: Settings, targets: Sequence[Target], *, budget: str = BUDGET, everything: bool = False
) -> CampaignConfig:
    """The campaign on these targets; without a seed, a random one is drawn.

    Args:
        budget: the time if neither a time nor a number of modules is given.
        everything: also check sequences of passes and the named pipelines.

    Raises:
        UserError: the budget is not a time, there is no such oracle, or no such device here; TVM
            does not take one of the options.
    """
    return CampaignConfig(
        seed=random_seed() if given.seed is None else given.seed,
        targets=tuple(targets),
        seconds=given.seconds(budget),
        modules=given.modules,
        oracles=oracles_of(given.oracles),
        device=device_named(given.device, targets),
        compositions=everything,
        config=options_of(given),
        modules_in_block=given.block or MODULES_IN_BLOCK,
    )


SURVEY_SECONDS = 40.0
"""Seconds in which two idle cores find out what works on a build of TVM."""


def skip_survey(given: Settings) -> None:
    """Skip finding out what works on a new build of TVM, if the command has too little time for it.

    Raises:
        UserError: the budget is not a time.
    """
    seconds = given.seconds()
    if seconds is not None and seconds < SURVEY_SECONDS:
        availability.assume()


def affected_targets(given: Settings, targets: tuple[Target, ...]) -> tuple[Target, ...]:
    """The targets affected by changes of TVM's source, see `affected`; all if not requested.

    The changes are printed.

    Raises:
        UserError: there is no such revision or checkout, or a checkout is given without a revision.
    """
    if given.changed_since is None:
        if given.tvm_source is not None:
            raise UserError("--tvm-source is the checkout for --changed-since, which is not given")
        return targets
    change = affected(given.changed_since, given.tvm_source)
    found = change.among(targets)
    print(*change.lines(found), sep="\n", file=sys.stderr)
    return found


def random_seed() -> int:
    """A seed that no earlier draw determines."""
    return random.SystemRandom().randrange(2**31)


def known_choice(given: Settings) -> Choice:
    """The known bugs that the command assumes."""
    return Choice(
        folders=given.known,
        shipped=given.shipped_knowns and not lifts_known(given.loud),
        update=given.known_update,
    )


def timeout_of(given: Settings) -> float | None:
    """The time limit of a step of a check, in seconds; None: the usual one.

    Raises:
        UserError: it is not a time.
    """
    return None if given.timeout is None else parse_budget(given.timeout, "--timeout")


def environment_of(given: Settings) -> Environment:
    """The environment of the command's workers on this machine.

    Raises:
        UserError: see `loud_rules`; or the output of passes on a cluster is requested.
    """
    if given.loud and given.scheduler is not None:
        raise UserError("--loud lifts rules in the workers of this machine, not in those of Dask")
    environment = loud_environment(loud_rules(given.loud))
    if not given.show_output:
        return environment
    if given.scheduler is not None:
        raise UserError("--show-output shows what passes print on this machine, not on a cluster")
    return Environment(variables={**environment.variables, SHOW: "1"})
