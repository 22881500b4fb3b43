"""The campaign of a test that is written by hand: all that it finds is one failure."""

from __future__ import annotations

import dataclasses
import threading
import time
from collections.abc import Iterator, Sequence

from ...generators.tvm_api import versions
from ..campaign.campaign import CampaignConfig
from ..campaign.campaign import run as campaign
from ..campaign.events import Fault, Finished, Found
from ..campaign.triage import Triage
from ..findings.finding import Finding
from ..findings.known import Choice
from ..findings.runs import Run
from ..findings.store import Store
from ..output.failure_text import whole
from ..output.terminal import counted
from ..process.targets import Target
from ..property_tests.pass_violation import pool
from ..user_input.mistake import Mistake
from .failure import near
from .options import Settings

RESERVE = 0.25
"""Share of a time that is kept for what was found, to confirm and reduce it."""

GRACE = 30.0
"""Seconds for that where modules are the budget."""


class Broken(AssertionError):
    """A pass broke promises on generated modules.

    Attributes:
        findings: one for each bug, minimized.
    """

    def __init__(self, text: str, findings: Sequence[Finding]) -> None:
        super().__init__(text)
        self.findings = findings


class Campaign:
    """A campaign on one pass, in the store of the session."""

    def __init__(self, store: Store, target: Target, settings: Settings, seed: int) -> None:
        self._store = store
        self._subject = target
        self._seed = seed
        self._versions = versions()
        self._expected = Choice(folders=settings.known).load(self._versions["tvm"])
        self._told: list[Finding] = []
        self._triage = Triage(store, pool(), self._told.append)
        self._faults: list[str] = []

    def run(
        self, oracles: tuple[str, ...] | None, seconds: float | None, modules: int | None
    ) -> Broken | None:
        """What it found.

        Raises:
            Mistake: no module was one for the pass.
            RuntimeError: relaxfuzz itself failed.
        """
        begun = Run(
            command="pytest",
            started=time.time(),
            seed=self._seed,
            workers=1,
            versions=self._versions,
            passes=(self._subject.label,),
        )
        id = self._store.runs.begin(begun)
        config = CampaignConfig(
            seed=self._seed,
            targets=(self._subject,),
            seconds=None if seconds is None else seconds * (1 - RESERVE),
            modules=modules,
            oracles=oracles,
            compositions=False,
            avoid=self._expected.triggers((self._subject,)),
        )
        finished = self._fuzz(config)
        self._triage.drain(GRACE if seconds is None else seconds * RESERVE, lambda: None)
        self._faults += self._triage.faults
        self._store.runs.save(
            id,
            dataclasses.replace(
                begun,
                seconds=finished.seconds,
                modules=finished.modules,
                checks=finished.checks,
                stats=finished.stats,
                knowns={known.name: n for known, n in self._expected.reports.items()},
                found=tuple(finding.id for finding in self._told),
                faults=tuple(self._faults),
                finished=True,
            ),
        )
        if self._told:
            return Broken(self._text(finished), tuple(self._told))
        if self._faults:
            raise RuntimeError("\n\n".join(["relaxfuzz itself failed:", *self._faults]))
        if not finished.checks:
            raise Mistake(
                f"{self._subject.name} was checked on none of "
                f"{counted(finished.modules, 'module')}: none is one that it applies to"
            )
        return None

    def _fuzz(self, config: CampaignConfig) -> Finished:
        for event in campaign(config, pool(), threading.Event()):
            match event:
                case Found():
                    finding = event.finding(self._versions, self._subject.exempt)
                    if not self._expected.take(finding):
                        self._triage.add(finding)
                case Fault():
                    self._faults.append(event.text)
                case Finished():
                    return event
        raise AssertionError("a campaign ends with Finished")

    def _text(self, finished: Finished) -> str:
        bugs = counted(len(self._told), "bug")
        head = f"{bugs} of {self._subject.name} in {counted(finished.modules, 'module')}"
        texts = (whole(finding, list(self._hints(finding))) for finding in self._told)
        return f"{head}\n\n" + "\n\n\n".join(texts)

    def _hints(self, finding: Finding) -> Iterator[str]:
        path = self._store.reproducer(finding)
        if path is not None:
            yield f"Reproducer:   {near(path)}"
        yield f"See it again: relaxfuzz replay {near(self._store.folder)}/{finding.id}"
