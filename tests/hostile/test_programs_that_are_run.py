"""Reproducers, and files of passes, that do more than they should."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from relaxfuzz.fuzz.system.errors import UserError
from relaxfuzz.fuzz.system.script_runner import STDERR_KEPT, Runners
from relaxfuzz.fuzz.user_input.probe import probe


@pytest.fixture(scope="module")
def runners() -> Iterator[Runners]:
    made = Runners()
    yield made
    made.close()


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("import sys\nfor _ in range(400): sys.stderr.write('x' * 10_000)\nsys.exit(5)", 5),
        ("import sys\nsys.exit(2**70 + 3)", 3),
        ("import os\nos.closerange(0, 1000)\nraise KeyError", 1),
        ("class E(Exception):\n def __str__(self): raise SystemExit(0)\nraise E", 1),
        ("import os\nos.fork()", 0),
        ("import os\nos.kill(os.getpid(), 11)", -11),
        ("import numpy\nnumpy.ones(2**40)", 1),
    ],
)
def test_the_runner_goes_on(text: str, code: int, runners: Runners, tmp_path: Path) -> None:
    path = tmp_path / "new\nline\tand\udcff.py"
    path.write_text(text)
    ended, stderr = runners.run(path, 60)
    assert ended == code
    assert len(stderr) <= STDERR_KEPT


def test_what_it_leaves_behind_ends(runners: Runners, tmp_path: Path) -> None:
    path, started = tmp_path / "file.py", tmp_path / "started"
    path.write_text(
        "import os, time\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        f"    open({str(started)!r}, 'w').write(str(os.getpid()))\n"
        "    time.sleep(600)\n"
        f"while not os.path.exists({str(started)!r}) or not open({str(started)!r}).read():\n"
        "    time.sleep(0.01)\n"
    )
    assert runners.run(path, 60)[0] == 0
    assert not psutil.pid_exists(int(started.read_text()))


def test_a_pass_that_floods_and_forks_while_it_is_built(tmp_path: Path) -> None:
    path, started = tmp_path / "passes.py", tmp_path / "started"
    path.write_text(
        "import os, time\n"
        "if os.fork() == 0:\n"
        f"    open({str(started)!r}, 'w').write(str(os.getpid()))\n"
        "    time.sleep(600)\n"
        "print('x' * 10_000_000)\n"
        f"while not os.path.exists({str(started)!r}) or not open({str(started)!r}).read():\n"
        "    time.sleep(0.01)\n"
        "raise ValueError('\\x1b[2J')\n"
    )
    with pytest.raises(UserError, match="ValueError"):
        probe({f"{path}:factory": None})
    assert not psutil.pid_exists(int(started.read_text()))
