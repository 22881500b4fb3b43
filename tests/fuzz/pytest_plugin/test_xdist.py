"""Campaigns in workers of xdist; a killed worker loses no finding."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from relaxfuzz.fuzz.findings.store import Store

from .foreign import foreign

KILLER = """
import os, sqlite3, threading, time

def kill():
    while True:
        store = sqlite3.connect("file:relaxfuzz-out/findings.sqlite?mode=ro", uri=True)
        if store.execute("SELECT count(*) FROM pending").fetchone()[0]:
            os.kill(os.getpid(), 9)
        store.close()
        time.sleep(0.05)

def pytest_runtest_call(item):
    if "PYTEST_XDIST_WORKER" in os.environ:
        threading.Thread(target=kill, daemon=True).start()
"""
"""Ends the worker as soon as it has found something and not reported it."""


pytestmark = pytest.mark.session


def test_passes_run_side_by_side(tmp_path: Path) -> None:
    repository = foreign(tmp_path)
    done = repository.pytest(
        "--relaxfuzz=my_pkg.passes:Raises",
        "--relaxfuzz=my_pkg.passes:Keeps",
        "--relaxfuzz-modules=16",
        "--relaxfuzz-seed=1",
        "--numprocesses=2",
        "--dist=worksteal",
    )
    assert done.returncode == 1, done.stdout + done.stderr
    failed = re.findall(r"^SUBFAILED\[crash\] relaxfuzz::.*Raises", done.stdout, re.M)
    assert len(failed) == 1, done.stdout
    assert done.stdout.count("Expected: ") == 1
    with Store(repository.folder / "relaxfuzz-out", create=False) as store:
        (finding,) = store.findings()
        (run,) = store.runs.all().values()
        assert store.reproducer(finding) is not None
    assert run.workers == 2
    assert run.modules == 32


def test_what_a_killed_worker_had_found_is_left_for_the_next_session(tmp_path: Path) -> None:
    repository = foreign(tmp_path)
    repository.write("conftest.py", KILLER)
    options = (
        "--relaxfuzz=my_pkg.passes:Raises",
        "--relaxfuzz-modules=400",
        "--relaxfuzz-seed=1",
        "--deselect=test_own.py",
    )
    done = repository.pytest(*options, "--numprocesses=1", "--max-worker-restart=0")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "'gw0' crashed while running 'relaxfuzz::my_pkg.passes:Raises'" in done.stdout
    section = done.stdout.partition("= relaxfuzz =")[2]
    assert "my_pkg.passes:Raises: 1 finding left for the next session to confirm" in section
    (repository.folder / "conftest.py").unlink()
    again = repository.pytest(*options, "--relaxfuzz-modules=1")
    assert "this is too wide" in again.stdout, again.stdout + again.stderr
    with Store(repository.folder / "relaxfuzz-out", create=False) as store:
        (finding,) = store.findings()
        assert store.reproducer(finding) is not None
