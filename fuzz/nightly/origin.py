"""Since when do new findings fail? Asked one after the other, for a bounded time."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence

from ..bisect.bisect import Bisection, Verdict
from ..bisect.environments import Choice
from ..findings.finding import Finding
from ..findings.store import Store
from ..system.subprocesses import Stopped, Subprocesses


def first_bad(
    store: Store,
    findings: Iterable[Finding],
    choices: Sequence[Choice],
    *,
    workers: int,
    over: threading.Event,
    tell: Callable[[str], None],
) -> Iterator[tuple[Finding, Verdict]]:
    """Bisect findings that have a reproducer, and keep the first bad version of each in the store.

    Ends early when `over` is set.
    """
    for finding in findings:
        script = store.reproducer(finding)
        if script is None:
            continue
        bisection = Bisection(script.resolve(), choices, Subprocesses(over), tell, workers=workers)
        try:
            verdict = bisection.run()
        except Stopped:
            return
        if verdict.first_bad is not None:
            finding = dataclasses.replace(finding, first_bad=verdict.first_bad.release)
            store.put(finding)
        yield finding, verdict


def over_after(seconds: float, stop: threading.Event) -> threading.Event:
    """An event that is set when the time is over, or the user wants to stop."""
    over = threading.Event()

    def wait() -> None:
        stop.wait(seconds)
        over.set()

    threading.Thread(target=wait, name="budget", daemon=True).start()
    return over
