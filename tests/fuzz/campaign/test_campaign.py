"""Campaigns: true to their seed, whatever dies, and whoever works."""

from __future__ import annotations

import dataclasses
import os
import queue
import signal
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from relaxfuzz.corpus.models import MODELS
from relaxfuzz.fuzz.campaign.block import Block
from relaxfuzz.fuzz.campaign.campaign import CampaignConfig, run
from relaxfuzz.fuzz.campaign.events import BlockDone, Event, Finished, HarnessFault, Progress
from relaxfuzz.fuzz.campaign.seeds import Seeds
from relaxfuzz.fuzz.findings.finding import UnconfirmedFinding
from relaxfuzz.fuzz.jobs import asking
from relaxfuzz.fuzz.jobs.jobs import Check
from relaxfuzz.fuzz.process.executor import Sink
from relaxfuzz.fuzz.process.local_pool import LocalPool
from relaxfuzz.fuzz.process.protocol import (
    Ended,
    Job,
    Limits,
    Position,
    Reply,
    Result,
)
from relaxfuzz.fuzz.process.targets import PassStats, Recipe, Target
from relaxfuzz.fuzz.system.errors import UserError
from relaxfuzz.generators.seeds import pieces_of
from relaxfuzz.generators.stages import Stage
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.violation import mark_of, short_mark
from tests.specimens.table import SPECIMENS

Faulty = Callable[[str], PassCall]

LIMITS = Limits(step_seconds=3, memory_mb=300)

MODULES = 16


def targets(faulty: Faulty, *names: str) -> tuple[Target, ...]:
    own = (Target(name, faulty(name), (Stage.RAW, Stage.LEGALIZED)) for name in names)
    return (*own, Target("DeadCodeElimination"))


def timeless(events: Sequence[Event]) -> list[Event]:
    """The events without what depends on the clock, and without the events that describe it."""

    def strip(stats: Any) -> dict[str, PassStats]:
        return {name: dataclasses.replace(each, seconds=0.0) for name, each in stats.items()}

    kept: list[Event] = []
    for event in events:
        match event:
            case BlockDone():
                kept.append(dataclasses.replace(event, stats=strip(event.stats)))
            case Finished():
                state = dataclasses.replace(
                    event.state, seconds=0.0, stats=strip(event.state.stats)
                )
                kept.append(dataclasses.replace(event, state=state))
            case UnconfirmedFinding():
                # The backtrace holds addresses.
                silent = dataclasses.replace(event.violation, detail="")
                kept.append(dataclasses.replace(event, violation=silent))
            case Progress():
                pass
            case _:
                kept.append(event)
    return kept


def test_deaths_are_found_and_the_campaign_goes_on(pool: LocalPool, faulty: Faulty) -> None:
    names = ("segfault", "abort", "leave", "division")
    config = CampaignConfig(
        seed=1, modules=MODULES, targets=targets(faulty, *names), compositions=False, limits=LIMITS
    )
    events = list(run(config, pool))
    assert [event for event in events if isinstance(event, HarnessFault)] == []
    deaths = {
        event.violation.pass_name: event
        for event in events
        if isinstance(event, UnconfirmedFinding) and event.violation.pass_name in names
    }
    assert {name: event.violation.oracle for name, event in deaths.items()} == {
        "segfault": "segfault",
        "abort": "abort",
        "leave": "exit",
        "division": "arithmetic-signal",
    }
    for name, event in deaths.items():
        assert event.calls == (faulty(name),)
        second = asking.check(pool, Check(module=event.module, calls=event.calls))
        assert [(v.oracle, v.key) for v in second] == [
            (event.violation.oracle, event.violation.key)
        ]
    finished = events[-1]
    assert isinstance(finished, Finished)
    assert finished.state.modules == MODULES
    assert not finished.stopped
    harmless = finished.state.stats["DeadCodeElimination"]
    assert harmless.checks >= MODULES
    assert 0 < harmless.changed < harmless.checks
    assert 0 < harmless.sampled["evaluated"] < harmless.checks
    assert not harmless.sampled.keys() & {"crash", "executed-by-pipeline"}
    assert max(finished.state.occurrences.values()) > 1
    items = [Counter(counts) for counts in finished.state.ended.values()]
    assert sum(items, Counter()) == finished.state.occurrences
    assert finished.state.ended["segfault()"].keys() == {mark_of(deaths["segfault"].violation)}


def test_a_pass_that_cannot_be_had_any_more_ends_the_campaign(
    pool: LocalPool, tmp_path: Path
) -> None:
    gone = PassCall("gone()", factory=f"{tmp_path / 'gone.py'}:make")
    config = CampaignConfig(seed=1, modules=4, targets=(Target("gone", gone),), limits=LIMITS)
    events: list[Event] = []
    with pytest.raises(UserError, match=r"gone\.py:make"):
        events.extend(run(config, pool))
    assert isinstance(events[-1], Finished)
    assert events[-1].stopped
    assert not any(isinstance(event, HarnessFault) for event in events)


def test_modules_are_sent_once_for_each_reported_violation(pool: LocalPool, faulty: Faulty) -> None:
    block = Block(seed=1, start=0, count=4, targets=targets(faulty, "swear"), compositions=False)

    def violated(block: Block) -> list[UnconfirmedFinding]:
        replies: queue.SimpleQueue[Reply | None] = queue.SimpleQueue()
        pool.submit(block, replies.put, limits=LIMITS)
        heard = []
        while not isinstance(reply := replies.get(), Ended):
            if isinstance(reply, Result) and isinstance(reply.value, UnconfirmedFinding):
                detail = dataclasses.replace(reply.value.violation, detail="")
                heard.append(dataclasses.replace(reply.value, violation=detail))
        return heard

    first = violated(block)
    marks = {short_mark(mark_of(each.violation)) for each in first}
    assert sum(each.module != "" for each in first) == len(marks) < len(first)
    second = violated(dataclasses.replace(block, reported=tuple(marks)))
    assert second == [dataclasses.replace(each, module="") for each in first]


@pytest.mark.session
def test_the_number_of_workers_changes_nothing(pool: LocalPool, faulty: Faulty) -> None:
    config = CampaignConfig(
        seed=7, modules=32, targets=targets(faulty, "segfault", "leave"), limits=LIMITS
    )
    with LocalPool(1) as single:
        alone = timeless(list(run(config, single)))
    assert alone == timeless(list(run(config, pool)))
    assert any(isinstance(event, UnconfirmedFinding) for event in alone)
    finished = alone[-1]
    assert isinstance(finished, Finished)
    assert finished.state.stats["DeadCodeElimination"].did["removes what is not used"]


class Recording(LocalPool):
    """A pool that notes what blocks are made of."""

    def __init__(self, workers: int) -> None:
        self.recipes: dict[int, Recipe] = {}
        super().__init__(workers)

    def submit(self, job: Job[Any], sink: Sink, *, limits: Limits = LIMITS) -> int:
        if isinstance(job, Block):
            self.recipes[job.start] = job.recipe
        return super().submit(job, sink, limits=limits)


@pytest.mark.session
def test_what_is_learned_is_the_same_for_any_number_of_workers() -> None:
    specimen = SPECIMENS["means_by_static_sizes"]
    config = CampaignConfig(
        seed=7,
        modules=192,
        targets=(Target(specimen.name, specimen.call, specimen.stages),),
        compositions=False,
        seeds=(Seeds(tuple(pieces_of(MODELS["gru"](), "gru")), 0.5),),
    )
    with Recording(1) as single:
        alone, planned = list(run(config, single)), single.recipes
    with Recording(2) as several:
        together = list(run(config, several))
        assert timeless(together) == timeless(alone)
        assert several.recipes == planned
        assert any("mean" in recipe.ops for recipe in planned.values())
        assert any(recipe.pieces for recipe in planned.values())


def test_a_fault_has_its_place() -> None:
    position = Position(41, Stage.FUSED, 3, "FoldConstant", (PassCall("FoldConstant()"),))
    assert HarnessFault("Oh.\n", position).describe(7) == (
        "Oh.\nwhile at module 41 of seed 7, stage fused, FoldConstant()"
    )
    assert HarnessFault("Oh.", None).describe(7) == "Oh."


@pytest.mark.session
def test_a_killed_zygote_changes_nothing(pool: LocalPool, faulty: Faulty) -> None:
    config = CampaignConfig(
        seed=3,
        modules=32,
        targets=targets(faulty, "segfault"),
        compositions=False,
        limits=LIMITS,
    )
    undisturbed = timeless(list(run(config, pool)))
    events: list[Event] = []
    killed = 0
    for event in run(config, pool):
        events.append(event)
        if isinstance(event, BlockDone) and event.number == 0:
            os.kill(pool.zygote, signal.SIGKILL)
            killed += 1
    assert killed == 1
    assert timeless(events) == undisturbed


def test_seconds_are_a_budget(pool: LocalPool) -> None:
    targets = (Target("DeadCodeElimination"),)
    events = list(run(CampaignConfig(seed=1, seconds=1.0, targets=targets), pool))
    last = events[-1]
    assert isinstance(last, Finished)
    assert not last.stopped
    done = [event for event in events if isinstance(event, BlockDone)]
    assert last.state.modules == sum(event.modules for event in done)
    assert last.state.checks == sum(each.checks for e in done for each in e.stats.values())


def test_a_campaign_can_be_stopped(pool: LocalPool, faulty: Faulty) -> None:
    stop = threading.Event()
    config = CampaignConfig(seed=1, seconds=600, targets=targets(faulty, "segfault"))
    events: list[Event] = []
    for event in run(config, pool, stop):
        events.append(event)
        if isinstance(event, Progress) and event.violations and event.checks:
            stop.set()
    finished = events[-1]
    assert isinstance(finished, Finished)
    assert finished.stopped
    assert any(isinstance(event, UnconfirmedFinding) for event in events)
    # Checks of unfinished blocks are counted.
    done = [event for event in events if isinstance(event, BlockDone)]
    assert finished.state.checks == sum(each.checks for e in done for each in e.stats.values())
    assert done[-1].state.checks <= finished.state.checks
    assert done[-1].state.blocks * 16 == done[-1].state.modules


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"targets": (), "modules": 1}, "at least one pass"),
        ({"modules": 0}, "modules=0"),
        ({"seconds": -1.0}, "seconds=-1.0"),
        ({}, "seconds=None, modules=None"),
    ],
)
def test_nonsense_is_refused(bad: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        CampaignConfig(**{"seed": 1, "targets": (Target("FuseOps"),), **bad})
