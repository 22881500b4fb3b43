"""When and on which builds of TVM a bug was seen, and since which it is gone: what runs know."""

from __future__ import annotations

import time
from collections.abc import Mapping, Set
from dataclasses import dataclass, replace

from ...compat.release import build_name
from ..findings.replay import Status
from ..findings.runs import Run


@dataclass(frozen=True, slots=True)
class Seen:
    """The times at which a bug was seen to fail."""

    first: float | None = None
    """Unix time of the run that was the first to report it, or to see it fail when it was run
    again; None: no run did."""
    last: float | None = None
    builds: tuple[str, ...] = ()
    """The builds on which it failed, in the order of the first time."""
    gone_on: str | None = None
    """The build on which it was run again and did not fail any more; None: it did the last time."""
    is_back: bool = False
    """It was gone, and fails again."""

    @property
    def period(self) -> str:
        """The days from the first time to the last."""
        days = [date(each) for each in (self.first, self.last) if each is not None]
        return " to ".join(dict.fromkeys(days))

    @property
    def brief(self) -> str:
        """The same with the versions of TVM on which it failed, e.g. for a cell of a table."""
        on = dict.fromkeys(build.partition(" (")[0].removeprefix("TVM ") for build in self.builds)
        return ", ".join(filter(None, (self.period, *on)))


NEVER = Seen()


def seen(ids: Set[str], runs: Mapping[int, Run]) -> Seen:
    """What the runs know of a bug.

    Args:
        ids: of its findings.
    """
    so_far = NEVER
    for run in runs.values():
        statuses = {run.replayed[id] for id in ids if id in run.replayed}
        build = build_name(run.versions)
        if not ids.isdisjoint(run.found) or Status.FAILS in statuses:
            so_far = Seen(
                first=run.started if so_far.first is None else so_far.first,
                last=run.started,
                builds=tuple(dict.fromkeys((*so_far.builds, build))),
                is_back=so_far.is_back or so_far.gone_on is not None,
            )
        elif statuses == {Status.GONE}:
            so_far = replace(so_far, gone_on=so_far.gone_on or build, is_back=False)
    return so_far


def date(seconds: float) -> str:
    """The day, in UTC."""
    return time.strftime("%Y-%m-%d", time.gmtime(seconds))
