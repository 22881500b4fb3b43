"""The hunt: a fault is found, a correct pass is left in peace."""

from __future__ import annotations

import dataclasses
import json
import threading
from pathlib import Path

import pytest
from typer.testing import CliRunner

from relaxfuzz.corpus.zoo import ZOO, Family
from relaxfuzz.fuzz.cli import app
from relaxfuzz.fuzz.findings.store import Store
from relaxfuzz.fuzz.process.local_pool import LocalPool
from relaxfuzz.fuzz.session.hunt import Budget, hunt

FAULTY, CORRECT = ZOO["lift_forgets_returned"], ZOO["realize_vdevice"]


def test_a_fault_is_found_reduced_and_kept(pool: LocalPool, tmp_path: Path) -> None:
    with Store(tmp_path / "out") as store:
        detection = hunt(FAULTY, Budget(seed=1), pool, store, threading.Event())
        assert detection.finding is not None
        assert detection.finding.pass_name == FAULTY.name
        assert detection.right
        assert detection.modules >= 1
        assert detection.bindings is not None
        assert detection.reproducer is not None
        assert detection.reproducer.is_file()
        assert [finding.id for finding in store.findings()] == [detection.finding.id]


def test_a_correct_pass_is_left_in_peace(pool: LocalPool, tmp_path: Path) -> None:
    with Store(tmp_path / "out") as store:
        detection = hunt(CORRECT, Budget(seed=1, modules=4), pool, store, threading.Event())
    assert detection.right
    assert detection.modules == 4 + 1
    assert detection.bindings is None
    assert detection.reproducer is None


def test_a_false_alarm_and_a_miss_are_not_right(pool: LocalPool, tmp_path: Path) -> None:
    suspect = dataclasses.replace(FAULTY, family=Family.CORRECT)
    with Store(tmp_path / "out") as store:
        alarm = hunt(suspect, Budget(seed=1, modules=400), pool, store, threading.Event())
        silent = hunt(CORRECT, Budget(seed=1, modules=4), pool, store, threading.Event())
    # Not a hunt of its own: a budget in seconds is as many modules as the machine is fast.
    missed = dataclasses.replace(CORRECT, family=Family.STATE)
    miss = dataclasses.replace(silent, specimen=missed)
    assert alarm.finding is not None
    assert not alarm.right
    assert miss.finding is None
    assert not miss.right


def test_a_whole_budget_gives_one_bug(pool: LocalPool, tmp_path: Path) -> None:
    with Store(tmp_path / "out") as store:
        budget = Budget(seed=1, seconds=3.0, whole=True)
        detection = hunt(FAULTY, budget, pool, store, threading.Event())
    assert detection.rows == 1


def test_it_can_be_stopped(pool: LocalPool, tmp_path: Path) -> None:
    stop = threading.Event()
    stop.set()
    with Store(tmp_path / "out") as store:
        assert hunt(CORRECT, Budget(seed=1), pool, store, stop).stopped


@pytest.mark.session
@pytest.mark.parametrize("json_wanted", [True, False])
def test_the_table(tmp_path: Path, json_wanted: bool) -> None:
    names = [FAULTY.name, CORRECT.name]
    options = ["--modules", "2", "--workers", "1", "--out", str(tmp_path / "out")]
    result = CliRunner().invoke(
        app, ["zoo", *names, *options, *(["--json"] if json_wanted else [])]
    )
    assert result.exit_code == 0, result.output
    if json_wanted:
        faulty, correct, summary = map(json.loads, result.stdout.splitlines())
        assert (faulty["name"], correct["name"]) == (FAULTY.name, CORRECT.name)
        assert faulty["right"]
        assert faulty["oracle"]
        assert correct["oracle"] is None
        assert summary["event"] == "summary"
        assert (summary["found"], summary["false_alarms"]) == (1, 0)
        assert summary["median_seconds"] == summary["p90_seconds"] == faulty["seconds"]
    else:
        assert FAULTY.name in result.stdout
        assert FAULTY.models in result.stdout
        assert "1 of 1 faults found, half of them in " in result.stdout
        assert "; 0 false alarms on 1 correct passes" in result.stdout
