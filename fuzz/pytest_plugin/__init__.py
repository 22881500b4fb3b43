"""The pytest plugin: `pytest --relaxfuzz PASS`, and corpus files as tests.

Loading it imports neither TVM nor Hypothesis: hooks import modules that need them only when there
is something to do.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Generator, Mapping
from typing import Any

import pytest

from ...compat.drift import cannot_work
from . import items, options, plan

pytest_plugins = [f"{__name__}.corpus"]
"""The plugins with hooks of their own."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options."""
    options.add(parser)


def pytest_configure(config: pytest.Config) -> None:
    """Read the settings; make the plan, or take the controller's."""
    config.addinivalue_line("markers", f"{items.MARKER}: a pass that --relaxfuzz fuzzes")
    settings = config.stash[options.CHOSEN] = options.settings(config)
    if hasattr(config, "workerinput"):
        if (given := config.workerinput.get(plan.KEY)) is not None:
            config.stash[plan.PLAN] = plan.SessionPlan(**given)
    elif settings.passes:
        config.stash[plan.PLAN] = plan.plan(config, settings)
        gathered = config.stash[items.GATHERED] = items.Gathered()
        config.pluginmanager.register(gathered)


def pytest_report_header(config: pytest.Config) -> str | None:
    """Name the passes to fuzz and the budget."""
    chosen = config.stash.get(plan.PLAN, None)
    return None if chosen is None else plan.header(config.stash[options.CHOSEN], chosen)


def pytest_sessionstart(session: pytest.Session) -> None:
    """Report mistakes in the controller of xdist, before it starts workers."""
    config = session.config
    if plan.PLAN in config.stash and config.pluginmanager.hasplugin("dsession"):
        _prepare(config)


def _prepare(config: pytest.Config, passes: Collection[str] | None = None) -> None:
    try:
        from .session import prepare

        prepare(config, passes)
    except Exception as error:
        if (lacking := cannot_work(error)) is None:
            raise
        raise pytest.UsageError(lacking) from None


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Send the plan to a worker of xdist."""
    chosen = node.config.stash.get(plan.PLAN, None)
    if chosen is not None:
        node.workerinput[plan.KEY] = dataclasses.asdict(chosen)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Add the passes to the collected items."""
    report = yield
    chosen = collector.config.stash.get(plan.PLAN, None)
    if chosen is not None and isinstance(collector, pytest.Session) and report.passed:
        folder = items.Passes.from_parent(
            collector, name=items.FOLDER, nodeid=items.FOLDER, spellings=chosen.passes
        )
        report.result.append(folder)
    return report


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Order the items so that xdist distributes campaigns evenly among workers."""
    chosen = config.stash.get(plan.PLAN, None)
    if chosen is not None:
        from .items import arranged

        items[:] = arranged(items, chosen.workers)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Report mistakes in the names of passes before anything runs."""
    config = session.config
    passes = {item.name for item in session.items if isinstance(item, items.Campaign)}
    if passes:
        config.stash[plan.SPLIT] = len(passes)
        if not config.stash[plan.PLAN].targets and not config.getoption("collectonly"):
            _prepare(config, passes)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Attach the result of an item to its report."""
    report = yield
    result = item.stash.get(plan.RESULT, None)
    if result is not None:
        report.relaxfuzz = result  # type: ignore[attr-defined]  # reports take any attribute
    return report


@pytest.hookimpl(tryfirst=True)
def pytest_report_teststatus(
    report: pytest.CollectReport | pytest.TestReport, config: pytest.Config
) -> tuple[str, str, str | Mapping[str, bool]] | None:
    """Show an oracle without a violation only with -vv; count a known bug."""
    ours = plan.PLAN in config.stash and report.nodeid.startswith(f"{items.FOLDER}::")
    if not ours or not isinstance(report, pytest.SubtestReport):
        return None
    if report.failed or config.get_verbosity() > 1:
        return None
    if hasattr(report, "wasxfail"):
        return "xfailed", "y", f"SUBXFAIL[{report.context.msg}]"
    return "", "", ""


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Sum up the work of the items; with xdist, after its workers have ended."""
    chosen = session.config.stash.get(plan.PLAN, None)
    if chosen is not None and chosen.run is not None and items.GATHERED in session.config.stash:
        from ..session.silences import NOTHING_COMPARED
        from .session import finish

        if not finish(session.config) and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = NOTHING_COMPARED


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Print the work on each pass."""
    chosen = config.stash.get(plan.PLAN, None)
    if chosen is not None and chosen.run is not None:
        from .session import print_summary

        print_summary(config, terminalreporter)
