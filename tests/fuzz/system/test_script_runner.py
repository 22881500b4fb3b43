"""A file is executed as by `python FILE`, and nothing of it is left."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from relaxfuzz.fuzz.system.sandbox import HUNG
from relaxfuzz.fuzz.system.script_runner import Runners


@pytest.fixture(scope="module")
def runners() -> Iterator[Runners]:
    runners = Runners()
    yield runners
    runners.close()


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ("import tvm\ntvm.touched = True", 0, ""),
        ("import tvm\nassert not hasattr(tvm, 'touched')", 0, ""),
        ("raise KeyError('oh')", 1, "KeyError: 'oh'"),
        ("import sys\nsys.exit(5)", 5, ""),
        ("import sys\nsys.exit('no')", 1, ""),
        ("import os\nos._exit(7)", 7, ""),
        ("import os\nos.kill(os.getpid(), 11)", -11, ""),
        ("assert __name__ == '__main__'", 0, ""),
        ("import sys\nassert 'relaxfuzz.oracles' not in sys.modules", 0, ""),
        ("print('x' * 10**6)\nimport os\nos.write(1, b'99')", 0, ""),
        ("x = (", 1, "SyntaxError"),
    ],
)  # fmt: skip
def test_exit_codes(runners: Runners, tmp_path: Path, text: str, code: int, message: str) -> None:
    path = tmp_path / "file.py"
    path.write_text(text)
    result, stderr = runners.run(path, 60)
    assert (result, message in stderr) == (code, True), stderr


def test_after_a_hang_the_next_file_runs(runners: Runners, tmp_path: Path) -> None:
    hanging, quick = tmp_path / "hang.py", tmp_path / "quick.py"
    hanging.write_text("import time\ntime.sleep(600)")
    quick.write_text("raise SystemExit(3)")
    assert runners.run(hanging, 0.5)[0] == HUNG
    assert runners.run(quick, 60)[0] == 3


def test_a_neighbour_is_imported_from_beside_the_file(runners: Runners, tmp_path: Path) -> None:
    (tmp_path / "neighbour.py").write_text("answer = 42")
    path = tmp_path / "file.py"
    path.write_text("import sys, neighbour\nsys.exit(neighbour.answer)")
    assert runners.run(path, 60)[0] == 42


def test_a_runner_that_is_killed_is_replaced(runners: Runners, tmp_path: Path) -> None:
    """As the kernel may, when memory is short."""
    killing, once = tmp_path / "kill.py", tmp_path / "once"
    killing.write_text(
        "import os, pathlib, sys\n"
        f"once = pathlib.Path({str(once)!r})\n"
        "if not once.exists():\n"
        "    once.touch()\n"
        "    os.kill(os.getppid(), 9)\n"
        "sys.exit(5)\n"
    )
    assert runners.run(killing, 60)[0] == 5


def test_a_file_is_killed_with_the_process_that_executes_it(tmp_path: Path) -> None:
    hanging, started = tmp_path / "hang.py", tmp_path / "started"
    hanging.write_text(
        "import os, pathlib, time\n"
        f"pathlib.Path({str(started)!r}).write_text(str(os.getpid()))\n"
        "time.sleep(600)\n"
    )
    asking = (
        "import pathlib, relaxfuzz.fuzz.system.script_runner as runner\n"
        f"runner.Runners().run(pathlib.Path({str(hanging)!r}), 600)"
    )
    with subprocess.Popen([sys.executable, "-c", asking]) as process:
        while not (started.exists() and started.read_text()):
            time.sleep(0.01)
        child = psutil.Process(int(started.read_text()))
        parent = child.parent()
        process.kill()
    psutil.wait_procs([child, *filter(None, [parent])], timeout=60)
    assert not child.is_running()
    assert parent is None or not parent.is_running()
