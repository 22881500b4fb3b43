"""A process that hangs, and one that waits for a CPU."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import psutil
import pytest

from relaxfuzz.fuzz.process.zygote import LONG, HangDetector

LIMIT = 0.4


def watched(code: str, *, stop: bool = False, seconds: float) -> float | None:
    """When the process was found to hang, in seconds; None: not in this time."""
    command = [sys.executable, "-c", f"print(flush=True)\n{code}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        if stop:
            process.send_signal(signal.SIGSTOP)
        detector = HangDetector(psutil.Process(process.pid))
        try:
            while (stood := time.monotonic() - detector.since) < seconds:
                if detector.hangs(time.monotonic(), LIMIT):
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
def test_an_endless_loop_or_wait_is_a_hang(code: str) -> None:
    found = watched(code, seconds=30)
    assert found is not None
    assert found > LIMIT


def test_a_stopped_process_hangs_only_after_long() -> None:
    # A stopped process is runnable but gets no CPU.
    found = watched("while True: pass", stop=True, seconds=30)
    assert found is not None
    assert found > LONG * LIMIT


def test_progress_starts_the_time_anew() -> None:
    detector = HangDetector(psutil.Process())
    later = detector.since + 100 * LONG * LIMIT
    detector.progress(later)
    assert not detector.hangs(later + LIMIT / 8, LIMIT)
