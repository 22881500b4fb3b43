"""What hangs, and what waits for its turn."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import psutil
import pytest

from relaxfuzz.fuzz.process.hang import LONG, Standstill

LIMIT = 0.4


def watched(code: str, *, stop: bool = False, seconds: float) -> float | None:
    """When the process was found to hang, in seconds; None: not in this time."""
    command = [sys.executable, "-c", f"print(flush=True)\n{code}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        if stop:
            process.send_signal(signal.SIGSTOP)
        standstill = Standstill(psutil.Process(process.pid))
        try:
            while (stood := time.monotonic() - standstill.since) < seconds:
                if standstill.lasts(time.monotonic(), LIMIT):
                    return stood
                time.sleep(0.02)
            return None
        finally:
            process.kill()


@pytest.mark.parametrize(
    "code",
    [
        "while True: pass",
        "import time; time.sleep(60)",
        "import threading; threading.Lock().acquire(); threading.Event().wait()",
    ],
)
def test_what_runs_in_circles_or_waits_for_nothing_hangs(code: str) -> None:
    found = watched(code, seconds=30)
    assert found is not None
    assert found > LIMIT


def test_what_gets_no_turn_does_not_hang_for_long() -> None:
    # A stopped process wants to go on, and is not let.
    found = watched("while True: pass", stop=True, seconds=30)
    assert found is not None
    assert found > LONG * LIMIT


def test_a_step_begins_anew() -> None:
    standstill = Standstill(psutil.Process())
    later = standstill.since + 100 * LONG * LIMIT
    standstill.moved(later)
    assert not standstill.lasts(later + LIMIT / 8, LIMIT)
