"""A fork for generated code: it dies with its parent, forks no further, and leaves nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from relaxfuzz.oracles.execute import fork


def gone(pid: int) -> bool:
    """True once the process has ended, which may take a moment."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        try:
            if psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
                return True
        except psutil.NoSuchProcess:
            return True
        time.sleep(0.01)
    return False


STORM = """
import os, sys
from relaxfuzz.oracles.execute.fork import in_fork

forks = open(sys.argv[1], "ab", 0)

def work():
    forks.write(b".")
    if os.fstat(forks.fileno()).st_size < 20:  # the test ends even if nothing else ends it
        raise ValueError("in the fork")
    yield

class Works(Exception):
    def __str__(self):
        try:
            in_fork(work)
        except RuntimeError:
            pass
        return "text"

try:
    raise Works
except Works:
    try:
        in_fork(work)
    except RuntimeError as error:
        assert "in the fork" in str(error), error
"""


def test_an_exception_that_forks_for_its_text_starts_no_storm(tmp_path: Path) -> None:
    """The traceback of a fork leaves out what the parent was handling."""
    forks = tmp_path / "forks"
    subprocess.run([sys.executable, "-c", STORM, str(forks)], check=True, timeout=60)
    assert forks.read_text() == "."


def test_a_fork_forks_no_further() -> None:
    def inner() -> Iterator[Any]:
        yield 1

    def work() -> Iterator[Any]:
        yield fork.in_fork(inner)

    with pytest.raises(RuntimeError, match="forks do not fork again"):
        fork.in_fork(work)
    assert fork.in_fork(inner) == ([1], None)


def test_the_context_of_an_exception_in_a_fork_is_shown() -> None:
    def work() -> Iterator[Any]:
        yield 1
        try:
            raise KeyError("the cause")
        except KeyError:
            raise ValueError("the consequence")  # noqa: B904  # its context is wanted

    with pytest.raises(RuntimeError, match=r"(?s)the cause.*the consequence"):
        fork.in_fork(work)


DRIVER = """
import os, time
from relaxfuzz.oracles.execute.fork import in_fork

shown = os.dup(1)

def work():
    os.write(shown, f"{os.getpid()}\\n".encode())
    time.sleep(600)
    yield

in_fork(work, 600)
"""


def test_a_fork_dies_with_its_parent() -> None:
    with subprocess.Popen([sys.executable, "-c", DRIVER], stdout=subprocess.PIPE) as driver:
        assert driver.stdout is not None
        pid = int(driver.stdout.readline())
        driver.kill()
        assert gone(pid)


def _leaves(path: Path, end: Callable[[], object]) -> Callable[[], Iterator[Any]]:
    def work() -> Iterator[Any]:
        if (pid := os.fork()) == 0:
            time.sleep(600)
        path.write_text(str(pid))
        yield 1
        end()

    return work


@pytest.mark.parametrize("end", [lambda: None, signal.pause, os.abort])
def test_its_session_ends_with_it(end: Callable[[], object], tmp_path: Path) -> None:
    fork.in_fork(_leaves(tmp_path / "pid", end), 0.5)
    assert gone(int((tmp_path / "pid").read_text()))


def test_an_exception_while_it_is_waited_for_ends_it(tmp_path: Path) -> None:
    def beat() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fork.in_fork(_leaves(tmp_path / "pid", signal.pause), 60.0, beat)
    assert gone(int((tmp_path / "pid").read_text()))
