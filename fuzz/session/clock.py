"""The time limit of one command, which begins with its process and includes all that it does."""

from __future__ import annotations

import time

import psutil

from ...compat import availability

TRIAGE_SHARE = 0.3
"""Most of the time that is kept to confirm and reduce findings, as a share."""

EACH = 2.5
"""Seconds that are kept for each pending finding. Most findings are one call, or known bugs: five
of ResNet-18 took 8 seconds."""

TRIAGE_SECONDS = 30.0
"""Most seconds that are kept for findings in ten minutes: `relaxfuzz minimize` reduces further."""

LONG_SHARE = 0.05
"""The share of a longer time. A finding that waits until then is one that three seconds did not
reduce, and what is not reduced is not recognized as a known bug: 30 seconds after 25 minutes left
seven of 25 findings in this state, five of them known."""

ENDING = 0.03
"""The share of the time that is kept for the end: processes are killed, tables printed."""

LATE = 2.0
"""Seconds that the triage may take beyond the time limit, to finish a step."""


class Clock:
    """The time limit of one command.

    The command that uses a build of TVM for the first time tries what works on it, which takes half
    a minute. That time does not count.
    """

    def __init__(self, seconds: float, began: float | None = None) -> None:
        """
        Args:
            began: `time.monotonic()` when it began; None: now.
        """
        self.seconds = seconds
        self._began = time.monotonic() if began is None else began

    @property
    def end(self) -> float:
        """`time.monotonic()` at which nothing more is begun."""
        return (
            self._began
            + availability.seconds_to_find_out(self._began)
            + (1 - ENDING) * self.seconds
        )

    @property
    def left(self) -> float:
        """Seconds, without those for the end."""
        return self.end - time.monotonic()

    def is_up(self, pending: int, *, hangs: bool = False) -> bool:
        """Return whether no more checks are made.

        Args:
            pending: number of findings that are to be confirmed, which also takes time.
            hangs: one of them may be a hang, which takes longer than all others.
        """
        most = max(TRIAGE_SECONDS, LONG_SHARE * self.seconds)
        each = EACH * most / TRIAGE_SECONDS
        wanted = most if hangs and pending else each * pending
        return self.left <= min(most, TRIAGE_SHARE * self.seconds, wanted)


def process_began() -> float:
    """`time.monotonic()` at the start of this process."""
    return time.monotonic() - (time.time() - psutil.Process().create_time())
