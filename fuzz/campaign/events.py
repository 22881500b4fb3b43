"""What a campaign tells of itself; terminal, JSON lines and reports are consumers of these."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from ...oracles.passcall import PassCall
from ...oracles.violation import Violation
from ..findings.finding import Finding
from ..process.executor import Member
from ..process.protocol import Identity, Position
from ..process.targets import Origin, PassStats
from .state import State


@dataclass(frozen=True, slots=True)
class Started:
    """The workers are there."""

    seed: int
    workers: int
    passes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Progress:
    """A sign of life, a few times a second; counts include blocks under way."""

    seconds: float
    modules: int
    checks: int
    violations: int
    """Duplicates included."""
    distinct: int
    current: tuple[str, ...]
    """The pass (or "sequence", or pipeline) that each busy worker is at."""
    members: tuple[Member, ...] = ()
    """The workers of a cluster."""


@dataclass(frozen=True, slots=True)
class Found:
    """A violation with an oracle, pass and key that this campaign has not seen before.

    Not confirmed yet: it may be run again through the executor that the campaign uses.
    """

    violation: Violation
    module: str
    """TVM JSON of the module that the pass was given."""
    origin: Origin
    calls: tuple[PassCall, ...]
    pipeline: str | None

    def finding(self, versions: Mapping[str, str], exempt: tuple[str, ...]) -> Finding:
        """The value that is stored and seen again.

        Args:
            exempt: promises that the author of the pass said it does not make.
        """
        return Finding.of(
            self.violation,
            module=self.module,
            versions=versions,
            calls=self.calls,
            pipeline=self.pipeline,
            origin=self.origin,
            exempt=exempt,
        )


@dataclass(frozen=True, slots=True)
class BlockDone:
    """A block is committed: all blocks before it are, too. What was found in it has been told."""

    number: int
    modules: int
    stats: Mapping[str, PassStats]
    """By item of the schedule: a pass, "sequence", or a pipeline."""
    state: State = field(compare=False, repr=False)
    """What a campaign can go on from, behind the last block that was done to its end.

    It is the campaign's own: it changes when the next event is asked for.
    """


@dataclass(frozen=True, slots=True)
class Fault:
    """The harness itself failed (never a pass); the campaign goes on behind that place."""

    text: str
    place: Position | None

    def describe(self, seed: int) -> str:
        """The text, and what reproduces it."""
        if self.place is None:
            return self.text
        place = self.place
        what = place.pipeline or ", ".join(map(str, place.calls)) or place.step
        where = f"module {place.index} of seed {seed}, stage {place.stage}, {what}"
        return f"{self.text.rstrip()}\nwhile at {where}"


@dataclass(frozen=True, slots=True)
class Finished:
    """The budget is used up, or the campaign was stopped, or its workers were lost. Always the last
    event."""

    seconds: float
    modules: int
    checks: int
    stats: Mapping[str, PassStats]
    occurrences: Mapping[Identity, int]
    """How often each violation came."""
    ended: Mapping[str, Mapping[Identity, int]]
    """The same for the checks of each item of the schedule."""
    stopped: bool
    """Before the budget was used up."""


Event: TypeAlias = Started | Progress | Found | BlockDone | Fault | Finished
