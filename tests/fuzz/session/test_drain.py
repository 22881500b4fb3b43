"""What is shown while the triage finishes."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest

from relaxfuzz.fuzz.session.session import Session


class Triage:
    """Ends with one tick."""

    user_errors: tuple[str, ...] = ()
    published: tuple[object, ...] = ()

    def __init__(self, pending: int, audits: int, unaudited: tuple[str, ...]) -> None:
        self.pending = pending
        self.audits = SimpleNamespace(sure=audits, unaudited=unaudited)
        self.seconds = -1.0

    def drain(self, seconds: float, tick: Callable[[], None]) -> None:
        self.seconds = seconds
        tick()

    def hurry(self) -> None:
        """The user waits."""


def drained(triage: Triage, *, interrupted: bool = False) -> list[Any]:
    shown: list[Any] = []
    stop = threading.Event()
    if interrupted:
        stop.set()
    session = SimpleNamespace(
        triage=triage,
        interrupt=SimpleNamespace(stop=stop, now=threading.Event()),
        display=SimpleNamespace(line=shown.append, progress=shown.append),
        output=SimpleNamespace(line=lambda *line: shown.append(line)),
    )
    Session.drain(cast("Session", session), 60.0)
    return shown


@pytest.mark.parametrize(
    ("pending", "audits", "begin", "progress"),
    [
        (0, 0, None, "0 findings to confirm and reduce, 0 done"),
        (
            *(2, 0, "2 findings to confirm and reduce, for up to 1m00s more"),
            "2 findings to confirm and reduce, 0 done",
        ),
        (
            *(0, 1, "1 report of known bugs to audit, for up to 1m00s more"),
            "0 findings to confirm and reduce, 0 done, 1 report of known bugs to audit",
        ),
    ],
)
def test_findings_and_audits_are_counted(
    pending: int, audits: int, begin: str | None, progress: str
) -> None:
    shown = drained(Triage(pending, audits, ()))
    assert shown == [*([] if begin is None else [begin]), progress]


def test_known_bugs_that_were_not_audited_are_told() -> None:
    triage = Triage(1, 3, ("a", "b"))
    begin, _, told = drained(triage, interrupted=True)
    assert (begin, triage.seconds) == ("1 finding to confirm", 0.0)
    names = {"event": "unaudited", "names": ("a", "b")}
    assert told == (
        "2 known bugs recognized by key alone: a longer run audits a report of each",
        names,
    )
