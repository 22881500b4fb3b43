"""The items of a session that fuzzes: who gets which, and what they share."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from relaxfuzz.fuzz.process.targets import PassStats
from relaxfuzz.fuzz.pytest_plugin.fuzzing import part_of, seed_of
from relaxfuzz.fuzz.pytest_plugin.items import FOLDER, Campaign, Passes, Shard, arranged, shards
from relaxfuzz.fuzz.pytest_plugin.parts import Part, Parts
from relaxfuzz.fuzz.pytest_plugin.summary import Line, warnings_of
from relaxfuzz.fuzz.pytest_plugin.workplace import Clock


@pytest.fixture
def campaigns(request: pytest.FixtureRequest) -> list[Campaign]:
    """Two passes for two workers."""
    folder = Passes.from_parent(
        request.session, name=FOLDER, nodeid=FOLDER, shards=shards(["A", "B"], 2)
    )
    return list(folder.collect())


def test_ids_are_readable(campaigns: list[Campaign]) -> None:
    ids = [campaign.nodeid for campaign in campaigns]
    assert ids == [f"relaxfuzz::{name}[{i}/2]" for name in "AB" for i in (1, 2)]
    assert Shard("FuseOps").name == "FuseOps"


def test_campaigns_come_last_for_one_worker(
    campaigns: list[Campaign], request: pytest.FixtureRequest
) -> None:
    other: pytest.Item = request.node
    assert arranged([*campaigns, other], 1) == [other, *campaigns]


def test_each_worker_begins_with_its_campaigns(
    campaigns: list[Campaign], request: pytest.FixtureRequest
) -> None:
    """With `worksteal` each gets a stretch of the list, with `load` pieces of it in turn."""
    others: list[pytest.Item] = [request.node] * 20
    items = arranged([*others, *campaigns], 2)
    assert sorted(map(id, items)) == sorted(map(id, [*others, *campaigns]))
    half = len(items) // 2
    for stretch, number in ((items[:half], 0), (items[half:], 1)):
        found = [item for item in stretch if isinstance(item, Campaign)]
        assert [item.shard.number for item in found] == [number, number]


def test_shards_have_other_modules_and_together_all() -> None:
    made = shards(["A"], 3)
    assert sum(part_of(100, shard) for shard in made) == 100
    assert len({seed_of(7, shard) for shard in made}) == 3
    assert seed_of(7, made[0]) == 7, "a single one is as in `relaxfuzz run`"


def test_time_that_one_pass_takes_the_others_do_not_have() -> None:
    clock = Clock(60.0, 3)
    assert clock.share("A") == 20.0
    clock.spend(40.0)
    assert clock.share("B") == 10.0
    clock.spend(50.0)
    assert clock.share("C") == 1.0, "nothing is left, and it is looked at all the same"


def test_two_shards_in_one_process_share_its_time() -> None:
    clock = Clock(60.0, 1)
    assert clock.share("A") == 60.0
    clock.spend(60.0)
    assert clock.share("A") == 1.0


def test_a_bug_of_a_pass_is_told_by_the_item_that_asks_first(tmp_path: Path) -> None:
    parts = Parts(tmp_path, "1-a")
    assert parts.claim("row", "A", "A[1/2]") == "A[1/2]"
    assert parts.claim("row", "A", "A[2/2]") == "A[1/2]"
    assert parts.claim("other", "A", "A[2/2]") == "A[2/2]"
    assert parts.claim("row", "B", "B[1/2]") == "B[1/2]", "another pass, the same bug"
    assert parts.others("row", "B[1/2]") == ["A[1/2]"]


def test_what_a_killed_session_left_is_swept(tmp_path: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    dead, alive = Parts(tmp_path, f"{ended.pid}-a"), Parts(tmp_path, f"{os.getpid()}-b")
    for parts in (dead, alive):
        parts.write(Part(item="relaxfuzz::A", spelling="A", number=0))
    Parts.sweep(tmp_path)
    assert not dead.read()
    assert [part.item for part in alive.read()] == ["relaxfuzz::A"]


@pytest.mark.parametrize(
    ("stats", "told"),
    [
        (PassStats(inapplicable=30), "A did not apply to any of 30 modules: nothing was tested"),
        (PassStats(checks=30), "A changed none of the modules that it was given"),
        (PassStats(checks=30, changed=1), None),
    ],
)
def test_a_pass_that_was_hardly_tested_is_told(stats: PassStats, told: str | None) -> None:
    warnings = warnings_of(Line("A", 30, stats, bugs=0, knowns=0, cut=()))
    assert (told is None and not warnings) or (told is not None and warnings[0].startswith(told))
