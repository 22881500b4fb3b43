"""What is shown while the triage finishes."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

from relaxfuzz.fuzz.session.session import Session


class Triage:
    """Ends with one tick."""

    published: tuple[object, ...] = ()

    def __init__(self, pending: int, user_errors: tuple[str, ...] = ()) -> None:
        self.pending = pending
        self.steps = SimpleNamespace(user_errors=user_errors)
        self.seconds = -1.0
        self.hurried = False

    def drain(self, seconds: float, tick: Callable[[], None], stuck: float | None = None) -> None:
        self.seconds = seconds
        tick()

    def hurry(self) -> None:
        """The user waits."""
        self.hurried = True


def drained(triage: Triage, *, stop: bool = False, now: bool = False) -> list[Any]:
    """The lines that are shown.

    Args:
        stop: the user has interrupted the run.
        now: the user has done so twice.
    """
    shown: list[Any] = []
    events = threading.Event(), threading.Event()
    for event, is_set in zip(events, (stop, now), strict=True):
        if is_set:
            event.set()
    session = SimpleNamespace(
        triage=triage,
        interrupt=SimpleNamespace(stop=events[0], now=events[1]),
        display=SimpleNamespace(line=shown.append, progress=shown.append),
        user_error=shown.append,
        _print_pending=lambda: None,
    )
    Session.drain(cast("Session", session), 60.0)
    return shown


PROGRESS = "{} to confirm and reduce, 0 done"


def test_who_interrupts_waits_for_no_reduction() -> None:
    triage = Triage(1)
    assert drained(triage, stop=True) == ["1 finding to confirm", PROGRESS.format("1 finding")]
    assert (triage.seconds, triage.hurried) == (0.0, True)


def test_who_interrupts_again_does_not_wait() -> None:
    triage = Triage(2)
    *_, last = drained(triage, stop=True, now=True)
    assert last == "interrupted: 2 findings were not confirmed"
    assert not triage.hurried
