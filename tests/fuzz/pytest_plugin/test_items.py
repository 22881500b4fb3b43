"""The items of a session that fuzzes: which worker gets which, and what they share."""

from __future__ import annotations

from pathlib import Path

import pytest

from relaxfuzz.fuzz.process.serialize import plain, typed
from relaxfuzz.fuzz.process.targets import PassStats
from relaxfuzz.fuzz.pytest_plugin.fuzzing import Clock
from relaxfuzz.fuzz.pytest_plugin.items import FOLDER, Campaign, Passes, arranged, item_id
from relaxfuzz.fuzz.pytest_plugin.plan import Plan, Shard
from relaxfuzz.fuzz.pytest_plugin.results import Claim, Claims, ItemResult
from relaxfuzz.fuzz.pytest_plugin.session import Line, warnings_of


@pytest.fixture
def campaigns(request: pytest.FixtureRequest) -> list[Campaign]:
    """Two passes for two workers."""
    shards = Plan(seed=0, passes=("A", "B"), shards=2).all_shards()
    folder = Passes.from_parent(request.session, name=FOLDER, nodeid=FOLDER, shards=shards)
    return list(folder.collect())


def test_ids_are_readable(campaigns: list[Campaign]) -> None:
    ids = [campaign.nodeid for campaign in campaigns]
    assert ids == [f"relaxfuzz::{name}[{i}/2]" for name in "AB" for i in (1, 2)]
    assert ids == [item_id(campaign.shard) for campaign in campaigns]
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
    made = Plan(seed=7, passes=("A",), shards=3).all_shards()
    assert sum(shard.modules(100) for shard in made) == 100
    assert len({shard.seed(7) for shard in made}) == 3
    assert made[0].seed(7) == 7, "a single one is as in `relaxfuzz run`"


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


def test_a_bug_of_a_pass_is_reported_by_the_item_that_claims_it_first(tmp_path: Path) -> None:
    claims = Claims(tmp_path)
    first = Claim("A[1/2]", "A", "row", "f1")
    assert claims.claim(first) == first
    assert claims.claim(Claim("A[2/2]", "A", "row", "f2")) == first
    other = Claim("A[2/2]", "A", "other", "f3")
    assert claims.claim(other) == other
    same_bug = Claim("B[1/2]", "B", "row", "f4")
    assert claims.claim(same_bug) == same_bug, "another pass, the same bug"
    assert claims.all() == [first, other, same_bug]


def test_a_result_travels_as_plain_data() -> None:
    result = ItemResult(
        spelling="A", ended=1.5, modules=3, stats=PassStats(checks=2), knowns={"a": 1}
    )
    assert typed(plain(result), ItemResult) == result


@pytest.mark.parametrize(
    ("stats", "warning"),
    [
        (PassStats(inapplicable=30), "A did not apply to any of 30 modules: nothing was tested"),
        (PassStats(checks=30), "A changed none of the modules: little was tested"),
        (PassStats(checks=30, changed=1), None),
    ],
)
def test_a_pass_that_was_hardly_tested_gets_a_warning(
    stats: PassStats, warning: str | None
) -> None:
    warnings = warnings_of(Line("A", 30, stats, bugs=0, knowns=0))
    assert warnings == ([] if warning is None else [warning])
