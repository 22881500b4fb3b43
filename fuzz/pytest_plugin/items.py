"""The items that `pytest --relaxfuzz PASS` adds: one for each pass and shard of it.

Nothing here needs TVM before an item runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pytest

from .plan import RESULT, Failure, Shard

FOLDER = "relaxfuzz"
"""The prefix of the items' ids."""

MARKER = "relaxfuzz_campaign"


class TextItem(pytest.Item):
    """An item that shows a `Failure` as its text."""

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], *args: object) -> object:  # type: ignore[override]  # a text is allowed
        """The text, without the frames of the plugin."""
        if isinstance(excinfo.value, Failure):
            return str(excinfo.value)
        return super().repr_failure(excinfo)


class Passes(pytest.Collector):
    """All passes that are fuzzed."""

    def __init__(self, shards: Iterable[Shard], **rest: object) -> None:
        super().__init__(**rest)  # type: ignore[arg-type]  # as pytest gives them
        self.shards = tuple(shards)

    def collect(self) -> Iterator[Campaign]:
        """An item for each shard."""
        for shard in self.shards:
            yield Campaign.of(self, shard)

    def __repr__(self) -> str:
        return f"<Passes {self.name}>"


class Campaign(TextItem, pytest.Function):  # type: ignore[misc]  # a text is allowed
    """A shard of the work on one pass; its subtests are oracles.

    It is a function because only functions get the fixture `subtests`.
    """

    shard: Shard

    @classmethod
    def of(cls, parent: Passes, shard: Shard) -> Campaign:
        """The item of a shard."""
        made = cls.from_parent(parent, name=shard.name, callobj=_run)
        made.shard = shard
        made.add_marker(MARKER)
        if made.config.pluginmanager.hasplugin("timeout"):
            made.add_marker(pytest.mark.timeout(0))  # its budget ends it
        return made

    def reportinfo(self) -> tuple[object, int | None, str]:  # type: ignore[override]  # no line
        """It has no file. The last part is a title, and must not look like the end of the id, in
        which pytest replaces dots as separators of modules."""
        return self.path, None, f"{FOLDER} {self.name}"


def item_id(shard: Shard) -> str:
    """The id of the shard's item."""
    return f"{FOLDER}::{shard.name}"


def arranged(items: list[pytest.Item], workers: int) -> list[pytest.Item]:
    """The items in an order in which xdist gives campaigns to workers evenly.

    A campaign takes long and other tests do not. Campaigns come last; with several workers, each
    of as many stretches of the list as there are workers begins with some of them, because a worker
    begins with a stretch. Where there is little else, xdist deals the items out in turn, or two at
    a time.
    """
    campaigns = [item for item in items if isinstance(item, Campaign)]
    others = [item for item in items if not isinstance(item, Campaign)]
    if workers == 1 or len(items) < 2 * workers or not others:
        return [*campaigns, *others] if workers > 1 else [*others, *campaigns]
    stretches: list[pytest.Item] = []
    for i in range(workers):
        stretches += [item for item in campaigns if item.shard.number % workers == i]
        stretches += others[len(others) * i // workers : len(others) * (i + 1) // workers]
    return stretches


def _run(request: pytest.FixtureRequest, subtests: pytest.Subtests) -> None:
    from .fuzzing import run

    item = request.node
    assert isinstance(item, Campaign)
    run(item, item.shard, subtests)


class Gathered:
    """What reaches the process that reports: the controller of xdist, or the only one there is."""

    def __init__(self) -> None:
        self.begun: dict[str, None] = {}
        """Ids of items."""
        self.results: dict[str, Mapping[str, Any]] = {}
        """By id of an item: its `results.ItemResult`, as plain data."""
        self.killed: list[str] = []
        """Ids of items whose process was killed."""

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """An item begins."""
        if nodeid.startswith(f"{FOLDER}::"):
            self.begun[nodeid] = None

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Reports travel from workers to the controller, and results with them."""
        result = getattr(report, "relaxfuzz", None)
        if result is not None:
            self.results[report.nodeid] = result

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """An item that was interrupted in this process has no report."""
        for item in session.items:
            if (result := item.stash.get(RESULT, None)) is not None:
                self.results[item.nodeid] = result

    @pytest.hookimpl(optionalhook=True)
    def pytest_handlecrashitem(self, crashitem: str) -> None:
        """A worker of xdist died at this item."""
        self.killed.append(crashitem)


GATHERED = pytest.StashKey[Gathered]()
