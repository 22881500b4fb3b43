"""Runs of a folder: the first new bug ends one, an interrupted one leaves its bugs to the next."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from relaxfuzz.compat.release import versions
from relaxfuzz.fuzz.campaign.campaign import CampaignConfig
from relaxfuzz.fuzz.campaign.events import Finished
from relaxfuzz.fuzz.findings.known import Choice
from relaxfuzz.fuzz.findings.runs import Run
from relaxfuzz.fuzz.findings.store import Store
from relaxfuzz.fuzz.loading.targets import Relaxations, targets
from relaxfuzz.fuzz.process.local_pool import LocalPool
from relaxfuzz.fuzz.session import fuzzing
from relaxfuzz.fuzz.session.session import Output, Session
from relaxfuzz.oracles.grades.grade import Grade

PASSES = (f"{Path(__file__).parents[1] / 'user_passes.py'}:raises_on_exp",)
SEED = 5


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


def runs_of(out: Path) -> list[Run]:
    with Store(out, create=False) as store:
        return list(store.runs.all().values())


def fuzzed(
    made: Session,
    modules: int,
    *,
    stop_at_first: Grade | None = None,
    continued: int | None = None,
) -> Finished:
    config = CampaignConfig(
        seed=SEED,
        targets=targets(PASSES, Relaxations()),
        modules=modules,
        compositions=False,
        is_known=made.expected.presumes,
    )
    return fuzzing.Fuzzing(
        config, made, command="test", continued=continued, stop_at_first=stop_at_first
    ).run()


@pytest.mark.session
def test_the_first_new_bug_may_end_it(tmp_path: Path, pool: LocalPool) -> None:
    with opened(tmp_path / "out", pool) as made:
        finished = fuzzed(made, 10_000, stop_at_first=Grade.C)
        assert finished.stopped
        assert made.triage.bugs
    (first,) = runs_of(tmp_path / "out")
    assert first.finished
    assert first.found
    assert first.modules < 10_000
    with opened(tmp_path / "out", pool) as made:  # nothing is new the second time
        finished = fuzzed(made, 16, stop_at_first=Grade.C)
        assert not finished.stopped
        assert made.triage.bugs
    with opened(tmp_path / "out", pool) as made:  # unless it continues the run that reported it
        fuzzed(made, 16, continued=1)
    first, *_, last = runs_of(tmp_path / "out")
    assert first.found == ()
    assert last.found
