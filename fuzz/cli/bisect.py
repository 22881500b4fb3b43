"""`relaxfuzz bisect`: on which versions of TVM does a finding fail?"""

from __future__ import annotations

import json as jsonlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..system.limits import cores
from .app import command
from .options import Json, Workers

if TYPE_CHECKING:
    from ..bisect.bisect import Trial, Verdict


@command(
    epilog="Examples:\n\n"
    "  relaxfuzz bisect relaxfuzz-out/0123456789\n\n"
    "  relaxfuzz bisect corpus/found/take-nan-without-axis.py --tvm 0.26.0,0.27.0.post1\n\n"
    "  relaxfuzz bisect reproducer.py --tvm ~/tvm-before/.venv --tvm ~/tvm-after/.venv/bin/python"
)
def bisect(
    finding: Annotated[
        Path,
        typer.Argument(
            metavar="FINDING",
            help="A finding (DIR/ID), a reproducer file, or a file of a corpus. It is executed.",
        ),
    ],
    tvm: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LIST",
            help="Versions of TVM (0.26.0,0.27.0.post1), or paths of Python environments or "
            "interpreters with your own builds, from the oldest to the newest; may be repeated. "
            "Default: all versions that relaxfuzz knows.",
            show_default=False,
        ),
    ] = None,
    recreate: Annotated[
        bool, typer.Option("--recreate", help="Install the environments of versions anew.")
    ] = False,
    workers: Workers = None,
    json: Json = False,
) -> int:
    """Show on which versions of TVM a finding fails, and which is the first bad one.

    Each version gets an environment of its own, installed from your package index and kept in
    your cache folder. The reproducer, a program, is executed there (docs/security.md).
    Good: it succeeds. Bad: it fails as the finding says.
    Other: it fails in another way, or cannot be run.

    Exit codes: 0 good on all, 1 bad on some, 2 your mistake, or bad on none and other on some.
    """
    import dataclasses
    from contextlib import closing

    from rich.console import Console

    from ..bisect.bisect import Bisection, Status, item
    from ..bisect.environments import FFI, choices
    from ..findings.store import Store
    from ..output.terminal import display
    from ..session.interrupt import Interrupt
    from ..system.subprocesses import Stopped, Subprocesses

    one, script = item(finding)
    chosen = choices(tvm or list(FFI))
    interrupt = Interrupt()
    with interrupt.caught(), closing(display(Console(stderr=True))) as progress:
        bisection = Bisection(
            script,
            chosen,
            Subprocesses(interrupt.stop),
            progress.progress,
            fails_with=None if one.entry is None else one.entry.fails_with,
            recreate=recreate,
            workers=workers or cores(),
        )
        try:
            verdict = bisection.run()
        except Stopped:
            raise KeyboardInterrupt from None
    first = verdict.first_bad
    if one.finding is not None and first is not None:
        with Store(one.path, create=False, write=True) as store:
            store.put(dataclasses.replace(one.finding, first_bad=first.release))
    if json:
        for trial in verdict.trials:
            print(jsonlib.dumps(_event(verdict, trial)))
        print(jsonlib.dumps(_summary(verdict, asked=len(chosen))))
    else:
        _print_table(verdict)
        print(_conclusion(verdict, asked=len(chosen)))
    if first is not None:
        return 1
    return 2 if any(verdict.status(trial) is Status.OTHER for trial in verdict.trials) else 0


def _event(verdict: Verdict, trial: Trial) -> dict[str, object]:
    return {
        "event": "bisect",
        "tvm": str(trial.choice),
        "status": verdict.status(trial).value,
        "message": verdict.message(trial),
        "versions": dict(trial.about),
    }


def _summary(verdict: Verdict, asked: int) -> dict[str, object]:
    def name(trial: Trial | None) -> str | None:
        return None if trial is None else str(trial.choice)

    return {
        "event": "summary",
        "bad_means": None if verdict.expected is None else verdict.expected.text,
        "first_bad": name(verdict.first_bad),
        "last_good": name(verdict.last_good),
        "fixed_in": name(verdict.fixed_in),
        "inconclusive": [name(trial) for trial in verdict.inconclusive],
        "asked": asked,
        "tried": len(verdict.trials),
    }


def _print_table(verdict: Verdict) -> None:
    from rich.text import Text

    from ..output.readable import sentence
    from ..output.terminal import columns, results

    table = columns("tvm", "status", "message", whole=("status",))
    for trial in verdict.trials:
        name, message = sentence(_name(trial)), sentence(verdict.message(trial))
        table.add_row(Text(name), str(verdict.status(trial)), Text(message))
    results().print(table)


def _name(trial: Trial) -> str:
    """What was asked for; with the version that is there, if a path does not show it."""
    known = isinstance(trial.choice, str) or not trial.about
    return str(trial.choice) if known else f"{trial.choice}: {trial.release}"


def _conclusion(verdict: Verdict, asked: int) -> str:
    if verdict.first_bad is None:
        text = "bad on none of these"
    else:
        text = f"first bad: {verdict.first_bad.release}"
        if verdict.inconclusive:
            names = ", ".join(map(_name, verdict.inconclusive))
            text += f", or one that could not show it: {names}"
        elif verdict.last_good is None:
            text += ", the first of these"
        if verdict.last_good is not None:
            text += f"; last good: {verdict.last_good.release}"
        if verdict.fixed_in is not None:
            text += f"; good again: {verdict.fixed_in.release}"
    tried = len(verdict.trials)
    if tried < asked:
        text += f" ({tried} of {asked} tried, assuming that the bug came once and stayed)"
    return text
