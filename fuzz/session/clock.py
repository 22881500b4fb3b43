"""The time limit of one command, which starts with its process and includes everything it does."""

from __future__ import annotations

import time

import psutil

from ...compat import availability

TRIAGE_SHARE = 0.3
"""The largest share of the time to reserve for confirming and reducing findings."""

EACH = 2.5
"""Seconds to reserve for each pending finding. Most findings are one call, or known bugs: five of
ResNet-18 took 8 seconds."""

TRIAGE_SECONDS = 30.0
"""Most seconds to reserve for findings in ten minutes: `relaxfuzz minimize` reduces further."""

LONG_SHARE = 0.05
"""The share of a longer time. A finding that waits until then is one that three seconds did not
reduce, and unreduced findings are not recognized as known bugs. With 30 seconds after 25 minutes,
seven of 25 findings stayed in this state, five of them known."""

ENDING = 0.03
"""The share of the time to reserve for the end, to kill processes and print tables."""

KINDS_SHARE = 0.25
"""The share of the time after which values are compared on one kind of arguments only. More kinds
were a third of the CPU time on BERT, and 60 % of that on ResNet-18."""

LATE = 2.0
"""Seconds that the triage may exceed the time limit, to finish a step."""


class Clock:
    """The time limit of one command.

    The first command with a build of TVM finds out what works on it, which takes half a minute.
    That time does not count.
    """

    def __init__(self, seconds: float, began: float | None = None) -> None:
        """
        Args:
            began: `time.monotonic()` at its start; None: now.
        """
        self.seconds = seconds
        self._began = time.monotonic() if began is None else began

    @property
    def end(self) -> float:
        """`time.monotonic()` after which nothing more is started."""
        return (
            self._began
            + availability.seconds_to_find_out(self._began)
            + (1 - ENDING) * self.seconds
        )

    @property
    def kinds_end(self) -> float:
        """`time.monotonic()` after which no further kinds of arguments are compared."""
        return self.end - (1 - ENDING - KINDS_SHARE) * self.seconds

    @property
    def left(self) -> float:
        """Seconds left, without those for the end."""
        return self.end - time.monotonic()

    def is_up(self, pending: int, *, hangs: bool = False, slowest: float = 0.0) -> bool:
        """Return whether no more checks are made.

        Args:
            pending: number of findings left to confirm, which also takes time.
            hangs: one of them may be a hang, which takes longer than all others.
            slowest: most seconds of a check that had a finding, since confirming it takes as long.
        """
        most = max(TRIAGE_SECONDS, LONG_SHARE * self.seconds)
        each = max(EACH * most / TRIAGE_SECONDS, slowest)
        wanted = most if hangs and pending else each * pending
        return self.left <= min(most, TRIAGE_SHARE * self.seconds, wanted)


def process_began() -> float:
    """`time.monotonic()` at the start of this process."""
    return time.monotonic() - (time.time() - psutil.Process().create_time())
