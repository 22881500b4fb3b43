"""Reproducers of old bugs, executed by the workers of a cluster."""

from __future__ import annotations

import contextlib
import re
import signal
import threading
from pathlib import Path
from typing import Any

import pytest

from relaxfuzz import corpus
from relaxfuzz.corpus.knowns import known
from relaxfuzz.fuzz.cluster.connection import connect
from relaxfuzz.fuzz.cluster.executor import ClusterExecutor
from relaxfuzz.fuzz.cluster.scripts import ClusterScripts
from relaxfuzz.fuzz.cluster.shipment import Shipment
from relaxfuzz.fuzz.cluster.where import LOCAL, Where
from relaxfuzz.fuzz.findings.known import verify
from relaxfuzz.fuzz.findings.replay import Outcome, items
from relaxfuzz.fuzz.nightly.old_bugs import OldBug, replay_all
from relaxfuzz.fuzz.process.executor import ExecutorError, execute
from relaxfuzz.fuzz.process.local_pool import LocalPool
from relaxfuzz.fuzz.reproducer import Scripts
from relaxfuzz.fuzz.system.script_runner import Runners

ADDRESS = re.compile("0x[0-9a-f]+")

PASS = """
import helper

def make():
    return helper.deed
"""
HELPER = """
import os

def deed():
    if os.path.isfile("table.txt"):
        raise KeyError(f"{__file__} has read table.txt")
"""
SCRIPT = """
import runpy
import sys
sys.path.insert(0, {folder!r})

if __name__ == "__main__":
    open("table.txt")
    runpy.run_path({file!r})["make"]()()
"""
CRASHES = """
import os
import signal
import sys

if __name__ == "__main__":
    print("last words in", __file__, file=sys.stderr)
    os.kill(os.getpid(), signal.SIGSEGV)
"""
PASSES = '\nif __name__ == "__main__":\n    pass\n'
KNOWN = """
what = "it has read"
tvm = "fails on 0.1.0"
key_format = 2
keys = [["crash", "make", "no"]]
reproducer = "known.py"
"""


@pytest.fixture
def old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Reproducers in a folder, one of a user's pass in another one; the current one has a table."""
    folder = tmp_path.resolve() / "own"
    own, mine = folder / "corpus", folder / "passes"
    script = SCRIPT.format(folder=str(mine), file=str(mine / "my.py"))
    for path, text in {
        mine / "my.py": PASS,
        mine / "helper.py": HELPER,
        own / "script.py": script,
        own / "crashes.py": CRASHES,
        own / "passes.py": PASSES,
        folder / "known/known.py": script,
        folder / "known/one.toml": KNOWN,
        folder / "table.txt": "1",
    }.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.chdir(folder)
    return folder


class Nobody:
    """An executor of which nothing is asked."""

    workers = 3


class Fresh:
    """This machine, from the current folder."""

    workers = 2

    def __init__(self) -> None:
        self._runners = Runners()

    def run(self, path: Path) -> tuple[int, str]:
        return self._runners.run(path, 60.0)

    def close(self) -> None:
        self._runners.close()


def test_what_was_not_shipped_is_executed_here(old: Path) -> None:
    executor: Any = Nobody()
    scripts = ClusterScripts(executor, Shipment.of([]))
    assert scripts.workers == 3
    assert scripts.run(old / "corpus/passes.py") == (0, "")


def test_a_zygote_executes_no_scripts(pool: LocalPool, old: Path) -> None:
    with pytest.raises(ExecutorError, match="Expected a job for what a zygote forks but got"):
        execute(pool, old / "corpus/passes.py", 10.0)


@pytest.mark.session
def test_the_cluster_says_what_this_machine_says(
    old: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pool: LocalPool
) -> None:
    one = known(old / "known/one.toml")
    seed = sorted((corpus.HERE / "seeds").glob("*.py"))[0].resolve()
    paths = [*sorted((old / "corpus").glob("*.py")), old / "known/known.py", seed]
    stop = threading.Event()
    todo = [OldBug(item) for path in paths for item in items(path)]

    def seen(scripts: Scripts) -> tuple[list[tuple[int, str]], dict[Path, Outcome], Outcome]:
        outcomes = {
            each.item.path: outcome for each, outcome in replay_all(todo, pool, scripts, stop)
        }
        [(_, verified)] = verify([one], scripts, stop)
        ran = [scripts.run(path) for path in paths]
        return [(code, ADDRESS.sub("0x", stderr)) for code, stderr in ran], outcomes, verified

    with contextlib.closing(Fresh()) as fresh:
        here = seen(fresh)
    codes = [code for code, _ in here[0]]
    assert codes[:4] == [-signal.SIGSEGV, 0, 1, 1]
    assert "helper.py has read table.txt" in here[2].said
    shipment = Shipment.of([], [old / "corpus", old / "known/known.py", seed])
    assert str(seed) not in shipment.manifest.files
    # What they need is on the workers, and nowhere else.
    for name in ("passes", "table.txt"):
        (old / name).rename(tmp_path / name)
    with (
        connect(Where(kind=LOCAL), 1) as connection,
        ClusterExecutor(connection, shipment=shipment) as executor,
    ):
        assert seen(ClusterScripts(executor, shipment)) == here
