"""A command that is asked to end is gone soon, with all that it has started."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
import tvm

from relaxfuzz.fuzz.findings.store import Store
from relaxfuzz.fuzz.system.ending import INTERRUPTED, SECONDS
from tests.transformer import transformer

BUSY = 10.0
"""How much longer it may take on a busy machine; a command that waits takes minutes."""

MARK = "RELAXFUZZ_TEST_OF_ENDING"

_BEGIN = """\
import signal, subprocess, sys, threading, time
from relaxfuzz.fuzz.system.interrupt import Interrupt
from relaxfuzz.fuzz.system import ending
from relaxfuzz.fuzz.system.scratch import scratch

ending.arm()
"""

_STARTS = """\
child = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
subprocess.Popen([sys.executable, "-c", child], start_new_session=True)
"""

COMMANDS = {
    "waits": "with Interrupt().caught():\n    print(flush=True)\n    threading.Lock().acquire()\n"
    "    lock = threading.Lock()\n    lock.acquire()\n    lock.acquire()",
    "is outside of Python": "import hashlib\nwith Interrupt().caught():\n    print(flush=True)\n"
    "    hashlib.pbkdf2_hmac('sha256', b'', b'', 10**9)",
    "has started others": f"{_STARTS}scratch()\nwith Interrupt().caught():\n"
    "    print(scratch(), flush=True)\n    time.sleep(600)\n    time.sleep(600)",
}


def running(mark: str) -> list[str]:
    """What still runs of the processes with this mark."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get(MARK) == mark and process.status() != psutil.STATUS_ZOMBIE:
                found.append(" ".join(process.cmdline()))
        except psutil.Error:
            continue
    return found


def settled(mark: str) -> list[str]:
    deadline = time.monotonic() + BUSY
    while (left := running(mark)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return left


@pytest.mark.parametrize(
    ("name", "number"),
    [*((name, signal.SIGTERM) for name in COMMANDS), ("waits", signal.SIGINT)],
)
def test_it_ends_whatever_it_does(name: str, number: signal.Signals, tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _BEGIN + COMMANDS[name]],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, MARK: str(tmp_path)},
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        folder = process.stdout.readline().strip()
        began = time.monotonic()
        process.send_signal(number)
        code = process.wait(timeout=60)
        assert time.monotonic() - began < SECONDS + BUSY
    assert code == INTERRUPTED
    assert settled(str(tmp_path)) == []
    assert not folder or not Path(folder).exists()


@pytest.mark.session
def test_a_check_of_a_large_module_ends(tmp_path: Path) -> None:
    mod, _ = transformer(hidden=1024, inner=2048, tokens=256)
    (tmp_path / "model.json").write_text(tvm.ir.save_json(mod))
    words = ["check", "model.json", "--out", "out", "--workers", "2"]
    with subprocess.Popen(
        [sys.executable, "-m", "relaxfuzz.fuzz.cli", *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env={**os.environ, MARK: str(tmp_path)},
        start_new_session=True,
    ) as process:
        assert process.stderr is not None
        while "checks to do" not in process.stderr.readline():
            assert process.poll() is None
        time.sleep(1)
        assert process.poll() is None
        began = time.monotonic()
        process.terminate()
        text = process.stderr.read()
        code = process.wait(timeout=60)
        assert time.monotonic() - began < SECONDS + BUSY
    assert code in (0, 1, INTERRUPTED), text
    assert settled(str(tmp_path)) == []
    if (tmp_path / "out").exists():
        with Store(tmp_path / "out", create=False) as store:
            assert all(finding.id for finding in store.findings())


def test_what_ends_by_itself_after_a_signal_does_not_wait_for_the_interpreter() -> None:
    """Its end may take seconds on a busy machine: TVM has much to give back."""
    code = """
import atexit, time
from relaxfuzz.fuzz.cli.app import finish
from relaxfuzz.fuzz.system import ending

ending.arm()
atexit.register(time.sleep, 60)

def waits() -> int:
    print("waiting", flush=True)
    time.sleep(60)
    return 0

finish(waits, tvm=False)
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"waiting\n"
        began = time.monotonic()
        process.terminate()
        assert process.wait(timeout=50) == INTERRUPTED
        assert time.monotonic() - began < SECONDS + BUSY
