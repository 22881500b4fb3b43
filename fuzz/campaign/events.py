"""The events of a campaign; its recorder, the terminal and the plugin consume them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from ...oracles.passcall import PassCall
from ...oracles.violation import Mark, Violation
from ..findings.finding import Finding
from ..process.executor import Member
from ..process.protocol import Position
from ..process.targets import Origin, PassStats
from .state import State


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress, a few times a second; counts include blocks under way."""

    seconds: float
    modules: int
    checks: int
    violations: int
    """Duplicates included."""
    distinct: int
    current: tuple[str, ...]
    """The pass, sequence or pipeline that each busy worker checks."""
    members: tuple[Member, ...] = ()
    """The workers of a cluster."""


@dataclass(frozen=True, slots=True)
class Found:
    """A violation that this campaign has not seen before, not confirmed yet."""

    violation: Violation
    module: str
    """TVM JSON of the module that the pass was given."""
    origin: Origin
    """Its recipe names the pieces of the module, each with its edits."""
    calls: tuple[PassCall, ...]
    pipeline: str | None
    ingredients: tuple[str, ...] | None = None
    """Of the module; None where a pass has ended its process."""

    def finding(self, versions: Mapping[str, str], exempt: tuple[str, ...]) -> Finding:
        """The finding that is stored.

        Args:
            exempt: the oracles that the author of the pass has exempted it from.
        """
        return Finding(
            violation=self.violation,
            module=self.module,
            versions=versions,
            calls=self.calls,
            pipeline=self.pipeline,
            seed=self.origin.seed,
            index=self.origin.index,
            stage=str(self.origin.stage),
            recipe=self.origin.recipe,
            exempt=exempt,
            made_of=self.ingredients,
        )


@dataclass(frozen=True, slots=True)
class BlockDone:
    """A block is committed, as are all blocks before it. Its violations have been reported."""

    number: int
    modules: int
    stats: Mapping[str, PassStats]
    """By item of the schedule: a pass, "sequence", or a pipeline."""
    state: State = field(compare=False, repr=False)
    """What a campaign can be resumed from, after the last completed block.

    It belongs to the campaign, and changes when the next event is requested.
    """


@dataclass(frozen=True, slots=True)
class Fault:
    """The harness itself failed, not a pass; the campaign continues after that place."""

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
class Lacks:
    """The installed TVM lacks what relaxfuzz asked of it; a module or a check was left out."""

    reason: str
    """One sentence; the first time that it is met."""


@dataclass(frozen=True, slots=True)
class Finished:
    """The budget is used up, the campaign was stopped, or its workers were lost. The last event."""

    seconds: float
    modules: int
    checks: int
    stats: Mapping[str, PassStats]
    occurrences: Mapping[Mark, int]
    """How often each violation occurred."""
    ended: Mapping[str, Mapping[Mark, int]]
    """The same for the checks of each item of the schedule."""
    stopped: bool
    """Before the budget was used up."""
    known: Mapping[str, int] = field(default_factory=dict)
    """By item of the schedule: the checks that showed a known bug."""


Event: TypeAlias = Progress | Found | BlockDone | Fault | Lacks | Finished
