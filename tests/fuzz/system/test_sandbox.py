"""A function in a forked process: its exit code, its limits, and what it leaves behind."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from relaxfuzz.fuzz.system.sandbox import HUNG, OUT_OF_MEMORY

PROGRAM = """
import os, sys, tempfile, time
from pathlib import Path
from relaxfuzz.fuzz.system.sandbox import ForkLimits, run_in_fork

folder = Path({folder!r})

def orphan():
    if os.fork() == 0:
        os.setsid()
        (folder / "pid").write_text(str(os.getpid()))
        time.sleep(600)
    while not (folder / "pid").exists() or not (folder / "pid").read_text():
        time.sleep(0.01)

def work():
    {work}

stop, writer = os.pipe()
if {stopped}:
    os.write(writer, b"x")
sys.exit(run_in_fork(work, ForkLimits({seconds}, 1 << 30, 1 << 20), folder, stop) % 256)
"""


@pytest.mark.parametrize(
    ("work", "code"),
    [
        ("pass", 0),
        ("return 7", 7),
        ("raise ValueError", 1),
        ("os.kill(os.getpid(), 11)", -11 % 256),
        ("bytearray(2 << 30)", OUT_OF_MEMORY),
        ("orphan()", 0),
        ("assert Path(tempfile.gettempdir()) == folder", 0),
        ("assert os.write(1, b'nothing') == 7", 0),
    ],
)
def test_exit_codes(work: str, code: int, tmp_path: Path) -> None:
    run(tmp_path, work, code)
    if (pid := tmp_path / "pid").exists():
        assert not psutil.pid_exists(int(pid.read_text()))


def test_the_time_limit(tmp_path: Path) -> None:
    run(tmp_path, "time.sleep(600)", HUNG, seconds=0.3)


def test_a_descriptor_ends_it(tmp_path: Path) -> None:
    run(tmp_path, "time.sleep(600)", HUNG, stopped=True)


def run(
    folder: Path, work: str, code: int, *, seconds: float = 60.0, stopped: bool = False
) -> None:
    program = PROGRAM.format(folder=str(folder), work=work, seconds=seconds, stopped=stopped)
    done = subprocess.run(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (code, "")
