"""The state of a campaign: its counts, and all other inputs of its next blocks.

It is a fold over the committed blocks. Its size depends only on the numbers of passes and distinct
violations, not on the length of the campaign.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from ...oracles.lines import Lines
from ...oracles.violation import Mark
from ..process.targets import PassStats
from .block import Ends, ModuleDone

FAULTS = 100
"""Most distinct harness faults to report, as texts with addresses are all different."""

FIRST = 8
"""Number of the first block that depends on earlier ones."""


def horizon(number: int) -> int:
    """The number of blocks that must be committed before this block can be planned.

    A block depends only on blocks up to about half its number, so any number of workers makes the
    same modules.
    """
    return 0 if number < FIRST else 1 << ((number // 2).bit_length() - 1)


@dataclass(frozen=True, slots=True)
class Past:
    """Counts of a campaign that later blocks depend on."""

    acted: Mapping[str, int] = field(default_factory=dict)
    """Number of checks in which the pass did its actual work, by item of the schedule."""
    ends: Ends = field(default_factory=Ends)


@dataclass(slots=True)
class CampaignState:
    """The fold of the blocks 0, ..., `blocks` - 1 of a campaign."""

    blocks: int = 0
    seconds: float = 0.0
    """Seconds used so far."""
    modules: int = 0
    stats: dict[str, PassStats] = field(default_factory=lambda: defaultdict(PassStats))
    """Counts by item of the schedule."""
    ended: dict[str, Counter[Mark]] = field(default_factory=lambda: defaultdict(Counter))
    """Violations found, per scheduled item."""
    occurrences: Counter[Mark] = field(default_factory=Counter)
    """Violations found, for all scheduled items together."""
    known: set[Mark] = field(default_factory=set)
    """Marks of the violations that are known bugs."""
    known_checks: Counter[str] = field(default_factory=Counter)
    """Number of checks that showed a known bug, by item of the schedule."""
    faults: set[str] = field(default_factory=set)
    """Digests of the faults that were reported."""
    lines: Lines = field(default_factory=lambda: defaultdict(set))
    """Lines of Python files that passes have run; see `LineRecorder`."""
    ways: dict[str, str] = field(default_factory=dict)
    """The last `jobs.behind.Cut.way` for each short mark of a violation."""
    past: dict[int, Past] = field(default_factory=lambda: {0: Past()})
    """Counts after this number of blocks; entries that no later block needs are dropped."""

    @property
    def checks(self) -> int:
        """The number of checks of all items."""
        return sum(stats.checks for stats in self.stats.values())

    def past_of(self, number: int) -> Past:
        """The counts for planning block `number`, which is not committed yet."""
        return self.past[horizon(number)]

    def is_new(self, mark: Mark, item: str) -> bool:
        """Count a violation; return true if it is the first of its kind."""
        self.ended[item][mark] += 1
        self.occurrences[mark] += 1
        return self.occurrences[mark] == 1

    def is_new_fault(self, text: str) -> bool:
        """Return true once for each text, since a fault in an oracle would recur in every check."""
        digest = hashlib.sha256(text.encode()).hexdigest()[:16]
        if digest in self.faults or len(self.faults) == FAULTS:
            return False
        self.faults.add(digest)
        return True

    def see_lines(self, done: Collection[ModuleDone]) -> None:
        """Add the lines of Python files that ran on these modules."""
        for module in done:
            for name, ran in module.lines.items():
                self.lines[name].update(ran)

    def count(self, modules: int, stats: Mapping[str, PassStats]) -> None:
        """Count the checks of a block."""
        self.modules += modules
        for item, more in stats.items():
            self.stats[item] += more

    def commit(self, seconds: float) -> None:
        """Close a block whose violations, modules and checks have been counted."""
        self.blocks += 1
        self.seconds = seconds
        if horizon(2 * self.blocks) == self.blocks:
            acted = {item: done.acted for item, done in self.stats.items()}
            ends = {item: (done.stuck, done.checks) for item, done in self.stats.items()}
            self.past[self.blocks] = Past(acted, Ends(ends, dict(self.ways)))
        for past in [each for each in self.past if each < horizon(self.blocks)]:
            del self.past[past]

    @property
    def lines_ran(self) -> dict[str, tuple[int, ...]]:
        """The lines by file, in order."""
        return {name: tuple(sorted(ran)) for name, ran in self.lines.items()}
