"""The items that `pytest --relaxfuzz PASS` adds: one for each pass.

No code here needs TVM before an item runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pytest

from .plan import RESULT, ItemFailure

FOLDER = "relaxfuzz"
"""The prefix of the items' ids."""

MARKER = "relaxfuzz_campaign"


class TextItem(pytest.Item):
    """An item that shows an `ItemFailure` as its text."""

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], *args: object) -> object:  # type: ignore[override]  # any object that pytest shows
        """The text, without the frames of the plugin.

        Its first line alone is in pytest's summary, which CI services show in full.
        """
        if not isinstance(excinfo.value, ItemFailure):
            return super().repr_failure(excinfo)
        shown = excinfo.getrepr(style="value", chain=False)
        assert shown.reprcrash is not None
        shown.reprcrash.message = str(excinfo.value).partition("\n")[0]
        return shown


class Passes(pytest.Collector):
    """The collector of all passes to fuzz."""

    def __init__(self, spellings: Iterable[str], **rest: object) -> None:
        super().__init__(**rest)  # type: ignore[arg-type]  # as pytest gives them
        self.spellings = tuple(spellings)

    def collect(self) -> Iterator[Campaign]:
        """An item for each pass."""
        for spelling in self.spellings:
            yield Campaign.of(self, spelling)

    def __repr__(self) -> str:
        return f"<Passes {self.name}>"


class Campaign(TextItem, pytest.Function):  # type: ignore[misc]  # a text is allowed
    """The work on one pass; its subtests are oracles.

    It is a function because only functions get the fixture `subtests`.
    """

    @classmethod
    def of(cls, parent: Passes, spelling: str) -> Campaign:
        """The item of a pass, as the user named it."""
        made = cls.from_parent(parent, name=spelling, callobj=_run)
        made.add_marker(MARKER)
        if made.config.pluginmanager.hasplugin("timeout"):
            made.add_marker(pytest.mark.timeout(0))  # its budget ends it
        return made

    def reportinfo(self) -> tuple[object, int | None, str]:  # type: ignore[override]  # no line
        """Name the item without a file. The last part is a title, and must not look like the end of
        the id, where pytest replaces dots as separators of modules."""
        return self.path, None, f"{FOLDER} {self.name}"


def item_id(spelling: str) -> str:
    """The id of the item of a pass."""
    return f"{FOLDER}::{spelling}"


def arranged(items: list[pytest.Item], workers: int) -> list[pytest.Item]:
    """Sort the items so that xdist distributes campaigns evenly among workers.

    A campaign takes long and other tests do not, so campaigns come last. With several workers the
    list has a stretch for each. Campaigns come first in a stretch, as a worker starts with one.
    """
    campaigns = [item for item in items if isinstance(item, Campaign)]
    others = [item for item in items if not isinstance(item, Campaign)]
    if workers == 1:
        return [*others, *campaigns]
    stretches: list[pytest.Item] = []
    for i in range(workers):
        stretches += campaigns[i::workers]
        stretches += others[len(others) * i // workers : len(others) * (i + 1) // workers]
    return stretches


def _run(request: pytest.FixtureRequest, subtests: pytest.Subtests) -> None:
    from .fuzzing import run

    item = request.node
    assert isinstance(item, Campaign)
    run(item, subtests)


class Gathered:
    """The results in the reporting process: the controller of xdist, or the only process."""

    def __init__(self) -> None:
        self.begun: dict[str, None] = {}
        """Ids of items that have begun."""
        self.results: dict[str, Mapping[str, Any]] = {}
        """The `results.ItemResult` of each item, as plain data, by its id."""

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Note that an item begins."""
        if nodeid.startswith(f"{FOLDER}::"):
            self.begun[nodeid] = None

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the result in a report; reports travel from workers to the controller."""
        result = getattr(report, "relaxfuzz", None)
        if result is not None:
            self.results[report.nodeid] = result

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Keep the results of items that were interrupted in this process and have no report."""
        for item in session.items:
            if (result := item.stash.get(RESULT, None)) is not None:
                self.results[item.nodeid] = result


GATHERED = pytest.StashKey[Gathered]()
