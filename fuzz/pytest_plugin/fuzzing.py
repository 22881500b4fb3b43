"""One item at work: a campaign on one pass, its findings told as subtests while it goes on."""

from __future__ import annotations

import contextlib
import hashlib
import math
import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest

from ...corpus.knowns import Known
from ...oracles.composition import contract_of
from ...oracles.passcall import PassCall
from ...oracles.tiers import STRUCTURAL
from ..campaign.campaign import CampaignConfig
from ..campaign.campaign import run as campaign
from ..campaign.events import BlockDone, Fault, Finished, Found, Progress
from ..campaign.triage import Triage
from ..findings.finding import Finding
from ..findings.known import Choice
from ..process.protocol import Identity, identity
from ..process.targets import PassStats, Target
from . import failure
from .items import Campaign, Shard, Told
from .parts import Part
from .workplace import Workplace

RESERVE = 0.25
"""Share of an item's time that is kept for findings that wait to be confirmed and reduced."""

GRACE, MOST_GRACE = 10.0, 60.0
"""Seconds that they get at least, and where modules are the budget."""

PATIENCE = 60.0
"""Seconds after that in which what was reduced is still made into reproducers."""

EVERY = 1.0
"""Seconds between two times that an item writes down how far it is."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a campaign."""

    asked: tuple[str, ...]
    """The oracles, in their order."""
    knowns: tuple[Known, ...]
    """Those that were met."""
    faults: tuple[str, ...]
    """What relaxfuzz itself did wrong."""


def run(item: Campaign, subtests: pytest.Subtests) -> None:
    """The body of an item.

    Raises:
        Told: relaxfuzz itself failed.
    """
    place = Workplace.of(item.config)
    broken: set[str] = set()

    def tell(finding: Finding) -> None:
        row = place.store.rows.of(finding.id) or finding.id
        if place.parts.claim(row, item.shard.spelling, item.nodeid) != item.nodeid:
            return
        broken.add(finding.oracle)
        for name, value in failure.properties(finding, place.store):
            item.user_properties.append((name, value))
        others = place.parts.others(row, item.nodeid)
        with subtests.test(finding.oracle):
            raise Told(failure.text(finding, place.store, item.shard, row, others))

    try:
        with place.clock.running():
            outcome = _Fuzzing(place, item, tell).run()
    except Told:
        return  # -x: the session ends with what was told last
    for known in outcome.knowns:
        with subtests.test(known.name):
            pytest.xfail(failure.reason(known))
    for oracle in outcome.asked:
        if oracle not in broken:
            with subtests.test(oracle):
                pass
    if outcome.faults:
        raise Told("\n\n".join(["relaxfuzz itself failed:", *outcome.faults]))


class _Late(Exception):
    """There is no more time for what is still to be confirmed."""


class _Fuzzing:
    def __init__(self, place: Workplace, item: Campaign, tell: Callable[[Finding], None]) -> None:
        settings, shard = place.settings, item.shard
        self._place = place
        self._tell = tell
        self._subject = place.plan.target(shard.spelling)
        self._expected = Choice(folders=settings.known).load(place.versions["tvm"])
        self._config = CampaignConfig(
            seed=seed_of(place.plan.seed, shard),
            targets=(self._subject,),
            seconds=place.clock.share(shard.spelling),
            modules=None if settings.modules is None else max(1, part_of(settings.modules, shard)),
            compositions=False,
            avoid=self._expected.triggers((self._subject,)),
        )
        self._part = Part(item=item.nodeid, spelling=shard.spelling, number=shard.number)
        self._told: queue.SimpleQueue[Finding] = queue.SimpleQueue()
        self._stop = threading.Event()
        self._faults: list[str] = []
        self._known: set[Identity] = set()
        self._waiting: dict[str, None] = {}
        """Ids of findings that were not told."""
        self._written = 0.0
        self._triage = Triage(place.store, place.pool, self._told.put)

    def run(self) -> Outcome:
        try:
            if self._part.number == 0:
                self._take_up()
            finished = self._campaign()
            self._drain(finished.seconds)
        except BaseException:
            self._abandon()
            raise
        finally:
            self._write(force=True)
        self._faults += self._triage.faults
        ended = finished.ended.get(self._subject.label, {})
        known_reports = sum(n for each, n in ended.items() if each in self._known)
        stats = finished.stats.get(self._subject.label, PassStats())
        self._part = replace(
            self._part,
            modules=finished.modules,
            stats=stats,
            known_reports=known_reports,
            finished=True,
        )
        self._write(force=True)
        knowns = tuple(self._expected.reports)
        return Outcome(_asked(self._subject, stats), knowns, tuple(self._faults))

    def _campaign(self) -> Finished:
        events = campaign(self._config, self._place.pool, self._stop)
        seconds = self._config.seconds or math.inf
        with contextlib.closing(events):
            for event in events:
                match event:
                    case Found():
                        self._take(event)
                    case BlockDone():
                        stats = event.stats.get(self._subject.label, PassStats())
                        self._part = replace(
                            self._part,
                            modules=self._part.modules + event.modules,
                            stats=self._part.stats + stats,
                        )
                    case Progress():
                        self._part = replace(self._part, seconds=event.seconds)
                        if self._triage.pending and event.seconds > (1 - RESERVE) * seconds:
                            self._stop.set()
                    case Fault():
                        self._faults.append(event.text)
                    case Finished():
                        self._part = replace(self._part, seconds=event.seconds)
                        return event
                self._tell_all()
                self._write()
        raise AssertionError("a campaign ends with Finished")

    def _take(self, found: Found) -> None:
        finding = found.finding(self._place.versions, self._subject.exempt)
        if self._expected.take(finding):
            self._known.add(identity(found.violation))
        else:
            self._confirm(finding)

    def _take_up(self) -> None:
        """Go on with what former sessions found of this pass, and had no time for."""
        store, tvm = self._place.store, self._place.versions["tvm"]
        for finding in store.pending():
            if finding.pass_name == self._subject.name and finding.versions["tvm"] == tvm:
                if self._expected.of(finding):  # since then
                    store.settle(finding.id)
                else:
                    self._confirm(finding)

    def _confirm(self, finding: Finding) -> None:
        self._waiting[finding.id] = None
        self._triage.add(finding)

    def _drain(self, spent: float) -> None:
        total = self._config.seconds
        seconds = MOST_GRACE if total is None else max(GRACE, total - spent)
        late = time.monotonic() + seconds + PATIENCE

        def tick() -> None:
            self._tell_all()
            self._write()
            if time.monotonic() > late:
                raise _Late

        with contextlib.suppress(_Late):
            self._triage.drain(seconds, tick)
        self._tell_all()

    def _abandon(self) -> None:
        """End the triage's threads at once; what they have not confirmed stays in the store."""

        def tick() -> None:
            raise _Late

        with contextlib.suppress(_Late):
            self._triage.drain(0.0, tick)

    def _tell_all(self) -> None:
        with contextlib.suppress(queue.Empty):
            while True:
                finding = self._told.get_nowait()
                self._waiting.pop(finding.id, None)
                self._tell(finding)

    def _write(self, *, force: bool = False) -> None:
        now = time.monotonic()
        if not force and now - self._written < EVERY:
            return
        self._written = now
        self._part = replace(
            self._part,
            ended=time.time(),
            found=tuple({finding.id: None for finding in self._triage.published}),
            waiting=tuple(self._waiting),
            knowns={known.name: n for known, n in self._expected.reports.items()},
            unconfirmed=len(self._triage.unconfirmed),
            faults=tuple(self._faults),
        )
        self._place.parts.write(self._part)


def seed_of(seed: int, shard: Shard) -> int:
    """The seed of a shard; the first has the session's, so that a single one is as `run` has it."""
    if shard.number == 0:
        return seed
    return int.from_bytes(hashlib.sha256(f"{seed}/{shard.number}".encode()).digest()[:4]) >> 1


def part_of(modules: int, shard: Shard) -> int:
    """The modules of a shard; all shards together have all."""
    return modules * (shard.number + 1) // shard.count - modules * shard.number // shard.count


def _asked(target: Target, stats: PassStats) -> tuple[str, ...]:
    """The oracles that looked at this pass at all."""
    if not stats.checks:
        return ()
    contract = contract_of(target.call or PassCall(f"{target.name}()"))
    silent = {exemption.oracle for exemption in contract.exemptions if exemption.when is None}
    silent.update(target.exempt)
    structural = (oracle.name for oracle in STRUCTURAL if oracle.name not in silent)
    return (*structural, *sorted(stats.sampled))
