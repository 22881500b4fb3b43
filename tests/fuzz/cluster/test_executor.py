"""Campaigns on separate scheduler and worker processes: the same results, whoever dies."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import queue
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from typer.testing import CliRunner

import relaxfuzz
from bench.dask_processes import Processes
from relaxfuzz.fuzz.campaign import campaign
from relaxfuzz.fuzz.campaign.block import Block
from relaxfuzz.fuzz.campaign.campaign import CampaignConfig
from relaxfuzz.fuzz.campaign.events import BlockDone, Event, Finished, HarnessFault, Progress
from relaxfuzz.fuzz.campaign.state import CampaignState
from relaxfuzz.fuzz.cli import app
from relaxfuzz.fuzz.cluster import executor as cluster_executor
from relaxfuzz.fuzz.cluster.connection import connect
from relaxfuzz.fuzz.cluster.executor import ClusterExecutor
from relaxfuzz.fuzz.cluster.fitness import about, differences
from relaxfuzz.fuzz.findings.finding import UnconfirmedFinding
from relaxfuzz.fuzz.process.executor import Executor, ExecutorError
from relaxfuzz.fuzz.process.local_pool import LocalPool
from relaxfuzz.fuzz.process.protocol import Ended, Reply
from relaxfuzz.fuzz.process.targets import Target
from relaxfuzz.fuzz.system.errors import UserError
from relaxfuzz.oracles.passcall import PassCall

CONFIG = CampaignConfig(
    seed=5,
    targets=tuple(map(Target, ("ToNonDataflow", "LiftTransformParams", "KillAfterLastUse"))),
    modules=40,
    modules_in_block=4,
    compositions=False,
)

Eventually = Callable[[Callable[[], bool]], None]


def campaign_events(
    executor: Executor, config: CampaignConfig = CONFIG
) -> tuple[list[Event], Finished]:
    """The events of a campaign that do not depend on the clock."""
    *events, finished = campaign.run(config, executor)
    assert isinstance(finished, Finished)
    return [event for event in events if not isinstance(event, Progress)], finished


def found(events: list[Event]) -> list[Event]:
    """In order. Which of several undefined variables TVM names first depends on addresses."""

    def plain(event: Event) -> Event:
        if not isinstance(event, UnconfirmedFinding):
            return event
        violation = dataclasses.replace(event.violation, title="", detail="")
        return dataclasses.replace(event, violation=violation)

    return [plain(each) for each in events if isinstance(each, UnconfirmedFinding | HarnessFault)]


def counts(finished: Finished) -> tuple[object, ...]:
    checks = {name: stats.checks for name, stats in finished.state.stats.items()}
    return finished.state.modules, finished.state.checks, checks, finished.state.occurrences


@pytest.fixture(scope="module")
def expected() -> tuple[list[Event], Finished]:
    """Of the local pool."""
    with LocalPool(2) as pool:
        return campaign_events(pool)


@contextlib.contextmanager
def executor(processes: Processes) -> Iterator[tuple[ClusterExecutor, list[str]]]:
    lines: list[str] = []
    with (
        connect(processes.address) as connection,
        ClusterExecutor(connection, report=lambda news: lines.append(news.text)) as made,
    ):
        yield made, lines


def test_what_differs_is_named() -> None:
    here = about()
    assert differences(here, here) == []
    there = {**here, "tvm": "0.26.0"}
    assert differences(here, there) == [f"tvm 0.26.0 instead of {here['tvm']}"]
    assert len(differences(here, {})) == len(here)


@pytest.mark.session
def test_a_cluster_reports_what_the_local_pool_does_although_workers_die(
    cluster: Processes, expected: tuple[list[Event], Finished], eventually: Eventually
) -> None:
    victim = cluster.add()
    cluster.add()
    with executor(cluster) as (made, lines):
        eventually(lambda: made.workers == 2)
        events: list[Event] = []
        finished: Finished | None = None
        for event in campaign.run(CONFIG, made):
            match event:
                case BlockDone(number=1):
                    victim.kill()
                    cluster.add()
                case Finished():
                    finished = event
            if not isinstance(event, Progress):
                events.append(event)
    assert finished is not None
    assert found(events) == found(expected[0])
    assert counts(finished) == counts(expected[1])
    assert sum("has left" in line for line in lines) >= 1


@pytest.mark.session
def test_without_workers_or_scheduler_it_is_reported(
    cluster: Processes, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(cluster_executor, "WORKERS", 1.0)
    with pytest.raises(UserError, match=r"no worker was at .* start some"), executor(cluster):
        pass
    out = tmp_path / "out"
    asked = ["run", "--modules", "1", "--out", str(out), "--scheduler", cluster.address]
    result = CliRunner().invoke(app, asked)
    assert result.exit_code == 2, result.output
    assert "no worker was at" in result.stderr
    assert not out.exists()
    with (
        pytest.raises(UserError, match=r"no Dask scheduler answers at tcp://127.0.0.1:1 "),
        connect("tcp://127.0.0.1:1"),
    ):
        pass


@pytest.mark.session
def test_a_worker_with_other_sources_is_left_out(
    cluster: Processes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, eventually: Eventually
) -> None:
    package = Path(relaxfuzz.__file__).parent
    other = tmp_path / "other" / "relaxfuzz"
    shutil.copytree(package, other, ignore=shutil.ignore_patterns("__pycache__"))
    changed = other / "fuzz" / "jobs" / "draw.py"
    changed.write_text(f"{changed.read_text()}# another way to draw\n")
    cluster.add({"PYTHONPATH": str(other.parent)})
    monkeypatch.setattr(cluster_executor, "WORKERS", 1800.0)  # nobody waits for that
    with (
        pytest.raises(UserError, match=r"relaxfuzz_sources .* instead of"),
        executor(cluster),
    ):
        pass
    cluster.add()
    with executor(cluster) as (made, lines):
        eventually(lambda: any("left out: relaxfuzz_sources" in line for line in lines))
        assert made.workers == 1
        _, finished = campaign_events(
            made, CampaignConfig(seed=5, targets=CONFIG.targets, modules=4)
        )
        assert finished.state.modules == 4


@pytest.mark.session
def test_a_scheduler_that_dies_ends_the_campaign_behind_whole_blocks(
    cluster: Processes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster_executor, "RETURN", 1.0)
    cluster.add()
    states: list[CampaignState] = []

    def until_it_is_lost(executor: ClusterExecutor) -> None:
        for event in campaign.run(CONFIG, executor):
            if isinstance(event, BlockDone):
                states.append(copy.deepcopy(event.state))
                cluster.scheduler.kill()

    with executor(cluster) as (made, _):
        with pytest.raises(ExecutorError, match=r"the scheduler at .* is gone"):
            until_it_is_lost(made)
        with pytest.raises(ExecutorError, match=r"the scheduler at .* is gone"):
            made.submit(_block("ToNonDataflow"), lambda reply: None)
    state = states[-1]
    assert 0 < state.blocks < 10
    assert state.modules == 4 * state.blocks


@pytest.mark.session
def test_a_job_under_way_can_be_cancelled_and_leaves_nothing_behind(
    cluster: Processes, eventually: Eventually, faulty: Callable[[str], PassCall]
) -> None:
    worker = cluster.add()
    with executor(cluster) as (made, _):
        heard: queue.SimpleQueue[Reply | None] = queue.SimpleQueue()
        call = faulty("innocent")
        id = made.submit(_block(call.name, call, modules=10**6), heard.put)
        eventually(lambda: made._entries[id].worker is not None)
        eventually(lambda: psutil.Process(worker.pid).children())  # the zygote
        made.cancel(id)
        replies = []
        while not replies or not isinstance(replies[-1], Ended):
            replies.append(heard.get(timeout=60))
        done = threading.Event()
        waiting = made.submit(_block(call.name, call), lambda r: done.set())
        made.cancel(waiting)
        assert done.wait(60)
    eventually(lambda: not psutil.Process(worker.pid).children())
    assert worker.poll() is None


def _block(name: str, call: PassCall | None = None, modules: int = 4) -> Block:
    return Block(seed=1, start=0, count=modules, targets=(Target(name, call),))
