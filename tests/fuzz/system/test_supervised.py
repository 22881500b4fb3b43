"""A supervised command ends as by itself, and everything that it has started ends with it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from relaxfuzz.fuzz.system.supervised import Supervised
from relaxfuzz.fuzz.system.supervisor import TOO_MANY

DAEMON = """
import os, sys, time
def daemon():
    pid = os.fork()
    if pid:
        os.waitpid(pid, 0)
        return
    os.setsid()
    if os.fork():
        os._exit(0)
    with open(sys.argv[1], "w") as file:
        file.write(str(os.getpid()))
    time.sleep(600)
daemon()
while not os.path.exists(sys.argv[1]) or not os.path.getsize(sys.argv[1]):
    time.sleep(0.01)
"""
"""Leaves a process in a session of its own, whose parent has ended."""


def python(text: str, *arguments: object) -> list[str]:
    return [sys.executable, "-c", text, *map(str, arguments)]


def gone(pid: int) -> bool:
    deadline = time.monotonic() + 10
    while (alive := lives(pid)) and time.monotonic() < deadline:
        time.sleep(0.01)
    return not alive


def lives(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


_AS_HERE = "is" if signal.getsignal(signal.SIGINT) is signal.SIG_IGN else "is not"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("import sys; sys.exit(7)", 7),
        ("import os; os.kill(os.getpid(), 11)", -11),
        ("import os; os.kill(os.getppid(), 15)\nimport time; time.sleep(60)", -15),
        (f"import signal; assert signal.getsignal(2) {_AS_HERE} signal.SIG_IGN", 0),
    ],
)
def test_its_end_is_that_of_the_command(text: str, code: int) -> None:
    with Supervised(python(text)) as process:
        assert process.wait(60) == code


def test_its_streams_are_those_of_the_command() -> None:
    text = "import sys; sys.stderr.write('no'); print(sys.stdin.read().upper())"
    with Supervised(
        python(text), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.communicate(b"text") == (b"TEXT\n", b"no")


def test_a_command_that_is_not_there_cannot_be_started() -> None:
    with pytest.raises(FileNotFoundError, match="no-such-command"):
        Supervised(["no-such-command"])


def test_what_it_leaves_behind_ends_with_it(tmp_path: Path) -> None:
    with Supervised(python(DAEMON, tmp_path / "pid")) as process:
        assert process.wait(60) == 0
    assert gone(int((tmp_path / "pid").read_text()))


@pytest.mark.parametrize("way", ["end", "cut", "kill"])
def test_it_is_ended_with_all_that_it_has_started(way: str, tmp_path: Path) -> None:
    """If the supervisor itself is killed, the command ends."""
    program = f"{DAEMON}\nprint(os.getpid(), flush=True)\ntime.sleep(600)"
    command = python(program, tmp_path / "pid")
    with Supervised(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        pid = int(process.stdout.readline())
        getattr(process, way)()
        assert gone(pid)
    left = int((tmp_path / "pid").read_text())
    if way == "kill":
        os.kill(left, signal.SIGKILL)
    assert gone(left)


DRIVER = """
import os, sys
from relaxfuzz.fuzz.system.supervised import Supervised

with Supervised(sys.argv[1:]) as process:
    process.wait()
"""


def test_it_ends_with_a_killed_driver(tmp_path: Path) -> None:
    program = f"{DAEMON}\nprint(os.getpid(), flush=True)\ntime.sleep(600)"
    command = python(DRIVER, *python(program, tmp_path / "pid"))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as driver:
        assert driver.stdout is not None
        pid = int(driver.stdout.readline())
        driver.kill()
        assert gone(pid)
        assert gone(int((tmp_path / "pid").read_text()))


def test_more_processes_than_allowed_end_it() -> None:
    text = "import os, time\nfor _ in range(40): os.fork() or time.sleep(20)"
    with Supervised(python(text), processes=60) as process:
        assert process.wait(60) == 0
    text = "import os, time\nfor _ in range(40): os.fork() or time.sleep(20)\ntime.sleep(20)"
    with Supervised(python(text), processes=20) as process:
        assert process.wait(60) == TOO_MANY
