"""A budget is the time that the command takes, whatever the pass does."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from relaxfuzz.compat import availability
from relaxfuzz.fuzz.session.clock import ENDING, LATE, Clock
from tests.commands import relaxfuzz

PASSES = Path(__file__).parents[1] / "passes.py"


def test_the_rest_of_the_time_is_for_findings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(availability, "_waited", [])  # this process may have waited just now
    clock = Clock(100.0, time.monotonic() - 80.0)
    assert clock.is_up(8)
    assert not clock.is_up(1)
    assert clock.is_up(1, hangs=True)
    assert clock.is_up(1, slowest=25.0)  # its confirmation takes that long
    assert not clock.is_up(0, slowest=25.0)
    assert not clock.is_up(0, hangs=True)
    assert 16 < clock.left < 18
    assert Clock(100.0, time.monotonic() - 98.0).is_up(0)


def test_a_longer_budget_leaves_more_time_for_each_finding(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(availability, "_waited", [])

    def ended(seconds: float) -> bool:
        clock = Clock(seconds, time.monotonic() + 22.0 - (1 - ENDING) * seconds)
        return clock.is_up(3)

    assert not ended(600.0)
    assert ended(2400.0)


def most(seconds: float) -> float:
    """The seconds that a command with this budget may take: 10 % and 5 s more, on an idle machine.

    Others run beside this test.
    """
    return 1.1 * seconds + 5.0 + LATE + 5.0


@pytest.mark.session
def test_a_pass_that_hangs_is_found_in_time(tmp_path: Path) -> None:
    seconds = 15
    began = time.monotonic()
    done = relaxfuzz("run", f"{PASSES}:hang", "--budget", f"{seconds}s", "--out", tmp_path / "out")
    took = time.monotonic() - began
    assert took < most(seconds), done.stdout + done.stderr
    assert done.returncode == 1, done.stdout + done.stderr
    assert "hang: no progress within the time limit" in done.stdout + done.stderr


@pytest.mark.session
def test_findings_and_known_bugs_take_no_more_time(tmp_path: Path) -> None:
    words = ("run", "FuseOps", "FoldConstant", "LegalizeOps", "--budget", "10s")
    began = time.monotonic()
    done = relaxfuzz(*words, "--out", tmp_path / "out")
    took = time.monotonic() - began
    assert done.returncode in (0, 1), done.stdout + done.stderr
    assert took < most(10), done.stdout + done.stderr


@pytest.mark.session
def test_a_run_in_which_the_only_check_took_too_long_says_nothing(tmp_path: Path) -> None:
    own = tmp_path / "own.py"
    own.write_text(
        "import time\nimport tvm\n\n"
        "@tvm.transform.module_pass(opt_level=0)\n"
        "def own(mod, context):\n    time.sleep(12)\n    return mod\n"
    )
    done = relaxfuzz("run", f"{own}:own", "--modules", 1, "--out", tmp_path / "out")
    assert done.returncode == 4, done.stdout + done.stderr
    assert "nothing was compared" in done.stderr
