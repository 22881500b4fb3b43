"""A block of a campaign between its submission and its commit."""

from __future__ import annotations

import dataclasses
from collections import Counter, defaultdict
from dataclasses import dataclass, field

from ..findings.finding import UnconfirmedFinding
from ..process.protocol import Death, Died, Position, Reply, Result
from ..process.targets import PassStats
from .block import CUTTING, Block, ModuleDone, Rest, Resume, StageDone

DEATHS = 5
"""Deaths after which an item is left out of the rest of a block. A death that takes seconds counts
as this many; a cheap one counts as none."""

_WEIGHTS = {Death.CHANGED: 0} | dict.fromkeys(
    (Death.HANG, Death.OUT_OF_MEMORY, Death.PROCESSES, Death.KILLED, Death.PARENT), DEATHS
)


@dataclass(slots=True)
class InFlight:
    """A block, and all replies about it so far."""

    number: int
    part: Block
    """The part of the block that is running: all of it at first, the rest after a death."""
    end: int
    job: int = 0
    position: Position | None = None
    done: bool = False
    replies: list[Reply] = field(default_factory=list)
    """All valid replies, in order."""
    checks: int = 0
    violations: int = 0
    """Number of violations, including deaths."""
    indices: set[int] = field(default_factory=set)
    """Indices of the finished modules."""
    _settled: int = 0
    """Number of replies from processes that have ended."""

    @property
    def modules(self) -> int:
        """Number of modules finished so far."""
        return len(self.indices)

    def add(self, reply: Reply) -> None:
        """Add a reply of the current process."""
        self.replies.append(reply)
        match reply:
            case Result(value=StageDone() as done):
                self.checks += done.checks
            case Result(value=UnconfirmedFinding()) | Died():
                self.violations += 1
            case Result(value=ModuleDone(index=index)):
                self.indices.add(index)

    def discard(self) -> None:
        """Drop the replies of the current process, since its job starts again."""
        settled = self.replies[: self._settled]
        self.replies, self.checks, self.violations, self.indices = [], 0, 0, set()
        for reply in settled:
            self.add(reply)

    def settle(self, died: Died) -> None:
        """Keep the replies of the process permanently, and record its death."""
        self.add(died)
        self._settled = len(self.replies)

    def stats(self) -> dict[str, PassStats]:
        """Counts by item of the schedule."""
        stats: dict[str, PassStats] = defaultdict(PassStats)
        for reply in self.replies:
            if isinstance(reply, Result) and isinstance(reply.value, StageDone):
                for name, more in reply.value.stats.items():
                    stats[name] += more
        return stats

    def rest(self, died: Died) -> Block | None:
        """The rest of the block after a death; None if nothing is left."""
        position = died.position
        if position is None:
            return None
        resume = None
        start = position.index + 1
        careful = False
        # It was running a check, not making a module or testing if a pass applies.
        if position.ordinal >= 0 and not position.step.startswith("requires "):
            careful = position.step == CUTTING and not self.part.rest.careful
            ordinal = position.ordinal if careful else position.ordinal + 1
            start, resume = position.index, Resume(position.stage, ordinal)
        if start == self.end:
            return None
        deaths: Counter[str] = Counter()
        for reply in self.replies[: self._settled]:
            if isinstance(reply, Died) and reply.position is not None:
                deaths[reply.position.item] += _WEIGHTS.get(reply.death, 1)
        stats = self.stats()
        return dataclasses.replace(
            self.part,
            start=start,
            count=self.end - start,
            rest=Rest(
                resume=resume,
                careful=careful,
                checked={name: each.checks for name, each in stats.items()},
                visited={n: each.checks + each.inapplicable for n, each in stats.items()},
                stuck={name: each.stuck for name, each in stats.items()},
                banned=tuple(name for name, count in deaths.items() if count >= DEATHS),
            ),
        )
