"""The runs of a folder, and the record of the current one."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest

from relaxfuzz.fuzz.campaign import recorder
from relaxfuzz.fuzz.campaign.recorder import Recorder
from relaxfuzz.fuzz.campaign.state import CampaignState
from relaxfuzz.fuzz.findings.finding import Finding, id_of
from relaxfuzz.fuzz.findings.runs import Run
from relaxfuzz.fuzz.findings.store import Store
from relaxfuzz.fuzz.process.targets import PassStats
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
    stats={"FuseOps": PassStats(40, 1, 2, 0.5, 4, {"json": 5})},
    known_reports={"FuseOps": 1},
    knowns={"some-known": 1},
    fixed=("other-known",),
    found=("a", "b"),
    faults=("Traceback",),
)
KNOWN, NEW = ("crash", "FuseOps", "k"), ("crash", "FuseOps", "n")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path) as store:
        yield store


@pytest.fixture(autouse=True)
def every_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder, "EVERY", 0.0)


def fresh(store: Store) -> Recorder:
    run = Run(command="run", started=0.0, workers=1, versions={"tvm": "1"}, passes=("own()",))
    return Recorder(runs=store.runs, run=run)


def committed(state: CampaignState, *identities: Mark) -> CampaignState:
    """One more block in which checks ended in these."""
    for identity in identities:
        state.is_new(identity, "own()")
    state.count(16, {"own()": PassStats(checks=10, violations=len(identities))})
    state.commit(state.seconds + 1)
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


def test_the_bugs_of_an_interrupted_run_pass_to_the_next(store: Store) -> None:
    first = store.runs.begin(RUN)
    fresh = dataclasses.replace(RUN, found=())
    second = Recorder(runs=store.runs, run=fresh, continued=first)
    assert second.run == RUN
    assert store.runs.all() == {first: fresh, second.id: RUN}


# Campaigns


def test_a_campaign_writes_what_it_has_done(store: Store) -> None:
    begun = fresh(store)
    begun.known.add(id_of(KNOWN))
    begun.found(finding("n"))
    begun.block(committed(CampaignState(), KNOWN, NEW), {"some-known": 1}, ["fault"])
    (run,) = store.runs.all().values()
    assert (run.modules, run.checks, run.seconds) == (16, 10, 1.0)
    assert run.known_reports == {"own()": 1}
    assert (run.knowns, run.faults) == ({"some-known": 1}, ("fault",))
    assert run.found == (finding("n").id,)
    assert not run.finished
