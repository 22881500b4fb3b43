"""A campaign that is killed and goes on ends as one that nobody disturbed."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import random
import runpy
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from relaxfuzz.compat.release import versions
from relaxfuzz.fuzz.campaign.seeds import Seeds
from relaxfuzz.fuzz.findings.known import Choice
from relaxfuzz.fuzz.findings.runs import Run
from relaxfuzz.fuzz.findings.store import DATABASE, Store
from relaxfuzz.fuzz.process.local_pool import LocalPool
from relaxfuzz.fuzz.process.targets import PassStats
from relaxfuzz.fuzz.session import fuzzing
from relaxfuzz.fuzz.session.session import Output, Session
from relaxfuzz.generators.seeds import Piece
from relaxfuzz.oracles.grades.grade import Grade

HERE = Path(__file__).parents[1]
SCRIPT = Path(__file__).with_name("resumed.py")
_script = runpy.run_path(str(SCRIPT))
go_on, kill = _script["go_on"], _script["kill"]
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
PASSES = (f"{HERE / 'user_passes.py'}:raises_on_exp", "DeadCodeElimination")
SEED, MODULES = 5, 48


@pytest.fixture(scope="module", autouse=True)
def in_a_hurry() -> Iterator[None]:
    """Little is reduced."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fuzzing, "LEAST_DRAIN", 0.5)
        yield


@contextmanager
def opened(out: Path, pool: LocalPool) -> Iterator[Session]:
    expected = Choice(shipped=False).load(versions()["tvm"])
    with Store(out) as store:
        made = Session(store, pool, Choice(), expected, Output(as_json=False))
        try:
            yield made
        finally:
            made.display.close()


def start(
    out: Path, seed: int, modules: int, *passes: str, dies: bool = False
) -> subprocess.Popen[bytes]:
    arguments = [sys.executable, str(SCRIPT), str(out), str(seed), str(modules), *passes]
    environment = {**ENVIRONMENT, "DIES": ""} if dies else ENVIRONMENT
    return subprocess.Popen(
        arguments, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )


def runs_of(out: Path) -> list[Run]:
    if not (out / DATABASE).exists():
        return []
    with Store(out, create=False) as store:
        return list(store.runs.all().values())


def ending(out: Path) -> dict[str, Any]:
    """All of a folder that does not depend on the clock."""
    with Store(out, create=False) as store:
        assert store.pending() == []
        (run,) = store.runs.all().values()
        assert store.runs.unfinished(run.command) is None
        last = run.samples[-1]
        assert (last.seconds, last.modules, last.checks) == (run.seconds, run.modules, run.checks)
        confirmed = sorted(finding.id for finding in store.findings())
        rows = sorted({store.rows.of(id) for id in run.found}, key=str)
    assert run.finished
    assert run.faults == ()
    assert len(rows) == len(run.found), "a bug was reported twice"
    return {
        "confirmed": confirmed,
        "bugs": len(rows),
        "modules": run.modules,
        "checks": run.checks,
        "stats": {name: timeless(stats) for name, stats in run.stats.items()},
        "known": run.known_reports,
        "knowns": run.knowns,
    }


def timeless(stats: PassStats) -> PassStats:
    return dataclasses.replace(stats, seconds=0.0)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory, pool: LocalPool) -> Path:
    out = tmp_path_factory.mktemp("undisturbed") / "out"
    with opened(out, pool) as made:
        go_on(made, SEED, MODULES, PASSES)
    return out


@pytest.mark.session
def test_a_killed_campaign_goes_on_and_loses_nothing(
    tmp_path: Path, pool: LocalPool, undisturbed: Path
) -> None:
    out = tmp_path / "out"
    process = start(out, SEED, MODULES, *PASSES, dies=True)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    (run,) = runs_of(out)
    assert 0 < run.modules < MODULES
    assert not run.finished
    with opened(out, pool) as made:
        finished = go_on(made, SEED, MODULES, PASSES)
    assert finished.modules == MODULES
    state = ending(out)
    assert state == ending(undisturbed)
    assert state["confirmed"]


def test_what_is_asked_for_has_to_be_the_same(
    tmp_path: Path, pool: LocalPool, capsys: pytest.CaptureFixture[str]
) -> None:
    with opened(tmp_path / "out", pool) as made:
        made.interrupt.stop.set()
        for seed in (1, 1, 2):
            assert go_on(made, seed, 16, PASSES[1:]).stopped
        go_on(made, 2, 32, [])
        runs = list(made.store.runs.all().values())
    assert [run.seed for run in runs] == [1, 2, 2]
    assert not any(run.finished for run in runs)
    lines = [line for line in capsys.readouterr().err.splitlines() if "a new campaign" in line]
    assert lines == [
        "a new campaign: the last one had other settings: the seed",
        "a new campaign: the last one had other settings: the passes, the number of modules, "
        "whether sequences of passes are fuzzed",
    ]


def test_the_seeds_have_to_be_the_same(
    tmp_path: Path, pool: LocalPool, capsys: pytest.CaptureFixture[str]
) -> None:
    def piece(source: str, digest: str) -> Piece:
        return Piece(f"{source}, main, bindings 0 to 1", "{}", (), digest, source)

    same = [Seeds((piece("a.onnx", "1"), piece("b.json", "2")), 0.5)]
    others = [Seeds((piece("a.onnx", "3"), piece("c.py", "4")), 0.5)]
    with opened(tmp_path / "out", pool) as made:
        made.interrupt.stop.set()
        for seeds in (same, same, others):
            go_on(made, 1, 16, PASSES[1:], seeds=seeds)
        assert len(made.store.runs.all()) == 2
    lines = [line for line in capsys.readouterr().err.splitlines() if "a new campaign" in line]
    assert lines == [
        "a new campaign: the last one had other settings: a.onnx has changed since, "
        "b.json is missing, c.py is new"
    ]


@pytest.mark.session
def test_the_first_new_bug_may_end_it(tmp_path: Path, pool: LocalPool) -> None:
    with opened(tmp_path / "out", pool) as made:
        finished = go_on(made, SEED, 10_000, PASSES[:1], stop_at_first=Grade.C)
        assert finished.stopped
        assert made.triage.bugs
    (first,) = runs_of(tmp_path / "out")
    assert first.finished
    assert first.found
    assert first.modules < 10_000
    with opened(tmp_path / "out", pool) as made:  # nothing is new the second time
        finished = go_on(made, SEED, 16, PASSES[:1], stop_at_first=Grade.C)
        assert not finished.stopped
        assert made.triage.bugs


FAULTY = (
    *(f"{HERE / 'passes.py'}:{name}" for name in ("segfault", "leave", "abort")),
    *(f"{HERE / 'user_passes.py'}:{name}" for name in ("raises_on_exp", "marks", "attaches")),
    *("BundleModelParams", "CombineParallelMatmul", "KillAfterLastUse", "LazyTransformParams"),
    *("LiftTransformParams", "SpecializePrimFuncBasedOnCallSite", "TopologicalSort"),
)


@pytest.mark.slow
@pytest.mark.parametrize("passes", [(), FAULTY], ids=["all passes", "faulty passes"])
def test_five_kills_at_random_moments_change_nothing(
    tmp_path: Path, passes: tuple[str, ...]
) -> None:
    moments = random.Random(1)
    outs = tmp_path / "undisturbed", tmp_path / "killed"
    began = time.monotonic()
    start(outs[0], 1, 300, *passes).communicate()
    whole = time.monotonic() - began
    kills = []
    while len(kills) < 5:
        process = start(outs[1], 1, 300, *passes)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=moments.uniform(0.05, 0.3) * whole)
        assert process.returncode is None, "it came to its end before five kills"
        kill(process.pid)
        process.communicate()
        kills.append(sum(run.modules for run in runs_of(outs[1])))
    start(outs[1], 1, 300, *passes).communicate()
    state = ending(outs[1])
    print(f"{whole:.0f} s; modules at the kills: {kills}; {len(state['confirmed'])} findings")
    assert state == ending(outs[0])
    assert state["confirmed"] or not passes
