"""One item at work: a campaign on one pass, whose findings are reported as subtests at once."""

from __future__ import annotations

import contextlib
import math
import queue
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ...compat.release import versions
from ...oracles.composition import contract_of
from ...oracles.passcall import bare_call
from ...oracles.tiers import STRUCTURAL
from ..campaign.campaign import CampaignConfig
from ..campaign.events import Event, Progress
from ..campaign.runner import CampaignRunner
from ..campaign.seeds import Seeds
from ..campaign.triage import Triage
from ..findings.dedup import fails
from ..findings.finding import Finding, id_of
from ..findings.known import Choice
from ..findings.store import Store
from ..probe.shipped import seeds_of
from ..process.local_pool import LocalPool
from ..process.serialize import plain, typed
from ..process.targets import PassStats, Target
from ..user_input.seeds import pieces_of
from . import results
from .options import SETTINGS
from .plan import PLAN, RESULT, SPLIT, Failure, Shard
from .results import Claim, Claims, ItemResult

LEAST = 1.0
"""Seconds for a pass, however little time is left."""

RESERVE = 0.25
"""Share of an item's time that is reserved for confirming and reducing."""

GRACE, MOST_GRACE = 10.0, 60.0
"""Seconds for that at least, and if modules are the budget."""

PATIENCE = 60.0
"""Seconds after that, in which reduced findings still get their reproducers."""


class Clock:
    """Splits the session's time over passes; what one takes too much, the later ones lack.

    Each process of a session has one: each gets an equal part of the work on every pass.
    """

    def __init__(self, total: float | None, passes: int) -> None:
        self._left = total
        self._passes = passes
        self._begun: set[str] = set()

    def share(self, spelling: str) -> float | None:
        """The time for the item that begins; None: unlimited."""
        if self._left is None:
            return None
        self._begun.add(spelling)
        return max(LEAST, self._left / (self._passes - len(self._begun) + 1))

    def spend(self, seconds: float) -> None:
        """Subtract from what is left."""
        if self._left is not None:
            self._left -= seconds

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """The time inside is spent."""
        begin = time.monotonic()
        try:
            yield
        finally:
            self.spend(time.monotonic() - begin)


class Resources:
    """The store, the workers and the time that the items of one process share."""

    def __init__(self, config: pytest.Config) -> None:
        self.settings = config.stash[SETTINGS]
        self.plan = config.stash[PLAN]
        self.clock = Clock(self.settings.seconds, config.stash[SPLIT])
        self.claims = Claims(Path(self.plan.claims))
        with self.clock.running():
            sys.path.append(str(config.rootpath))  # where a repository's own packages are
            self.store = Store(self.settings.out)
            self.pool = LocalPool(1)
            own = pieces_of(self.settings.seeds, self.pool)
            self.seeds = seeds_of(self.pool, Seeds(own, self.settings.seed_share))

    @classmethod
    def of(cls, config: pytest.Config) -> Resources:
        """Those of this process, made for its first item and closed at its end."""
        made = config.stash.get(_RESOURCES, None)
        if made is None:
            made = config.stash[_RESOURCES] = cls(config)
            config.add_cleanup(made.store.close)
            config.add_cleanup(made.pool.close)
        return made


_RESOURCES = pytest.StashKey[Resources]()


def run(item: pytest.Item, shard: Shard, subtests: pytest.Subtests) -> None:
    """The body of an item.

    Raises:
        Failure: relaxfuzz itself failed.
        UserError: the pass can no longer be loaded.
        ExecutorError: the workers cannot be kept alive.
    """
    resources = Resources.of(item.config)
    failed: set[str] = set()

    def report(finding: Finding) -> None:
        row = resources.store.rows.of(finding.id) or finding.id
        claim = Claim(item.nodeid, shard.spelling, row, finding.id)
        if resources.claims.claim(claim) != claim:
            return
        settings = resources.settings
        failed.add(finding.oracle)
        item.user_properties.extend(results.junit_properties(finding, resources.store))
        with subtests.test(finding.oracle):
            if not fails([finding], settings.fail_on):
                pytest.xfail(results.below(finding, settings.fail_on))
            text = results.text(finding, resources.store, claim, resources.claims, settings.seeds)
            raise Failure(text)

    campaign = _ItemCampaign(resources, shard, report)
    try:
        with resources.clock.running():
            campaign.run()
    except Failure:
        return  # -x: the session ends with the last report
    finally:
        item.stash[RESULT] = plain(campaign.item_result())
    for known in campaign.expected.reports:
        with subtests.test(known.name):
            pytest.xfail(results.reason(known))
    for oracle in campaign.asked():
        if oracle not in failed:
            with subtests.test(oracle):
                pass
    campaign.check()


class _Late(Exception):
    """No time is left for what is not confirmed; it stays pending in the store."""


class _ItemCampaign:
    def __init__(
        self, resources: Resources, shard: Shard, report: Callable[[Finding], None]
    ) -> None:
        settings, plan = resources.settings, resources.plan
        self._shard = shard
        self._report = report
        self._target = typed(plan.targets[shard.spelling], Target)
        self.expected = Choice(folders=settings.known).load(versions()["tvm"])
        self._published: queue.SimpleQueue[tuple[Finding, threading.Event]] = queue.SimpleQueue()
        self._late = False
        self._triage = Triage(
            resources.store, resources.pool, self._publish, expected=self.expected
        )
        self._stop = threading.Event()
        self._config = CampaignConfig(
            seed=shard.seed(plan.seed),
            targets=(self._target,),
            seconds=resources.clock.share(shard.spelling),
            modules=None if settings.modules is None else max(1, shard.modules(settings.modules)),
            compositions=False,
            is_known=self.expected.presumes,
            seeds=resources.seeds,
        )
        self._runner = CampaignRunner(
            self._config, resources.pool, self._triage, stop=self._stop, listen=self._listen
        )
        self._finished = False

    def run(self) -> None:
        try:
            if self._shard.number == 0:
                self._triage.take_up({self._target.name})
            self._drain(self._runner.run().seconds)
        except BaseException:
            self._late = True
            with contextlib.suppress(_Late):
                self._triage.drain(0.0, self._tick)
            raise
        self._finished = True

    def check(self) -> None:
        """Raise what ended it early, or went wrong in it.

        Raises:
            ExecutorError, UserError, Failure: see the function `run`.
        """
        self._runner.check()
        if self._runner.unchecked:
            raise Failure("\n\n".join(["relaxfuzz itself failed:", *self._runner.unchecked]))

    def asked(self) -> tuple[str, ...]:
        """The oracles that checked this pass at all."""
        stats = self._stats()
        if not stats.checks:
            return ()
        contract = contract_of(self._target.call or bare_call(self._target.name))
        silent = {exemption.oracle for exemption in contract.exemptions if exemption.when is None}
        silent.update(self._target.exempt)
        structural = (oracle.name for oracle in STRUCTURAL if oracle.name not in silent)
        return (*structural, *sorted(stats.sampled))

    def item_result(self) -> ItemResult:
        done, known = self._runner.done, self._runner.known
        ended = done.ended.get(self._target.label, {})
        return ItemResult(
            spelling=self._shard.spelling,
            ended=time.time(),
            modules=done.modules,
            stats=self._stats(),
            known_reports=sum(n for each, n in ended.items() if id_of(each) in known),
            knowns={bug.name: n for bug, n in self.expected.reports.items()},
            faults=self._runner.unchecked,
            finished=self._finished,
        )

    def _stats(self) -> PassStats:
        return self._runner.done.stats.get(self._target.label, PassStats())

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
        """Hand a bug to the main thread; until that has reported it, it stays pending."""
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
