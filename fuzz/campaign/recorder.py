"""The record of a campaign in its store while it runs: enough to report it, and to resume it.

A run is written after a block, with the state of the campaign after that block, in one transaction.
What the block found is in the store by then, as pending or finished, so that the death of any
process loses nothing; the blocks after it are repeated.
"""

from __future__ import annotations

import dataclasses
import json
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any

from ...oracles.violation import Mark
from ..findings.finding import Finding, id_of
from ..findings.runs import Run, Runs, Sample, sampled
from ..process.serialize import parse, plain, typed
from .campaign import CampaignConfig
from .events import Finished
from .seeds import changed_sources, digests
from .state import BadState, State

EVERY = 1.0
"""Seconds between two checkpoints, at least."""

_SETTINGS = {
    "seed": "the seed",
    "targets": "the passes",
    "seconds": "the time budget",
    "modules": "the number of modules",
    "oracles": "the oracles",
    "compositions": "whether sequences of passes are fuzzed",
    "modules_in_block": "the number of modules in a block",
    "limits": "the limits",
    "seed_shares": "the shares of the seeds",
    "versions": "the version of TVM or of a library it uses",
    "relaxfuzz": "the version of relaxfuzz",
}
"""By field, what must be the same for a campaign to be resumed, in words."""

SEEDS = "seeds"
"""The setting that has the digest of each source of pieces: it must be the same, too."""


def begin(runs: Runs, run: Run, config: CampaignConfig, *, resume: bool) -> Recorder:
    """Begin a run, or resume the last one of its command in the store.

    Args:
        run: the new one.
        resume: resume the last run if it is unfinished and was started with the same settings.
    """
    settings = {
        **{field: plain(getattr(config, field)) for field in _SETTINGS if hasattr(config, field)},
        "versions": dict(run.versions),
        "relaxfuzz": version("relaxfuzz"),
        "seed_shares": [each.share for each in config.seeds],
        SEEDS: digests(config.seeds),
    }
    settings = json.loads(json.dumps(settings))
    last = runs.unfinished(run.command) if resume else None
    why_new: str | None = None
    if last is not None:
        id, begun, text = last
        try:
            checkpoint = _Checkpoint.of(text)
        except BadState as error:
            why_new = str(error)
        else:
            before = checkpoint.settings
            differ = [words for key, words in _SETTINGS.items() if before.get(key) != settings[key]]
            differ += changed_sources(before.get(SEEDS, {}), settings[SEEDS])
            if not differ:
                return Recorder(
                    runs=runs,
                    id=id,
                    run=begun,
                    settings=settings,
                    config=config,
                    state=checkpoint.state,
                    known=set(checkpoint.known),
                )
            why_new = f"the last one had other settings: {', '.join(differ)}"
    recorder = Recorder(
        runs=runs, id=runs.begin(run), run=run, settings=settings, config=config, why_new=why_new
    )
    recorder.checkpoint(recorder.state)
    return recorder


@dataclass(kw_only=True)
class Recorder:
    """Writes the run of a campaign, new or resumed, to the store."""

    runs: Runs
    id: int
    """Of the run."""
    run: Run
    """What the run has done."""
    settings: Mapping[str, Any]
    config: CampaignConfig
    state: State = field(default_factory=State)
    """Where the campaign starts."""
    known: set[str] = field(default_factory=set)
    """Ids of the violations that are known bugs."""
    why_new: str | None = None
    """Why the last run of this command is not resumed though it is unfinished."""

    def __post_init__(self) -> None:
        self._written = self.run
        """As it was when its state was written: a resumed run counts from there."""
        self._last = 0.0
        self._lock = threading.Lock()

    def found(self, finding: Finding) -> None:
        """A bug is about to be reported to the user."""
        with self._lock:
            if finding.id not in self.run.found:
                found = (*self.run.found, finding.id)
                self.run = dataclasses.replace(self.run, found=found)
                self._written = dataclasses.replace(self._written, found=found)
                self.runs.save(self.id, self._written)

    def lacks(self, reason: str) -> None:
        """The installed TVM lacks something."""
        with self._lock:
            if reason not in self.run.lacking:
                self.run = dataclasses.replace(self.run, lacking=(*self.run.lacking, reason))

    def block(self, state: State, knowns: Mapping[str, int], faults: Sequence[str]) -> None:
        """A block is committed: count it, and write a checkpoint if one is due.

        Args:
            knowns: distinct reports by the name of a known bug.
            faults: of the harness, so far, for which a check could not be made.
        """
        with self._lock:
            self.run = dataclasses.replace(
                self._so_far(state), knowns=dict(knowns), faults=tuple(faults)
            )
        if time.monotonic() - self._last >= EVERY:
            self.checkpoint(state)

    def checkpoint(self, state: State | None) -> None:
        """Write the run with the state to resume it from; None: it has ended."""
        text = None
        if state is not None:
            known = frozenset(self.known)
            text = _Checkpoint(self.settings, known, state).text()
        with self._lock:
            self._written = self.run
            self.runs.checkpoint(self.id, self.run, text)
        self._last = time.monotonic()

    def end(
        self,
        finished: Finished,
        left: State | None,
        fixed: Sequence[str],
        faults: Sequence[str],
        unchanged: Sequence[str] = (),
    ) -> None:
        """The campaign is over; `finished` includes what was done of its last blocks.

        Args:
            left: it was interrupted, and can be resumed from here.
            fixed: names of known bugs that no longer fail.
            unchanged: sentences on passes that changed nothing.
        """
        with self._lock:
            self.run = dataclasses.replace(
                self._so_far(finished),
                fixed=tuple(fixed),
                faults=tuple(faults),
                unchanged=tuple(unchanged),
                finished=left is None,
            )
        self.checkpoint(left)

    def _so_far(self, done: State | Finished) -> Run:
        findings = sum(id_of(each) not in self.known for each in done.occurrences)
        sample = Sample(done.seconds, done.modules, done.checks, findings)
        return dataclasses.replace(
            self.run,
            seconds=done.seconds,
            modules=done.modules,
            checks=done.checks,
            stats=dict(done.stats),
            known_reports=self._known_reports(done.ended),
            samples=sampled(self.run.samples, sample),
        )

    def _known_reports(self, ended: Mapping[str, Mapping[Mark, int]]) -> dict[str, int]:
        counts = {
            item: sum(n for each, n in of.items() if id_of(each) in self.known)
            for item, of in ended.items()
        }
        return {item: count for item, count in counts.items() if count}


@dataclass(frozen=True, slots=True)
class _Checkpoint:
    """What is stored with a run that can be resumed."""

    settings: Mapping[str, Any]
    """As JSON values: a campaign with other settings is not resumed from here."""
    known: frozenset[str]
    """Ids of the violations that are known bugs."""
    state: State

    def text(self) -> str:
        head = json.dumps([self.settings, sorted(self.known)])
        return f"{head}\n{self.state.to_json()}"

    @classmethod
    def of(cls, text: str) -> _Checkpoint:
        """
        Raises:
            BadState: it was written by another version of relaxfuzz.
        """
        head, _, state = text.partition("\n")
        try:
            settings, known = parse(head)
            read = cls(
                typed(settings, Mapping[str, Any]),
                frozenset(typed(known, tuple[str, ...])),
                State(),
            )
        except (ValueError, TypeError) as error:
            raise BadState("its checkpoint cannot be read") from error
        return dataclasses.replace(read, state=State.from_json(state))
