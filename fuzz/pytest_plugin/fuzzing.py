"""The work of one item: a campaign on one pass, whose findings are reported as subtests at once."""

from __future__ import annotations

import contextlib
import dataclasses
import math
import queue
import sys
import threading
import time
from collections.abc import Callable

import pytest

from ...compat.release import versions
from ...oracles.catalogue import contract_of, is_users_contract
from ...oracles.passcall import bare_call
from ...oracles.tiers import STRUCTURAL
from ..campaign.events import Event, Progress
from ..campaign.runner import CampaignRunner
from ..campaign.seeds import Seeds
from ..campaign.triage import Triage
from ..findings.dedup import FAIL_ON, fails
from ..findings.finding import Finding, id_of
from ..findings.store import Store
from ..loading.seeds import pieces_of
from ..probe.shipped import seeds_of
from ..process.executor import limited
from ..process.local_pool import LocalPool
from ..process.targets import PassStats, Target
from ..session.chosen import campaign_of, environment_of, known_choice, timeout_of
from ..system.serialize import plain, typed
from . import results
from .options import CHOSEN
from .plan import PLAN, RESULT, SPLIT, ItemFailure
from .results import ItemResult

LEAST = 1.0
"""Least number of seconds for a pass, even if less time is left."""

RESERVE = 0.25
"""Share of an item's time that is reserved for confirming and reducing."""

GRACE, MOST_GRACE = 10.0, 60.0
"""Seconds for confirming and reducing: the minimum, and the number with a budget of modules."""

PATIENCE = 60.0
"""Further seconds in which reduced findings still get their reproducers."""


class Resources:
    """The store and the workers shared by the items of one process."""

    def __init__(self, config: pytest.Config) -> None:
        self.settings = config.stash[CHOSEN]
        self.plan = config.stash[PLAN]
        self.seconds = share(self.settings.seconds(), config.stash[SPLIT], self.plan.workers)
        sys.path.append(str(config.rootpath))  # a repository's own packages are there
        self.store = Store(self.settings.out)
        self.pool = LocalPool(1, environment=environment_of(self.settings))
        self.executor = limited(self.pool, timeout_of(self.settings))
        own = pieces_of(self.settings.seeds, self.pool)
        self.seeds = seeds_of(self.pool, Seeds(own, self.settings.seed_share))

    @classmethod
    def of(cls, config: pytest.Config) -> Resources:
        """The resources of this process, created for its first item and closed at its end."""
        made = config.stash.get(_RESOURCES, None)
        if made is None:
            made = config.stash[_RESOURCES] = cls(config)
            config.add_cleanup(made.store.close)
            config.add_cleanup(made.pool.close)
        return made


_RESOURCES = pytest.StashKey[Resources]()


def share(total: float | None, passes: int, workers: int) -> float | None:
    """The time for the campaign on one of the passes; None: unlimited.

    Args:
        workers: number of processes that run campaigns at the same time.
    """
    return None if total is None else max(LEAST, total * min(workers, passes) / passes)


def run(item: pytest.Item, subtests: pytest.Subtests) -> None:
    """Run the body of an item.

    Raises:
        ItemFailure: relaxfuzz itself failed.
        UserError: the pass can no longer be loaded.
        ExecutorError: the workers cannot be kept alive.
    """
    resources = Resources.of(item.config)
    settings, store = resources.settings, resources.store
    failed: set[str] = set()
    found: dict[str, str] = {}  # by row

    def report(finding: Finding) -> None:
        row = store.rows.of(finding.id) or finding.id
        if row in found:
            return
        found[row] = finding.id
        failed.add(finding.oracle)
        item.user_properties.extend(results.junit_properties(finding, store))
        with subtests.test(finding.oracle):
            if not fails([finding], settings.fail_on, settings.oracles):
                pytest.xfail(results.below(finding, settings.fail_on or FAIL_ON))
            raise ItemFailure(results.text(finding, store, item.name, settings.seeds))

    campaign = _ItemCampaign(resources, item.name, report)
    try:
        campaign.run()
    except ItemFailure:
        return  # -x: the session ends with the last report
    finally:
        item.stash[RESULT] = plain(campaign.item_result(tuple(found.values())))
    for known in campaign.expected.reports:
        with subtests.test(known.name):
            pytest.xfail(results.reason(known))
    for oracle in campaign.asked():
        if oracle not in failed:
            with subtests.test(oracle):
                pass
    campaign.check()


class _Late(Exception):
    """No time is left for unconfirmed findings, which stay pending in the store."""


class _ItemCampaign:
    def __init__(
        self, resources: Resources, spelling: str, report: Callable[[Finding], None]
    ) -> None:
        settings, plan = resources.settings, resources.plan
        self._spelling = spelling
        self._report = report
        self._target = typed(plan.targets[spelling], Target)
        self.expected = known_choice(settings).load(versions()["tvm"])
        self._published: queue.SimpleQueue[tuple[Finding, threading.Event]] = queue.SimpleQueue()
        self._late = False
        self._triage = Triage(
            resources.store, resources.executor, self._publish, expected=self.expected
        )
        self._stop = threading.Event()
        self._config = dataclasses.replace(
            campaign_of(settings, [self._target]),
            seed=plan.seed,
            seconds=resources.seconds,
            is_known=self.expected.presumes,
            seeds=resources.seeds,
        )
        self._runner = CampaignRunner(
            self._config, resources.executor, self._triage, stop=self._stop, listen=self._listen
        )
        self._finished = False

    def run(self) -> None:
        try:
            self._triage.take_up({self._target.name})
            self._drain(self._runner.run().state.seconds)
        except BaseException:
            self._late = True
            with contextlib.suppress(_Late):
                self._triage.drain(0.0, self._tick)
            raise
        self._finished = True

    def check(self) -> None:
        """Raise the error that ended it early or occurred in it.

        Raises:
            ExecutorError, UserError, ItemFailure: see the function `run`.
        """
        self._runner.check()
        if self._runner.unchecked:
            raise ItemFailure("\n\n".join(["relaxfuzz itself failed:", *self._runner.unchecked]))

    def asked(self) -> tuple[str, ...]:
        """The oracles that checked this pass at least once."""
        stats = self._stats()
        if not stats.checks:
            return ()
        call = self._target.call or bare_call(self._target.name)
        silent = {*self._target.exempt}
        if not is_users_contract(call):
            exemptions = contract_of(call).exemptions
            silent |= {each.oracle for each in exemptions if each.when is None}
        usual = (*(each.name for each in STRUCTURAL), *sorted(stats.sampled))
        return tuple(name for name in self._config.oracles or usual if name not in silent)

    def item_result(self, found: tuple[str, ...]) -> ItemResult:
        done, known = self._runner.state, self._runner.known
        ended = done.ended[self._target.label]
        return ItemResult(
            spelling=self._spelling,
            modules=done.modules,
            stats=self._stats(),
            known_reports=sum(n for each, n in ended.items() if id_of(each) in known),
            knowns={bug.name: n for bug, n in self.expected.reports.items()},
            found=found,
            faults=self._runner.unchecked,
            finished=self._finished,
        )

    def _stats(self) -> PassStats:
        return self._runner.state.stats.get(self._target.label, PassStats())

    def _listen(self, event: Event) -> None:
        if isinstance(event, Progress) and self._triage.pending:
            limit = self._config.seconds or math.inf
            if event.seconds > (1 - RESERVE) * limit:
                self._stop.set()
        self._report_published()

    def _drain(self, spent: float) -> None:
        total = self._config.seconds
        seconds = MOST_GRACE if total is None else max(GRACE, total - spent)
        end = time.monotonic() + seconds + PATIENCE

        def tick() -> None:
            self._late = time.monotonic() > end
            self._tick()

        with contextlib.suppress(_Late):
            self._triage.drain(seconds, tick)

    def _tick(self) -> None:
        if self._late:
            raise _Late
        self._report_published()

    def _publish(self, finding: Finding) -> None:
        """Hand a bug to the main thread; it stays pending until that thread has reported it."""
        reported = threading.Event()
        self._published.put((finding, reported))
        while not reported.wait(0.1):
            if self._late:
                raise _Late

    def _report_published(self) -> None:
        with contextlib.suppress(queue.Empty):
            while True:
                finding, reported = self._published.get_nowait()
                try:
                    self._report(finding)
                finally:
                    reported.set()
