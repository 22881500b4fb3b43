"""Environments: what may be asked for, installed once and by one process, never used half made."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import tvm

from relaxfuzz.fuzz.bisect import environments
from relaxfuzz.fuzz.bisect.environments import Unusable, choices, environment
from relaxfuzz.fuzz.system.lock import LOCK, alone
from relaxfuzz.fuzz.system.subprocesses import Stopped, Subprocesses
from relaxfuzz.fuzz.user_input.errors import UserError


@pytest.fixture
def subprocesses() -> Subprocesses:
    return Subprocesses(threading.Event())


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert environments.cache().is_relative_to(tmp_path)
    return environments.cache()


@pytest.fixture
def no_index(monkeypatch: pytest.MonkeyPatch) -> None:
    """A package index that has nothing."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", "")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("UV_NO_INDEX", "1")


@pytest.fixture
def no_tools(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither pip nor uv, so that it is known soon that nothing can be made."""
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    monkeypatch.setenv("PATH", "")


def quiet(line: str) -> None:
    """Nobody reads it."""


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment without TVM."""
    folder = tmp_path_factory.mktemp("plain")
    command = [sys.executable, "-m", "venv", "--without-pip", str(folder)]
    subprocess.run(command, check=True)
    return folder


# What may be asked for


def test_versions_are_sorted_as_versions() -> None:
    asked = ["0.27.0.post1, 0.26.0rc0", "0.9.0,0.26"]
    assert choices(asked) == ("0.9.0", "0.26.0rc0", "0.26.0", "0.27.0.post1")


def test_paths_stay_in_the_order_given(plain: Path) -> None:
    link = plain / "bin" / "python3"
    assert choices([f"0.27.0,{plain}", f"{link},0.26.0"]) == (
        "0.27.0",
        plain / "bin" / "python",
        link,
        "0.26.0",
    )


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ("0.26x", r"a version of TVM such as .*0\.26\.0.* but got --tvm '0.26x'"),
        ("/nowhere/at/all", "or a Python interpreter but got --tvm '/nowhere/at/all'"),
        (str(Path(__file__)), "but got --tvm '.*test_environments.py'"),
        ("0.26.0,0.25.0,0.26", r"'0\.26\.0' twice"),
        (" , ", "but got none"),
    ],
)
def test_anything_else_is_a_mistake(asked: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        choices([asked])


# A Python of the user's


def test_a_python_with_tvm(subprocesses: Subprocesses) -> None:
    found = environment(Path(sys.executable), subprocesses, quiet)
    assert found.about["tvm"] == tvm.__version__
    assert not found.ours
    assert found.has_relaxfuzz


def test_a_python_without_tvm(plain: Path, subprocesses: Subprocesses) -> None:
    with pytest.raises(Unusable, match="cannot import tvm: ModuleNotFoundError"):
        environment(plain / "bin" / "python", subprocesses, quiet)


def test_what_is_no_python(tmp_path: Path, subprocesses: Subprocesses) -> None:
    file = tmp_path / "python"
    file.write_text("not a program")
    file.chmod(0o755)
    with pytest.raises(Unusable, match=r"cannot import tvm: .*python: Exec format error"):
        environment(file, subprocesses, quiet)


def test_a_python_that_dies(tmp_path: Path, subprocesses: Subprocesses) -> None:
    file = tmp_path / "python"
    file.write_text("#!/bin/sh\nkill -SEGV $$\n")
    file.chmod(0o755)
    with pytest.raises(Unusable, match="TVM does not work: SIGSEGV"):
        environment(file, subprocesses, quiet)


# Environments of versions

VERSION = "0.1.0"


def whole(cache: Path, python: Path) -> Path:
    """An environment that was made before."""
    folder = environments._folder(VERSION)
    (folder / "venv" / "bin").mkdir(parents=True)
    (folder / "venv" / "bin" / "python").symlink_to(python)
    (folder / environments.ABOUT).write_text(json.dumps({"tvm": VERSION}))
    return folder


def left(cache: Path) -> set[str]:
    return {path.name for path in cache.glob("*/*") if path.name != LOCK}


def test_what_is_there_is_used(cache: Path, subprocesses: Subprocesses) -> None:
    folder = whole(cache, Path(sys.executable))
    found = environment(VERSION, subprocesses, quiet)
    assert (found.python, found.about, found.ours) == (
        folder / "venv" / "bin" / "python",
        {"tvm": VERSION},
        True,
    )


@pytest.mark.session
@pytest.mark.usefixtures("no_index")
def test_what_cannot_be_installed_leaves_nothing(cache: Path, subprocesses: Subprocesses) -> None:
    with pytest.raises(Unusable, match=rf"cannot install TVM {VERSION}: .*apache-tvm=={VERSION}"):
        environment(VERSION, subprocesses, quiet)
    assert left(cache) == set()


@pytest.mark.usefixtures("no_tools")
@pytest.mark.parametrize("missing", ["about", "python"])
def test_what_is_half_there_is_not_used(
    cache: Path, subprocesses: Subprocesses, missing: str
) -> None:
    folder = whole(cache, Path("/bin/sh"))
    if missing == "about":
        (folder / environments.ABOUT).unlink()
    else:
        (folder / "venv" / "bin" / "python").unlink()
        (folder / "venv" / "bin" / "python").symlink_to("/a/python/that/was/removed")
    with pytest.raises(Unusable, match="cannot install"):
        environment(VERSION, subprocesses, quiet)


@pytest.mark.usefixtures("no_tools")
def test_what_a_killed_process_left_is_removed(cache: Path, subprocesses: Subprocesses) -> None:
    part = environments._folder(VERSION) / "venv" / "lib"
    part.mkdir(parents=True)
    with pytest.raises(Unusable):
        environment(VERSION, subprocesses, quiet)
    assert left(cache) == set()


def test_one_process_at_a_time(cache: Path, subprocesses: Subprocesses) -> None:
    folder = whole(cache, Path(sys.executable))
    reported: list[str] = []
    waits = threading.Event()

    def report(line: str) -> None:
        reported.append(line)
        waits.set()

    with alone(folder, "bisect"):
        thread = threading.Thread(target=environment, args=(VERSION, subprocesses, report))
        thread.start()
        assert waits.wait(30)
        assert thread.is_alive()
    thread.join(30)
    assert not thread.is_alive()
    assert set(reported) == {"another process installs this environment"}


def test_a_lock_does_not_hold_up_who_wants_to_stop(cache: Path) -> None:
    folder = whole(cache, Path(sys.executable))
    stop = threading.Event()
    with alone(folder, "bisect"), pytest.raises(Stopped):
        environment(VERSION, Subprocesses(stop), lambda line: stop.set())


def test_the_users_set_up_stays_out_of_ours(
    subprocesses: Subprocesses, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "tvm.py").write_text("raise ImportError('the wrong tvm')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    python = Path(sys.executable)
    command = [python, "-c", "import importlib.util; print(importlib.util.find_spec('tvm').origin)"]
    for ours in (True, False):
        ended = subprocesses.run(command, variables=environments.variables(ours=ours))
        assert (ended.stdout.strip() == str(tmp_path / "tvm.py")) is not ours


# Subprocesses


@pytest.fixture
def sleeper(tmp_path: Path) -> Iterator[list[str | Path]]:
    """A program that writes its process id to a file, and a line, and sleeps."""
    text = textwrap.dedent(
        f"""
        import os, subprocess, sys, time
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        open({str(tmp_path / "pid")!r}, "w").write(str(child.pid))
        print("asleep", flush=True)
        time.sleep(600)
        """
    )
    yield [sys.executable, "-c", text]
    pid = int((tmp_path / "pid").read_text())
    for _ in range(100):  # init may take its time to see that it is dead
        if not Path(f"/proc/{pid}").exists() or _is_zombie(pid):
            return
        time.sleep(0.1)
    os.kill(pid, signal.SIGKILL)
    raise AssertionError("the child of a program that was killed lives on")


def _is_zombie(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="looks at /proc")
def test_who_is_stopped_takes_its_children_along(sleeper: list[str | Path]) -> None:
    stop = threading.Event()
    lines: list[str] = []

    def report(line: str) -> None:
        lines.append(line)
        stop.set()

    with pytest.raises(Stopped):
        Subprocesses(stop).run(sleeper, report=report)
    assert lines == ["asleep"]


def test_who_takes_too_long_is_killed(subprocesses: Subprocesses) -> None:
    command = [sys.executable, "-c", "import time; print('on', flush=True); time.sleep(600)"]
    ended = subprocesses.run(command, seconds=2)
    assert (ended.code, ended.stderr) == (124, "")


def test_a_program_that_is_not_there(subprocesses: Subprocesses) -> None:
    ended = subprocesses.run(["/no/such/program"])
    assert (ended.code, ended.stderr) == (127, "/no/such/program: No such file or directory")


def test_output_and_exit_code(subprocesses: Subprocesses) -> None:
    text = "import os, sys; print(os.listdir()); print('b', file=sys.stderr); sys.exit(3)"
    ended = subprocesses.run([sys.executable, "-c", text])
    assert (ended.code, ended.stdout, ended.stderr) == (3, "[]\n", "b\n")


# The real thing


@pytest.mark.slow
def test_a_released_version_is_installed_once(cache: Path, subprocesses: Subprocesses) -> None:
    reported: list[str] = []
    made = environment("0.26.0", subprocesses, reported.append)
    assert made.about["tvm"] == "0.26.0"
    assert any("apache" in line for line in reported)
    reported.clear()
    assert environment(choices(["0.26"])[0], subprocesses, reported.append) == made
    assert reported == []
    assert left(cache) == {"venv", environments.ABOUT}
