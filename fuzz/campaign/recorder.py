"""What a campaign leaves in its folder while it goes on: enough to report it, and to go on with it.

A run is written at the end of a block, with the state of the campaign behind that block, in one
step. What that block found is in the store by then, as pending or done with, so that the death of
any process loses nothing; what comes after it is done again.
"""

from __future__ import annotations

import dataclasses
import json
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from ..findings.finding import Finding, id_of
from ..findings.runs import Run, Runs, Sample, sampled
from ..process.protocol import Identity
from ..process.serialize import parse, plain, typed
from .campaign import CampaignConfig
from .events import Finished
from .state import BadState, State

EVERY = 1.0
"""Seconds between two checkpoints, at least."""

_ASKED = {
    "seed": "the seed",
    "targets": "the passes",
    "seconds": "the time",
    "modules": "the number of modules",
    "oracles": "the oracles",
    "compositions": "whether passes are put together",
    "modules_in_block": "the number of modules in a block",
    "limits": "the limits",
    "versions": "the version of TVM, or of what it stands on",
    "relaxfuzz": "the version of relaxfuzz",
}
"""What has to be the same for a campaign to go on, in words."""


@dataclass(slots=True)
class Begun:
    """A run of a campaign, new or gone on with."""

    config: CampaignConfig
    """The one to use: whoever goes on avoids what was avoided before."""
    recorder: Recorder
    state: State
    """Where the campaign begins."""
    why_new: str | None
    """Why the last run of this command is not gone on with, though it is not finished."""


def begin(runs: Runs, run: Run, config: CampaignConfig, *, resume: bool) -> Begun:
    """Enter a run, or go on with the last one of its command in the folder.

    Args:
        run: what a new one looks like.
        resume: go on, if the last run is not finished, and was asked for the same.
    """
    asked = {
        **{field: plain(getattr(config, field)) for field in _ASKED if hasattr(config, field)},
        "versions": dict(run.versions),
        "relaxfuzz": version("relaxfuzz"),
    }
    asked = json.loads(json.dumps(asked))
    last = runs.unfinished(run.command) if resume else None
    why_new: str | None = None
    if last is not None:
        id, begun, text = last
        try:
            checkpoint = _Checkpoint.of(text)
        except BadState as error:
            why_new = str(error)
        else:
            differ = [
                words for key, words in _ASKED.items() if checkpoint.asked.get(key) != asked[key]
            ]
            if not differ:
                config = dataclasses.replace(config, avoid=checkpoint.avoid)
                recorder = Recorder(runs, id, begun, asked, config.avoid, checkpoint.known)
                return Begun(config, recorder, checkpoint.state, None)
            why_new = f"the last one was asked otherwise: {', '.join(differ)}"
    recorder = Recorder(runs, runs.begin(run), run, asked, config.avoid, frozenset())
    recorder.checkpoint(State())
    return Begun(config, recorder, State(), why_new)


class Recorder:
    """Keeps the run of a campaign written down."""

    def __init__(
        self,
        runs: Runs,
        id: int,
        run: Run,
        asked: Mapping[str, Any],
        avoid: Mapping[str, tuple[str, ...]],
        known: frozenset[str],
    ) -> None:
        self.known = set(known)
        """Ids of what was reported of knowns."""
        self._runs = runs
        self.id = id
        """Of the run."""
        self._run = run
        self._written = run
        """As it was when the state beside it was written; who goes on counts from there."""
        self._asked = asked
        self._avoid = avoid
        self._last = 0.0
        self._lock = threading.Lock()

    @property
    def run(self) -> Run:
        """What the run has done."""
        return self._run

    def told(self, finding: Finding) -> None:
        """The user is about to be told of this bug."""
        with self._lock:
            if finding.id not in self._run.found:
                found = (*self._run.found, finding.id)
                self._run = dataclasses.replace(self._run, found=found)
                self._written = dataclasses.replace(self._written, found=found)
                self._runs.save(self.id, self._written)

    def block(self, state: State, knowns: Mapping[str, int], faults: Sequence[str]) -> None:
        """A block is committed: count it, and write it down if it is time to.

        Args:
            knowns: distinct reports by the name of a known.
            faults: of the harness, so far.
        """
        with self._lock:
            self._run = dataclasses.replace(
                self._so_far(state), knowns=dict(knowns), faults=tuple(faults)
            )
        if time.monotonic() - self._last >= EVERY:
            self.checkpoint(state)

    def checkpoint(self, state: State | None) -> None:
        """Write the run, with what is needed to go on with it; None: it has ended."""
        text = None
        if state is not None:
            known = frozenset(self.known)
            text = _Checkpoint(self._asked, self._avoid, known, state).text()
        with self._lock:
            self._written = self._run
            self._runs.checkpoint(self.id, self._run, text)
        self._last = time.monotonic()

    def end(
        self, finished: Finished, left: State | None, fixed: Sequence[str], faults: Sequence[str]
    ) -> None:
        """The campaign is over, with what was done of its last blocks.

        Args:
            left: it was interrupted, and may go on from here.
            fixed: names of knowns that do not fail any more.
        """
        with self._lock:
            self._run = dataclasses.replace(
                self._so_far(finished),
                fixed=tuple(fixed),
                faults=tuple(faults),
                finished=left is None,
            )
        self.checkpoint(left)

    def _so_far(self, done: State | Finished) -> Run:
        findings = sum(id_of(each) not in self.known for each in done.occurrences)
        sample = Sample(done.seconds, done.modules, done.checks, findings)
        return dataclasses.replace(
            self._run,
            seconds=done.seconds,
            modules=done.modules,
            checks=done.checks,
            stats=dict(done.stats),
            known_reports=self._known_reports(done.ended),
            samples=sampled(self._run.samples, sample),
        )

    def _known_reports(self, ended: Mapping[str, Mapping[Identity, int]]) -> dict[str, int]:
        counts = {
            item: sum(n for each, n in of.items() if id_of(each) in self.known)
            for item, of in ended.items()
        }
        return {item: count for item, count in counts.items() if count}


@dataclass(frozen=True, slots=True)
class _Checkpoint:
    """What stands beside a run that can go on."""

    asked: Mapping[str, Any]
    """What was asked for, as JSON values: another campaign does not go on from here."""
    avoid: Mapping[str, tuple[str, ...]]
    known: frozenset[str]
    """Ids of violations that were known."""
    state: State

    def text(self) -> str:
        asked = json.dumps([self.asked, plain(self.avoid), sorted(self.known)])
        return f"{asked}\n{self.state.to_json()}"

    @classmethod
    def of(cls, text: str) -> _Checkpoint:
        """
        Raises:
            BadState: it was written by another version of relaxfuzz.
        """
        head, _, state = text.partition("\n")
        try:
            asked, avoid, known = parse(head)
            read = cls(
                typed(asked, Mapping[str, Any]),
                typed(avoid, Mapping[str, tuple[str, ...]]),
                frozenset(typed(known, tuple[str, ...])),
                State(),
            )
        except (ValueError, TypeError) as error:
            raise BadState("what was written of it cannot be read") from error
        return dataclasses.replace(read, state=State.from_json(state))
