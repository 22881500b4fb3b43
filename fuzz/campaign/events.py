"""The events of a campaign, for its recorder, the terminal and the plugin."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from ..findings.finding import UnconfirmedFinding
from ..process.protocol import Position
from ..process.targets import PassStats
from .state import CampaignState


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress, a few times a second; counts include blocks in progress."""

    seconds: float
    modules: int
    checks: int
    violations: int
    """Count including duplicates."""
    current: tuple[str, ...]
    """The pass, sequence or pipeline being checked by each busy worker."""


@dataclass(frozen=True, slots=True)
class BlockDone:
    """A block and all blocks before it are committed. Its violations have been reported."""

    number: int
    modules: int
    stats: Mapping[str, PassStats]
    """Counts by item of the schedule: a pass, "sequence", or a pipeline."""
    state: CampaignState = field(compare=False, repr=False)
    """State after the last completed block. The campaign owns the object and changes it when the
    next event is requested."""


@dataclass(frozen=True, slots=True)
class HarnessFault:
    """The harness itself failed, not a pass; the campaign continues after that position."""

    text: str
    place: Position | None

    def describe(self, seed: int) -> str:
        """The text, and the position that reproduces it."""
        if self.place is None:
            return self.text
        place = self.place
        what = place.pipeline or ", ".join(map(str, place.calls)) or place.step
        where = f"module {place.index} of seed {seed}, stage {place.stage}, {what}"
        return f"{self.text.rstrip()}\nwhile at {where}"


@dataclass(frozen=True, slots=True)
class Lacks:
    """The installed TVM lacks something that relaxfuzz uses; a module or check was left out."""

    reason: str
    """One sentence, only sent the first time."""


@dataclass(frozen=True, slots=True)
class Finished:
    """The last event: the budget is used up, the campaign was stopped, or its workers were lost."""

    state: CampaignState
    """State after the last block, with the finished parts of the other blocks."""
    stopped: bool
    """True if the campaign ended before the budget was used up."""


Event: TypeAlias = Progress | UnconfirmedFinding | BlockDone | HarnessFault | Lacks | Finished
