"""`relaxfuzz bisect`: on which versions of TVM does a finding fail?"""

from __future__ import annotations

import dataclasses
import json as jsonlib
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from rich.console import Console
from rich.text import Text

from ..bisect.bisect import Bisection, Status, Trial, Verdict, item
from ..bisect.environments import choices
from ..findings.store import Store
from ..output.readable import sentence
from ..output.terminal import columns, display, results
from ..session.interrupt import Interrupt
from ..system.subprocesses import Stopped, Subprocesses


def run(
    path: Path, versions: Sequence[str], *, workers: int, recreate: bool = False, json: bool = False
) -> int:
    """Run a finding's reproducer under each version, and keep the first bad one in its store.

    Returns:
        1 if the finding fails on any version as it says, else 2 if any could not say, else 0.

    Raises:
        Mistake: no finding is there, or what is asked for is no version.
        KeyboardInterrupt: the user wants no more of it.
    """
    one, script = item(path)
    chosen = choices(versions)
    interrupt = Interrupt()
    with interrupt.caught(), closing(display(Console(stderr=True))) as progress:
        bisection = Bisection(
            script,
            chosen,
            Subprocesses(interrupt.stop),
            progress.progress,
            fails_with=None if one.entry is None else one.entry.fails_with,
            recreate=recreate,
            workers=workers,
        )
        try:
            verdict = bisection.run()
        except Stopped:
            raise KeyboardInterrupt from None
    first = verdict.first_bad
    if one.finding is not None and first is not None:
        with Store(one.path, create=False, write=True) as store:
            store.put(dataclasses.replace(one.finding, first_bad=first.seen.release))
    if json:
        for trial in verdict.trials:
            print(jsonlib.dumps(_event(trial)))
        print(jsonlib.dumps(_summary(verdict, asked=len(chosen))))
    else:
        _table(verdict)
        print(_conclusion(verdict, asked=len(chosen)))
    if first is not None:
        return 1
    return 2 if any(trial.status is Status.OTHER for trial in verdict.trials) else 0


def _event(trial: Trial) -> dict[str, object]:
    return {
        "event": "bisect",
        "tvm": str(trial.seen.choice),
        "status": trial.status.value,
        "said": trial.said,
        "versions": dict(trial.seen.about),
    }


def _summary(verdict: Verdict, asked: int) -> dict[str, object]:
    def name(trial: Trial | None) -> str | None:
        return None if trial is None else str(trial.seen.choice)

    return {
        "event": "summary",
        "bad_means": None if verdict.expected is None else verdict.expected.said,
        "first_bad": name(verdict.first_bad),
        "last_good": name(verdict.last_good),
        "good_again": name(verdict.good_again),
        "cannot_say": [name(trial) for trial in verdict.silent],
        "asked": asked,
        "tried": len(verdict.trials),
    }


def _table(verdict: Verdict) -> None:
    table = columns("tvm", "status", "said", whole=("status",))
    for trial in verdict.trials:
        table.add_row(Text(sentence(_name(trial))), str(trial.status), Text(sentence(trial.said)))
    results().print(table)


def _name(trial: Trial) -> str:
    """What was asked for; with the version that is there, where that does not say it."""
    choice = trial.seen.choice
    known = isinstance(choice, str) or not trial.seen.about
    return str(choice) if known else f"{choice}: {trial.seen.release}"


def _conclusion(verdict: Verdict, asked: int) -> str:
    tried = len(verdict.trials)
    searched = f" ({tried} of {asked} tried, as if the bug had come once and stayed)"
    return _found(verdict) + (searched if tried < asked else "")


def _found(verdict: Verdict) -> str:
    if verdict.first_bad is None:
        return "bad on none of these"
    found = f"first bad: {verdict.first_bad.seen.release}"
    if verdict.silent:
        found += f", or one that cannot say: {', '.join(map(_name, verdict.silent))}"
    elif verdict.last_good is None:
        found += ", the first of these"
    if verdict.last_good is not None:
        found += f"; still good: {verdict.last_good.seen.release}"
    if verdict.good_again is not None:
        found += f"; good again: {verdict.good_again.seen.release}"
    return found
