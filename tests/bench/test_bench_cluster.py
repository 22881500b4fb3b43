"""The bench of the cluster: its formulas, and that its figures are there; none is asserted."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys

import pytest
from rich.console import Console

pytest.importorskip("distributed", reason="needs the extra cluster")

from bench.cluster import Idle, Round, saturation, show
from bench.watched import Measured, Sizes


def measured(**changes: float) -> Measured:
    figures = {"seconds": 100.0, "tasks": 50, "driver": 0.0, "scheduler": 0.0, **changes}
    return Measured(
        began=0.0,
        modules=800,
        checks=1000,
        task_seconds=20.0,
        sizes=Sizes(1, 1, 1, 1),
        found={},
        faults=(),
        **figures,  # type: ignore[arg-type]  # numbers
    )


def test_where_a_core_is_full() -> None:
    """10 ms of the scheduler and 20 ms of the driver for a block of 20 s."""
    rounds = [Round(measured(), measured(scheduler=0.5, driver=1.0), 0.0, 0.0)]
    full = saturation(rounds, Idle(0.0, 0.0, 0.0), 2)
    assert full.scheduler == pytest.approx(20.0 / 0.010)
    assert full.driver == pytest.approx(20.0 / 0.020)


def test_what_is_used_anyway_is_the_workers_at_the_scheduler_and_nobodys_at_the_driver() -> None:
    rounds = [Round(measured(), measured(scheduler=3.0 + 0.5, driver=10.0 + 1.0), 0.0, 0.0)]
    full = saturation(rounds, Idle(0.03, 0.1, 0.02), 2)
    assert full.scheduler == pytest.approx(0.98 / (0.005 + 0.010 / 20.0))
    assert full.driver == pytest.approx(0.9 / (0.020 / 20.0))


def test_what_costs_nothing_is_never_full() -> None:
    rounds = [Round(measured(), measured(), 0.0, 0.0)]
    assert saturation(rounds, Idle(0.0, 0.0, 0.0), 2).driver == float("inf")


@pytest.mark.session
def test_the_figures_are_there() -> None:
    options = ["ToNonDataflow", "--modules", "4", "--block", "2", "--rounds", "1", "--json"]
    run = subprocess.run(
        [sys.executable, "-m", "bench.cluster", *options],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        timeout=400,
    )
    assert run.returncode == 0, run.stderr
    figures = json.loads(run.stdout)
    (size,) = figures["blocks_of"].values()
    assert size["same_findings"], size
    assert size["efficiency_checks"] > 0
    assert size["tasks"] >= 2
    assert size["faults"] == 0
    console = Console(file=io.StringIO(), width=120)
    show(figures, console)
