"""The times and TVM builds at which a bug was seen, and the build on which it was gone."""

from __future__ import annotations

import time
from collections.abc import Mapping, Set
from dataclasses import dataclass, replace

from ...compat.release import build_name
from ..findings.runs import Run
from ..reproducer.replay import ReplayStatus


@dataclass(frozen=True, slots=True)
class Seen:
    """The times at which a bug was seen to fail."""

    first: float | None = None
    """Unix time of the first run that reported it or saw it fail again; None if there is no such
    run."""
    last: float | None = None
    builds: tuple[str, ...] = ()
    """The builds on which it failed, in order of their first times."""
    gone_on: str | None = None
    """The build on which it was run again and no longer failed; None if it failed the last time."""
    is_back: bool = False
    """True if it was gone, and fails again."""

    @property
    def period(self) -> str:
        """The days from the first time to the last."""
        days = [date(each) for each in (self.first, self.last) if each is not None]
        return " to ".join(dict.fromkeys(days))


NEVER = Seen()


def seen(ids: Set[str], runs: Mapping[int, Run]) -> Seen:
    """The facts that runs recorded about a bug.

    Args:
        ids: ids of its findings.
    """
    so_far = NEVER
    for run in runs.values():
        statuses = {run.replayed[id] for id in ids if id in run.replayed}
        build = build_name(run.versions)
        if not ids.isdisjoint(run.found) or ReplayStatus.FAILS in statuses:
            so_far = Seen(
                first=run.started if so_far.first is None else so_far.first,
                last=run.started,
                builds=tuple(dict.fromkeys((*so_far.builds, build))),
                is_back=so_far.is_back or so_far.gone_on is not None,
            )
        elif statuses == {ReplayStatus.GONE}:
            so_far = replace(so_far, gone_on=so_far.gone_on or build, is_back=False)
    return so_far


def date(seconds: float) -> str:
    """The day, in UTC."""
    return time.strftime("%Y-%m-%d", time.gmtime(seconds))
