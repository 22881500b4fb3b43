"""The harness as seen by the function for a job in its child."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from ...compat.drift import drift_of
from ...oracles.passcall import BadPass
from ..output.readable import visible
from .journal import Journal
from .protocol import Failed, FromChild, Result

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Context(Generic[R]):
    """The resources of a job in its child: its id, its journal, and a way to send replies.

    `R` is the type of each result.
    """

    id: int
    journal: Journal
    send: Callable[[FromChild], None]

    def report(self, value: R) -> None:
        """Send a result."""
        self.send(Result(self.id, value))

    def fail(self, error: Exception | str) -> None:
        """Report an exception that was not raised by a pass."""
        user_error = isinstance(error, BadPass)  # the pass could be built when the session began
        lacking = drift_of(error) if isinstance(error, Exception) else None
        if isinstance(error, Exception):
            whole = "".join(traceback.format_exception(error))
            error = str(error) if user_error else lacking or whole
        drift = lacking is not None
        self.send(Failed(self.id, visible(error), self.journal.last(), user_error, drift))
