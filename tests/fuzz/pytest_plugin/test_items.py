"""The items of a session that fuzzes: their order and their results."""

from __future__ import annotations

import pytest

from relaxfuzz.fuzz.process.targets import PassStats
from relaxfuzz.fuzz.pytest_plugin.fuzzing import share
from relaxfuzz.fuzz.pytest_plugin.items import FOLDER, Campaign, Passes, arranged
from relaxfuzz.fuzz.pytest_plugin.results import ItemResult
from relaxfuzz.fuzz.pytest_plugin.session import warnings_of


@pytest.fixture
def campaigns(request: pytest.FixtureRequest) -> list[Campaign]:
    """Four passes."""
    folder = Passes.from_parent(request.session, name=FOLDER, nodeid=FOLDER, spellings="ABCD")
    return list(folder.collect())


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
    for stretch, names in ((items[:half], "AC"), (items[half:], "BD")):
        assert [each.name for each in stretch if isinstance(each, Campaign)] == list(names)


def test_the_time_of_a_session_is_split_over_its_passes() -> None:
    assert share(60.0, passes=3, workers=1) == 20.0
    assert share(60.0, passes=3, workers=2) == 40.0
    assert share(60.0, passes=1, workers=4) == 60.0
    assert share(60.0, passes=600, workers=1) == 1.0, "each is looked at"
    assert share(None, passes=3, workers=1) is None


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
    warnings = warnings_of(ItemResult(spelling="A", modules=30, stats=stats, finished=True))
    assert warnings == ([] if warning is None else [warning])
