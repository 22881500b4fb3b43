"""`relaxfuzz doctor`: is this environment fit?

This module does not import TVM, which may be the problem.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ..output.events import emit
from ..system.limits import cores
from ..user_input.settings import Settings
from .app import command

if TYPE_CHECKING:
    from ..doctor.environment import DoctorLine


@command(
    epilog="Examples:\n\n"
    "  relaxfuzz doctor\n\n"
    "  relaxfuzz doctor --out /data/relaxfuzz --workers 16\n\n"
    "Exit codes: 0 fit, 2 something in the environment is unfit, 3 a fault of relaxfuzz.",
    tvm=False,
)
def doctor(given: Settings) -> int:
    """Check what in this environment is fit, and prove it by faults that must be found.

    The first thing to try when something is odd. It works without TVM, too, and with one that
    crashes. Nothing is left behind.
    """
    import time

    from ..doctor import environment, with_tvm

    began = time.monotonic()
    workers = given.workers or cores()
    found: list[DoctorLine] = []

    def show(lines: Iterable[DoctorLine]) -> bool:
        """Print the lines; return whether none of them is a problem."""
        for line in lines:
            found.append(line)
            _print(line, given.json)
        return all(line.verdict != environment.PROBLEM for line in found)

    show(environment.lines(given.out, workers))
    if show(with_tvm.lines()):
        show(with_tvm.self_test(workers))
    else:
        advice = "repair the problems above first"
        untried = (with_tvm.SELF_TEST, environment.PROBLEM, "could not be tried", advice)
        show([environment.DoctorLine(*untried)])
    problems = [line.part for line in found if line.verdict == environment.PROBLEM]
    warnings = sum(line.verdict == environment.WARNING for line in found)
    ours = all(part.startswith(with_tvm.SELF_TEST) for part in problems)
    code = 0 if not problems else 3 if ours else 2
    _print_summary(code, len(problems), warnings, time.monotonic() - began, given.json)
    return code


def _print(line: DoctorLine, as_json: bool) -> None:
    import dataclasses

    from rich.table import Table
    from rich.text import Text

    from ..output.terminal import results

    if as_json:
        emit({"event": "line", **dataclasses.asdict(line)})
        return
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(width=7)
    table.add_column(width=22, overflow="fold")
    table.add_column(overflow="fold")
    value = Text(line.value)
    if line.advice:
        value.append(f"\n→ {line.advice}", style="bold")
    style = {"ok": "green", "warning": "yellow", "problem": "bold red"}[line.verdict]
    table.add_row(Text(line.verdict, style=style), Text(line.part), value)
    console = results()
    console.print(table)
    console.file.flush()


def _print_summary(code: int, problems: int, warnings: int, seconds: float, as_json: bool) -> None:
    from ..output.terminal import counted

    if as_json:
        summary = {"event": "summary", "fit": code == 0, "problems": problems, "warnings": warnings}
        emit({**summary, "seconds": round(seconds, 1)})
        return
    text = {
        0: "Fit: the faults of the self-test were found.",
        2: f"Unfit: {counted(problems, 'problem')} to repair.",
        3: "Nothing is wrong with the environment, and yet the self-test failed: this is a fault "
        "of relaxfuzz. Please report it, with all of the above.",
    }[code]
    if warnings:
        text += f" {counted(warnings, 'warning')}."
    print(f"\n{text} {seconds:.0f} s.")
