"""`relaxfuzz doctor`: is this environment fit?

Imports no TVM: it may be what is wrong.
"""

from __future__ import annotations

import json as jsonlib
from typing import TYPE_CHECKING

from ..system.limits import cores
from .app import command
from .options import OUT, Cluster, Json, Out, Scheduler, Workers

if TYPE_CHECKING:
    from ..doctor.environment import Line


@command(
    epilog="Examples:\n\n"
    "  relaxfuzz doctor\n\n"
    "  relaxfuzz doctor --out /data/relaxfuzz --workers 16\n\n"
    "  relaxfuzz doctor --scheduler tcp://10.0.0.7:8786\n\n"
    "Exit codes: 0 fit, 2 something in the environment is unfit, 3 a fault of relaxfuzz.",
    tvm=False,
)
def doctor(
    out: Out = OUT,
    workers: Workers = None,
    scheduler: Scheduler = None,
    cluster: Cluster = None,
    json: Json = False,
) -> int:
    """Check what in this environment is fit, and prove it by faults that must be found.

    The first thing to try when something is odd. It works without TVM, too, and with one that
    crashes. Nothing is left behind.
    """
    import itertools
    import time

    from ..cluster.where import asked
    from ..doctor import environment, with_tvm
    from ..doctor.environment import Verdict

    began = time.monotonic()
    workers = workers or cores()
    where = asked(scheduler, cluster)
    arguments = [str(workers)]
    if where is not None:
        scheduler = where.scheduler if where.file is None else str(where.file.absolute())
        arguments += [scheduler or "", where.kind or ""]
    found = []
    for line in itertools.chain(
        environment.lines(out, workers, cores()), with_tvm.lines(*arguments)
    ):
        found.append(line)
        _print(line, json)
    if not any(line.part.startswith(with_tvm.SELF_TEST) for line in found):
        advice = "repair the problems above first"
        found.append(environment.problem(with_tvm.SELF_TEST, "could not be tried", advice))
        _print(found[-1], json)
    problems = [line.part for line in found if line.verdict is Verdict.PROBLEM]
    warnings = sum(line.verdict is Verdict.WARNING for line in found)
    ours = all(part.startswith(with_tvm.SELF_TEST) for part in problems)
    code = 0 if not problems else 3 if ours else 2
    _print_summary(code, len(problems), warnings, time.monotonic() - began, json)
    return code


def _print(line: Line, as_json: bool) -> None:
    import dataclasses

    from rich.table import Table
    from rich.text import Text

    from ..output.terminal import results

    if as_json:
        print(jsonlib.dumps({"event": "line", **dataclasses.asdict(line)}), flush=True)
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
        print(jsonlib.dumps({**summary, "seconds": round(seconds, 1)}), flush=True)
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
