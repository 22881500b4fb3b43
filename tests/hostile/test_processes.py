"""Whatever a pass or another program of the user's starts, nothing of it outlives the command.

Each program leaves two processes behind, one in its own session and one in another, whose parents
have ended. The command ends by itself, or is killed while the program runs.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
import tvm
from tvm import relax

from relaxfuzz.fuzz.process.launch import MARK as OF_ZYGOTE

MARK = "RELAXFUZZ_TEST_OF_PROCESSES"

LEAVE = """
import os, time

def leave():
    for apart in (False, True):
        pid = os.fork()
        if pid:
            os.waitpid(pid, 0)
            continue
        if apart:
            os.setsid()
        if os.fork():
            os._exit(0)
        with open({started!r}, "a") as file:
            file.write(f"{{os.getpid()}}\\n")
        time.sleep(600)
        os._exit(0)
    if {waits}:
        time.sleep(600)

"""

PASS = f"""{LEAVE}
import tvm

@tvm.transform.module_pass(opt_level=0)
def own(mod, context):
    leave()
    return mod
"""
AT_IMPORT = f"""{LEAVE}
import tvm
leave()

@tvm.transform.module_pass(opt_level=0)
def own(mod, context):
    return mod
"""
MODULE = f"""{LEAVE}
from tvm import relax
leave()
builder = relax.BlockBuilder()
x = relax.Var("x", relax.TensorType((2,), "float32"))
with builder.function("main", [x]):
    builder.emit_func_output(builder.emit(relax.op.exp(x)))
mod = builder.finalize()
"""

PROGRAMS = {
    "a pass in run": (PASS, ("run", "file.py:own", "--modules", "1", "--seed", "1")),
    "a pass in check": (PASS, ("check", "model.json", "file.py:own")),
    "a pass as it is imported": (AT_IMPORT, ("run", "file.py:own", "--modules", "1")),
    "a module file": (MODULE, ("check", "file.py", "DeadCodeElimination")),
    "a watched program": (f"{LEAVE}\nleave()", ("watch", "file.py")),
    "a predicate": (
        f"{LEAVE}\nleave()",
        ("minimize", "model.json", "--predicate", f"{sys.executable} file.py"),
    ),
    "a reproducer": (f"# Finding\n{LEAVE}\nleave()\nraise ValueError", ("replay", "file.py")),
}


def is_left(pid: int) -> bool:
    with contextlib.suppress(psutil.Error):
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    return False


def marked(mark: str) -> list[str]:
    """The processes of the command, by their environment, also where a program has changed it."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            environment = process.environ()
            if environment.get(MARK) == mark and process.status() != psutil.STATUS_ZOMBIE:
                found.append(f"{process.pid} {' '.join(process.cmdline())[:200]}")
    return found


def eventually_none(left: Callable[[], list[object]]) -> list[object]:
    deadline = time.monotonic() + 20
    while (found := left()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return found


ENDED = ("a pass in run", "a module file", "a reproducer")
KILLED = ("a pass in check", "a pass as it is imported", "a watched program", "a predicate")


@pytest.mark.session
@pytest.mark.parametrize(
    ("name", "killed"), [*((name, False) for name in ENDED), *((name, True) for name in KILLED)]
)
def test_nothing_outlives_the_command(name: str, killed: bool, tmp_path: Path) -> None:
    text, words = PROGRAMS[name]
    started = tmp_path / "started"
    (tmp_path / "file.py").write_text(text.format(started=str(started), waits=killed))
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((2,), "float32"))
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(relax.op.exp(x)))
    (tmp_path / "model.json").write_text(tvm.ir.save_json(builder.finalize()))
    environment = {**os.environ, MARK: str(tmp_path)}
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    environment.pop(OF_ZYGOTE, None)
    output = tmp_path / "output"
    with (
        output.open("w") as file,
        subprocess.Popen(
            [sys.executable, "-m", "relaxfuzz.fuzz.cli", *words],
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            cwd=tmp_path,
            env=environment,
            start_new_session=True,
        ) as command,
    ):
        if killed:
            while not started.exists() or started.read_text().count("\n") < 2:
                assert command.poll() is None, output.read_text()
                time.sleep(0.02)
            os.kill(command.pid, signal.SIGKILL)
        command.wait(timeout=300)
    pids = [int(line) for line in started.read_text().split()]
    assert len(pids) >= 2, output.read_text()
    assert eventually_none(lambda: [pid for pid in pids if is_left(pid)]) == []
    assert eventually_none(lambda: list(marked(str(tmp_path)))) == []
    assert not [each for each in psutil.process_iter() if _of_session(each, command.pid)]


def _of_session(process: psutil.Process, leader: int) -> bool:
    with contextlib.suppress(ProcessLookupError, psutil.Error):
        ours = leader in (os.getsid(process.pid), os.getpgid(process.pid))
        return ours and process.status() != psutil.STATUS_ZOMBIE
    return False
