"""What reaches the process that starts a session: its items, their results, and killed workers."""

from __future__ import annotations

import pytest

from .items import FOLDER
from .plan import RESULT


class Gathered:
    """A plugin of the process that reports: the controller of xdist, or the only one there is."""

    def __init__(self) -> None:
        self.begun: dict[str, None] = {}
        """Ids of items."""
        self.results: dict[str, str] = {}
        """By id of an item: its `results.ItemResult`, as JSON."""
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
