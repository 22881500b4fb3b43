"""`relaxfuzz doctor`: is this environment fit?

Imports no TVM: it may be what is wrong. What needs it is looked at in processes of their own.
"""

from __future__ import annotations

import dataclasses
import json as jsonlib
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..cluster.where import Where
from ..doctor import installation, limits, machine
from ..doctor.line import Line, Verdict, problem
from ..doctor.ward import examine
from ..output.terminal import counted, results

SELF_TEST = "self-test"

_STYLES = {Verdict.OK: "green", Verdict.WARNING: "yellow", Verdict.PROBLEM: "bold red"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """The command line of `doctor`."""

    out: Path
    workers: int
    cores: int
    where: Where | None
    """The cluster that is asked, too; None: this machine only."""
    json: bool


def run(request: Request) -> int:
    """Look at everything, tell it line by line, and judge.

    Returns:
        0: fit, and the faults of the self-test were found; 2: something is for the user to mend;
        3: nothing is, and yet they were not found.
    """
    began = time.monotonic()
    lines = []
    for line in _lines(request):
        lines.append(line)
        _tell(line, request.json)
    return _conclude(lines, time.monotonic() - began, as_json=request.json)


def _lines(request: Request) -> Iterator[Line]:
    workers = str(request.workers)
    yield from installation.lines()
    yield from machine.lines(request.workers, request.cores)
    yield from limits.lines(request.workers)
    yield from examine("isolation", workers)
    yield from examine("folders", str(request.out))
    tested = False
    where = request.where
    cluster: tuple[str, ...] = ()
    if where is not None:
        scheduler = where.scheduler if where.file is None else str(where.file.absolute())
        cluster = (scheduler or "", where.kind or "")
    for line in examine("selftest", workers, *cluster):
        tested = tested or line.part.startswith(SELF_TEST)
        yield line
    if not tested:
        yield problem(SELF_TEST, "could not be tried", "mend the problems above first")


def _tell(line: Line, as_json: bool) -> None:
    if as_json:
        print(jsonlib.dumps({"event": "line", **dataclasses.asdict(line)}), flush=True)
        return
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(width=7)
    table.add_column(width=22, overflow="fold")
    table.add_column(overflow="fold")
    value = Text(line.value)
    if line.advice:
        value.append(f"\n→ {line.advice}", style="bold" if line.verdict != Verdict.OK else "dim")
    table.add_row(Text(line.verdict, style=_STYLES[line.verdict]), Text(line.part), value)
    results().print(table)
    sys.stdout.flush()


def _conclude(lines: list[Line], seconds: float, *, as_json: bool) -> int:
    count = Counter(line.verdict for line in lines)
    problems = [line for line in lines if line.verdict is Verdict.PROBLEM]
    ours = all(line.part.startswith(SELF_TEST) for line in problems)
    code = 0 if not problems else 3 if ours else 2
    warnings = count[Verdict.WARNING]
    if as_json:
        summary = {
            "event": "summary",
            "fit": code == 0,
            "problems": len(problems),
            "warnings": warnings,
            "seconds": round(seconds, 1),
        }
        print(jsonlib.dumps(summary), flush=True)
        return code
    told = {
        0: "Fit: the faults of the self-test were found.",
        2: f"Unfit: {counted(len(problems), 'problem')} to mend.",
        3: "Nothing is wrong with the environment, and yet the self-test failed: this is a fault "
        "of relaxfuzz. Please report it, with all of the above.",
    }[code]
    if warnings:
        told += f" {counted(warnings, 'warning')}."
    Console(width=None if sys.stdout.isatty() else 160).print(
        Text(f"\n{told} {seconds:.0f} s.", style="bold")
    )
    return code
