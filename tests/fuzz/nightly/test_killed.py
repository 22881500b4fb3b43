"""A night that is killed repeatedly finds what an undisturbed one finds."""

from __future__ import annotations

import contextlib
import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from relaxfuzz.fuzz.findings.store import Store
from relaxfuzz.fuzz.nightly.state import FILE

USER = Path(__file__).parents[1] / "user_passes.py"
SEEDS = Path(__file__).parents[3] / "corpus" / "seeds"

SETTINGS = f"""
passes = ["{USER}:marks", "{USER}:raises_on_exp", "ToMixedPrecision"]
modules = 80
seed = 5
shipped-knowns = false
corpus = ["{SEEDS}"]
bisect = ["{sys.prefix}"]
"""


def start(folder: Path) -> subprocess.Popen[bytes]:
    folder.mkdir(exist_ok=True)
    (folder / "nightly.toml").write_text(SETTINGS)
    with (folder / "log").open("wb") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "relaxfuzz.fuzz.cli", "nightly", folder / "nightly.toml"],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def kill(process: subprocess.Popen[bytes]) -> None:
    """With all that it has started, as a machine that loses power does."""
    main = psutil.Process(process.pid)
    for each in [main, *main.children(recursive=True)]:
        with contextlib.suppress(psutil.NoSuchProcess):
            each.kill()
    process.wait()


def wait(process: subprocess.Popen[bytes], folder: Path, phrase: str) -> None:
    """Wait for the phrase in the log, or for the end."""
    while process.poll() is None and phrase not in (folder / "log").read_text(errors="replace"):
        time.sleep(0.05)


def ending(folder: Path) -> dict[str, object]:
    """What does not depend on the clock."""
    with Store(folder / "relaxfuzz-out", create=False) as store:
        assert store.pending() == []
        (run,) = store.runs.all().values()
        findings = list(store.findings())
        rows = sorted(sorted(m.finding for m in row.members) for row in store.rows.all())
        assert all(store.reproducer(finding) is not None for finding in findings)
        assert len(run.found) == len(set(run.found))
        night = json.loads((folder / "relaxfuzz-out" / FILE).read_text())
        return {
            "findings": sorted(finding.id for finding in findings),
            "first bad": {finding.id: finding.first_bad for finding in findings},
            "rows": rows,
            "reported": sorted(run.found),
            "modules": run.modules,
            "checks": {item: stats.checks for item, stats in run.stats.items()},
            "finished": run.finished,
            "done": night["done"],
            "replayed": night["replayed"],
        }


@pytest.mark.slow
def test_five_kills_change_nothing(tmp_path: Path) -> None:
    calm, wild = tmp_path / "calm", tmp_path / "wild"
    code = start(calm).wait()
    assert code == 1
    random.seed(1)
    killed = 0
    for phrase, most in (
        ("to run again", 2),  # while old bugs are run again
        ("relaxfuzz on TVM", 4),
        ("relaxfuzz on TVM", 6),
        ("to confirm", 2),  # triage, after the campaign
        ("to bisect", 2),
    ):
        process = start(wild)
        wait(process, wild, phrase)
        time.sleep(random.uniform(0, most))
        if process.poll() is None:
            kill(process)
            killed += 1
    assert killed >= 4
    assert start(wild).wait() == code
    assert ending(wild) == ending(calm)
    assert len(ending(calm)["reported"]) >= 3  # type: ignore[arg-type]  # a list


@pytest.mark.slow
def test_two_at_a_time_are_not_let_in(tmp_path: Path) -> None:
    first = start(tmp_path / "a")
    wait(first, tmp_path / "a", "to run again")
    second = subprocess.run(
        [sys.executable, "-m", "relaxfuzz.fuzz.cli", "nightly", tmp_path / "a" / "nightly.toml"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        check=False,
    )
    kill(first)
    assert second.returncode == 2
    assert f"relaxfuzz nightly (process {first.pid}, since " in second.stderr
