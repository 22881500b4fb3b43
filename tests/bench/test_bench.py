"""The bench: its clock, its forks, and that its figures are there; none of them is asserted."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest
from rich.console import Console

from bench.clock import Clock
from bench.forks import in_fork, until
from bench.report import show

pytestmark = pytest.mark.session


def burn(seconds: float) -> None:
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


def test_a_clock_gives_each_function_its_own_time() -> None:
    clock = Clock()
    inner = clock.watch("inner", lambda: burn(0.05))

    def outer() -> None:
        burn(0.02)
        inner()

    clock.watch("outer", outer)()
    assert clock.calls == {"outer": 1, "inner": 1}
    assert clock.spent["inner"] >= 0.05 > clock.spent["outer"] >= 0.02


def test_what_a_fork_reported_survives_its_death() -> None:
    def work(report: Callable[[Any], None], number: int) -> None:
        report(["before", number])
        os.kill(os.getpid(), signal.SIGKILL)
        report(["after", number])

    reported, cpu = in_fork(work, 7)
    assert reported == [["before", 7]]
    assert cpu > 0


def test_work_goes_on_behind_the_module_that_killed_it() -> None:
    def work(report: Callable[[Any], None], start: int) -> None:
        for number in range(start, 4):
            report(["module", number])
            if number == 1:
                os.kill(os.getpid(), signal.SIGKILL)
            burn(0.02)
            report(["check", number])

    figures, cpu = until(work, 0.05)
    assert figures == [0, 2, 3]
    assert cpu >= 0.05


def test_every_figure_is_there() -> None:
    # In a process of its own: it forks, which a process that has run kernels must not.
    command = [sys.executable, "-m", "bench", "--modules", "2", "--json"]
    answer = subprocess.run(command, capture_output=True, text=True, check=True)
    figures = json.loads(answer.stdout)
    assert figures["modules"] <= 2
    assert figures["checks"] >= 14
    assert figures["naive_checks"] >= 1
    for name in (
        "checks_per_cpu_second",
        "times_the_naive_way",
        "oracles_by_bare_pass",
        "evaluated_modules_per_cpu_second_cold",
        "evaluated_modules_per_cpu_second_warm",
        "executed_modules_per_cpu_second_cold",
        "executed_modules_per_cpu_second_warm",
        "naively_executed_modules_per_cpu_second",
    ):
        assert figures[name] > 0, name
    parts = figures["parts"]
    assert {"run: direct", "run: Sequential", "oracle: well-formed", "generate"} <= parts.keys()
    assert all(each["ms"] >= each["bare_ms"] for each in figures["passes"].values())
    console = Console(width=120, file=io.StringIO())
    show(figures, console)
    for name in ("checks per CPU second", "median of each pass", "run: direct", "tier 4"):
        assert name in console.file.getvalue()  # type: ignore[attr-defined]  # a StringIO
