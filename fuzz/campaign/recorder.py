"""The record of a campaign in its store while it runs, so that a killed process leaves its work."""

from __future__ import annotations

import dataclasses
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ...oracles.violation import Mark
from ..findings.finding import Finding, id_of
from ..findings.runs import Run, Runs
from .state import CampaignState

EVERY = 1.0
"""Least number of seconds between two writes of the counts."""


@dataclass(kw_only=True)
class Recorder:
    """Writes the run of a campaign to the store."""

    runs: Runs
    run: Run
    """Work of the run so far."""
    continued: int | None = None
    """Id of an interrupted run; its reported bugs count as found by this one."""
    known: set[str] = field(default_factory=set)
    """Ids of the violations that are known bugs."""

    def __post_init__(self) -> None:
        before = None if self.continued is None else self.runs.all().get(self.continued)
        if before is not None:
            self.run = dataclasses.replace(self.run, found=before.found)
        self.id = self.runs.begin(self.run, self.continued)
        self._last = 0.0
        self._lock = threading.Lock()

    def found(self, finding: Finding) -> None:
        """Note that a bug is about to be reported to the user."""
        with self._lock:
            if finding.id not in self.run.found:
                self._write(found=(*self.run.found, finding.id))

    def lacks(self, reason: str) -> None:
        """Note something that the installed TVM lacks."""
        with self._lock:
            if reason not in self.run.lacking:
                self.run = dataclasses.replace(self.run, lacking=(*self.run.lacking, reason))

    def block(self, state: CampaignState, knowns: Mapping[str, int], faults: Sequence[str]) -> None:
        """Count a committed block, and write the counts if that is due.

        Args:
            knowns: distinct reports by the name of a known bug.
            faults: faults of the harness so far that prevented a check.
        """
        with self._lock:
            self._count(state)
            self.run = dataclasses.replace(self.run, knowns=dict(knowns), faults=tuple(faults))
            if time.monotonic() - self._last >= EVERY:
                self._write()

    def end(
        self,
        state: CampaignState,
        faults: Sequence[str],
        unchanged: Sequence[str] = (),
        *,
        interrupted: bool = False,
    ) -> None:
        """Record the end of the campaign.

        Args:
            state: includes the work of its last blocks.
            unchanged: sentences on passes that changed nothing.
            interrupted: the campaign did not run to its end.
        """
        with self._lock:
            self._count(state)
            self._write(
                faults=tuple(faults),
                unchanged=tuple(unchanged),
                finished=not interrupted,
            )

    def _write(self, **changes: object) -> None:
        self.run = dataclasses.replace(self.run, **changes)  # type: ignore[arg-type]  # its fields
        self.runs.save(self.id, self.run)
        self._last = time.monotonic()

    def _count(self, done: CampaignState) -> None:
        self.run = dataclasses.replace(
            self.run,
            seconds=done.seconds,
            modules=done.modules,
            checks=done.checks,
            stats=dict(done.stats),
            lines=done.lines_ran,
            known_reports=self._known_reports(done.ended),
        )

    def _known_reports(self, ended: Mapping[str, Mapping[Mark, int]]) -> dict[str, int]:
        counts = {
            item: sum(n for each, n in of.items() if id_of(each) in self.known)
            for item, of in ended.items()
        }
        return {item: count for item, count in counts.items() if count}
