"""The runs of a folder, and what is needed to resume one."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from relaxfuzz.fuzz.campaign import recorder
from relaxfuzz.fuzz.campaign.campaign import CampaignConfig
from relaxfuzz.fuzz.campaign.events import Finished
from relaxfuzz.fuzz.campaign.recorder import Recorder, begin
from relaxfuzz.fuzz.campaign.state import State
from relaxfuzz.fuzz.findings.finding import Finding, id_of
from relaxfuzz.fuzz.findings.runs import INTERVAL, SAMPLES, Run, Sample, sampled
from relaxfuzz.fuzz.findings.store import Store
from relaxfuzz.fuzz.process.targets import PassStats, Target
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.violation import Mark, Violation

RUN = Run(
    command="run",
    started=1.5,
    seed=3,
    workers=2,
    versions={"tvm": "0.27.0"},
    passes=("FuseOps", "own()"),
    seconds=2.5,
    modules=16,
    checks=40,
    stats={"FuseOps": PassStats(40, 1, 2, 0.5, 3, 4, {"json": 5})},
    known_reports={"FuseOps": 1},
    knowns={"some-known": 1},
    fixed=("other-known",),
    found=("a", "b"),
    samples=(Sample(1.0, 8, 20, 0), Sample(2.5, 16, 40, 2)),
    faults=("Traceback",),
)
CONFIG = CampaignConfig(
    seed=3,
    targets=(Target("own", PassCall("own()", factory="m:own"), (), ("idempotent",)),),
    modules=64,
)
KNOWN, NEW = ("crash", "FuseOps", "k"), ("crash", "FuseOps", "n")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path) as store:
        yield store


@pytest.fixture(autouse=True)
def every_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder, "EVERY", 0.0)


def fresh(store: Store, config: CampaignConfig = CONFIG, **changes: object) -> Recorder:
    run = Run(command="run", started=0.0, workers=1, versions={"tvm": "1"}, passes=("own()",))
    return begin(store.runs, dataclasses.replace(run, **changes), config, resume=True)  # type: ignore[arg-type]  # of the right kinds


def committed(state: State, *identities: Mark) -> State:
    """One more block in which checks ended in these."""
    for identity in identities:
        state.is_new(identity, "own()")
    state.count(16, {"own()": PassStats(checks=10, violations=len(identities))})
    state.commit([], state.seconds + 1)
    return state


def finding(name: str) -> Finding:
    violation = Violation("t", "d", (name,), oracle="crash", pass_name="FuseOps")
    return Finding(violation=violation, module="{}", versions={})


# Runs


def test_what_is_written_of_a_run_is_read(store: Store) -> None:
    id = store.runs.begin(RUN)
    assert store.runs.all() == {id: RUN}
    longer = dataclasses.replace(RUN, modules=32)
    store.runs.save(id, longer)
    assert store.runs.all() == {id: longer}


def test_the_last_run_alone_can_go_on(store: Store) -> None:
    assert store.runs.unfinished(RUN.command) is None
    first = store.runs.begin(RUN)
    assert store.runs.unfinished(RUN.command) is None
    store.runs.checkpoint(first, RUN, "here")
    store.runs.save(first, RUN)
    assert store.runs.unfinished(RUN.command) == (first, RUN, "here")
    second = store.runs.begin(RUN)
    assert store.runs.unfinished(RUN.command) is None
    store.runs.checkpoint(second, RUN, "there")
    store.runs.checkpoint(second, RUN, None)
    assert store.runs.unfinished(RUN.command) is None
    assert list(store.runs.all()) == [first, second]


def test_another_command_in_the_folder_ends_no_run(store: Store) -> None:
    first = store.runs.begin(RUN)
    store.runs.checkpoint(first, RUN, "here")
    other = dataclasses.replace(RUN, command="other")
    second = store.runs.begin(other)
    store.runs.checkpoint(second, other, "there")
    assert store.runs.unfinished(RUN.command) == (first, RUN, "here")
    assert store.runs.unfinished("other") == (second, other, "there")
    store.runs.begin(RUN)
    assert store.runs.unfinished(RUN.command) is None
    assert store.runs.unfinished("other") == (second, other, "there")


def test_a_store_without_runs_gets_them(store: Store, tmp_path: Path) -> None:
    store._db.execute("DROP TABLE runs")
    store._db.execute("DROP TABLE pending")
    for options in ({"create": False}, {"create": True}):
        with Store(tmp_path, **options) as opened:
            assert opened.runs.all() == {}
            assert opened.pending() == []


@pytest.mark.parametrize("step", [0.01, 0.7, 13.0])
def test_a_run_of_any_length_has_few_samples_at_regular_intervals(step: float) -> None:
    samples: tuple[Sample, ...] = ()
    for n in range(5000):
        samples = sampled(samples, Sample(n * step, n, n, 0))
        assert samples[-1].modules == n
        assert len(samples) <= SAMPLES
    assert len(samples) >= min(SAMPLES / 2, 5000 * step / INTERVAL)
    times = [sample.seconds for sample in samples[:-1]]
    gaps = [late - early for early, late in itertools.pairwise(times)]
    assert max(gaps) <= 2 * min(gaps[1:]) + step


# Campaigns


def test_a_campaign_goes_on_where_it_was_written_down(store: Store) -> None:
    begun = fresh(store)
    state = committed(begun.state, KNOWN, NEW)
    begun.known.add(id_of(KNOWN))
    begun.block(state, {"some-known": 1}, ["fault"])
    begun.found(finding("n"))
    resumed = fresh(store)
    assert resumed.why_new is None
    assert resumed.id == begun.id
    assert resumed.state == state
    assert resumed.known == {id_of(KNOWN)}
    run = resumed.run
    assert (run.modules, run.checks, run.seconds) == (16, 10, 1.0)
    assert run.known_reports == {"own()": 1}
    assert (run.knowns, run.faults) == ({"some-known": 1}, ("fault",))
    assert run.found == (finding("n").id,)
    assert run.samples == (Sample(1.0, 16, 10, 1),)


def test_a_finding_reported_before_its_block_is_written_does_not_count_the_block(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder, "EVERY", 1e9)
    begun = fresh(store)
    begun.block(committed(begun.state, NEW), {"some-known": 1}, [])
    begun.found(finding("n"))
    resumed = fresh(store)
    assert resumed.state == State()
    assert resumed.run.found == (finding("n").id,)
    assert (resumed.run.modules, resumed.run.knowns) == (0, {})


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"seed": 4}, "the last one had other settings: the seed"),
        (
            {"modules": None, "seconds": 9.0},
            "the last one had other settings: the time budget, the number of modules",
        ),
        ({"oracles": ("crash",)}, "the last one had other settings: the oracles"),
        ({"targets": (Target("FuseOps"),)}, "the last one had other settings: the passes"),
    ],
)
def test_another_campaign_begins_anew(store: Store, changes: dict[str, object], why: str) -> None:
    fresh(store)
    begun = fresh(store, dataclasses.replace(CONFIG, **changes))  # type: ignore[arg-type]  # of the right kinds
    assert (begun.why_new, begun.state.blocks) == (why, 0)
    assert len(store.runs.all()) == 2


def test_another_tvm_begins_anew(store: Store) -> None:
    fresh(store)
    assert "version of TVM" in str(fresh(store, versions={"tvm": "2"}).why_new)


def test_another_command_has_runs_of_its_own(store: Store) -> None:
    recorder = fresh(store)
    assert fresh(store, command="nightly").why_new is None
    assert len(store.runs.all()) == 2
    assert fresh(store).run == recorder.run
    assert len(store.runs.all()) == 2


def test_a_state_that_cannot_be_read_is_reported(store: Store) -> None:
    begun = fresh(store)
    store.runs.checkpoint(begun.id, RUN, "{}")
    assert "cannot be read" in str(fresh(store).why_new)


@pytest.mark.parametrize("interrupted", [True, False])
def test_the_end_is_written_down(store: Store, interrupted: bool) -> None:
    begun = fresh(store)
    finished = Finished(9.0, 20, 12, {"own()": PassStats(12)}, {NEW: 2}, {"own()": {NEW: 2}}, True)
    left = State() if interrupted else None
    begun.end(finished, left, ["gone"], [])
    (run,) = store.runs.all().values()
    assert (run.seconds, run.modules, run.checks) == (9.0, 20, 12)
    assert (run.finished, run.fixed) == (not interrupted, ("gone",))
    assert (store.runs.unfinished(RUN.command) is not None) is interrupted
