"""The pytest plugin: `pytest --relaxfuzz PASS`, and what tests of one's own use.

Loading it imports neither TVM nor Hypothesis: the work is in modules that the hooks import when
there is something to do.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import pytest

from . import options

if TYPE_CHECKING:
    from collections.abc import Mapping

pytest_plugins = [f"{__name__}.corpus", f"{__name__}.fixture"]
"""With hooks of their own."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options."""
    options.add(parser)


def pytest_configure(config: pytest.Config) -> None:
    """Read what was asked for."""
    from . import items, session

    config.addinivalue_line("markers", f"{items.MARKER}: a pass that --relaxfuzz fuzzes")
    settings = config.stash[options.SETTINGS] = options.settings(config)
    given = getattr(config, "workerinput", {}).get(session.KEY)
    if given is not None:
        config.stash[session.PLAN] = session.given(given)
    elif settings.passes and not hasattr(config, "workerinput"):
        config.stash[session.PLAN] = session.plan(config, settings)


def pytest_report_header(config: pytest.Config) -> str | None:
    """What is to be fuzzed."""
    from . import session

    plan = config.stash.get(session.PLAN, None)
    return None if plan is None else session.header(config.stash[options.SETTINGS], plan)


def pytest_sessionstart(session: pytest.Session) -> None:
    """Where others do the work, the mistakes are told before they begin."""
    from . import session as sessions

    if sessions.is_controller(session.config):
        sessions.prepare(session.config)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell a worker of xdist what was decided."""
    from . import session

    plan = node.config.stash.get(session.PLAN, None)
    if plan is not None:
        node.workerinput[session.KEY] = session.told(plan)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Add the passes to what was collected."""
    from . import items, session

    report = yield
    plan = collector.config.stash.get(session.PLAN, None)
    if plan is not None and isinstance(collector, pytest.Session) and report.passed:
        shards = items.shards(plan.passes, plan.shards)
        report.result.append(
            items.Passes.from_parent(
                collector, name=items.FOLDER, nodeid=items.FOLDER, shards=shards
            )
        )
    return report


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Campaigns stand where xdist gives them to workers evenly."""
    from .items import arranged
    from .session import PLAN

    plan = config.stash.get(PLAN, None)
    if plan is not None:
        items[:] = arranged(items, plan.workers)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Mistakes in the names of passes are told before anything runs."""
    from . import session as sessions
    from .items import Campaign

    passes = {item.shard.spelling for item in session.items if isinstance(item, Campaign)}
    if passes:
        sessions.collected(session.config, passes)


@pytest.hookimpl(tryfirst=True)
def pytest_report_teststatus(
    report: pytest.CollectReport | pytest.TestReport, config: pytest.Config
) -> tuple[str, str, str | Mapping[str, bool]] | None:
    """A promise that was kept is told with -vv only; a known bug is counted."""
    from .items import FOLDER
    from .session import PLAN

    ours = config.stash.get(PLAN, None) is not None and report.nodeid.startswith(f"{FOLDER}::")
    if not ours or not isinstance(report, pytest.SubtestReport):
        return None
    if report.failed or config.get_verbosity() > 1:
        return None
    if hasattr(report, "wasxfail"):
        return "xfailed", "y", f"SUBXFAIL[{report.context.msg}]"
    return "", "", ""


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Put together what the items did; in xdist, after its workers have ended."""
    from .session import PLAN

    config = session.config
    plan = config.stash.get(PLAN, None)
    if plan is not None and plan.run is not None and not hasattr(config, "workerinput"):
        from . import summary

        summary.finish(config)


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """What was done for each pass."""
    from .session import PLAN

    plan = config.stash.get(PLAN, None)
    if plan is not None and plan.run is not None:
        from . import summary

        summary.tell(config, terminalreporter)


@pytest.hookimpl(optionalhook=True)
def pytest_handlecrashitem(crashitem: str, sched: Any) -> None:
    """A worker of xdist died: the controller tells what its campaign had found."""
    from .session import PLAN

    if sched.config.stash.get(PLAN, None) is not None:
        from .rescue import LOST

        sched.config.stash.setdefault(LOST, []).append(crashitem)
