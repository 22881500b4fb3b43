"""A block of a campaign between its submission and its commit."""

from __future__ import annotations

import dataclasses
from collections import Counter, defaultdict
from dataclasses import dataclass, field

from ..process.block import Block, ModuleDone, Resume, StageDone, Violated
from ..process.protocol import Death, Died, Position, Reply, Result
from ..process.targets import PassStats

DEATHS = 5
"""An item that has killed so many processes of a block is left out of the rest of it. A death that
takes seconds counts as many, one that costs little as none."""

_WEIGHTS = {Death.CHANGED: 0} | dict.fromkeys(
    (Death.HANG, Death.OUT_OF_MEMORY, Death.KILLED, Death.PARENT), DEATHS
)


@dataclass(slots=True)
class InFlight:
    """A block, and all replies to it so far."""

    number: int
    part: Block
    """The block that runs now: all of it at first, after a death the rest."""
    end: int
    job: int = 0
    position: Position | None = None
    done: bool = False
    replies: list[Reply] = field(default_factory=list)
    """All that count, in order."""
    checks: int = 0
    violations: int = 0
    """Deaths included."""
    indices: set[int] = field(default_factory=set)
    """Of the modules that are done."""
    _settled: int = 0
    """So many replies are of processes that have ended."""

    @property
    def modules(self) -> int:
        """Done so far."""
        return len(self.indices)

    def add(self, reply: Reply) -> None:
        """Add a reply of the process that runs now."""
        self.replies.append(reply)
        match reply:
            case Result(value=StageDone() as done):
                self.checks += done.checks
            case Result(value=Violated()) | Died():
                self.violations += 1
            case Result(value=ModuleDone(index=index)):
                self.indices.add(index)

    def discard(self) -> None:
        """Drop the replies of the process that ran: its job starts again."""
        settled = self.replies[: self._settled]
        self.replies, self.checks, self.violations, self.indices = [], 0, 0, set()
        for reply in settled:
            self.add(reply)

    def settle(self, died: Died) -> None:
        """Keep the replies of the process for good, and that it died."""
        self.add(died)
        self._settled = len(self.replies)

    def stats(self) -> dict[str, PassStats]:
        """By item of the schedule."""
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
        # It was running a check; not making a module, or asking whether a pass applies.
        if position.ordinal >= 0 and not position.step.startswith("requires "):
            start, resume = position.index, Resume(position.stage, position.ordinal + 1)
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
            checked={name: each.checks for name, each in stats.items()},
            visited={
                name: each.checks + each.inapplicable + each.avoided for name, each in stats.items()
            },
            resume=resume,
            banned=tuple(name for name, count in deaths.items() if count >= DEATHS),
        )
