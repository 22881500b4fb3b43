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
class _Replies:
    """Replies, and their counts, which are read much more often."""

    replies: list[Reply] = field(default_factory=list)
    checks: int = 0
    violations: int = 0
    modules: set[int] = field(default_factory=set)

    def add(self, reply: Reply) -> None:
        self.replies.append(reply)
        match reply:
            case Result(value=StageDone() as done):
                self.checks += done.checks
            case Result(value=Violated()) | Died():
                self.violations += 1
            case Result(value=ModuleDone(index=index)):
                self.modules.add(index)


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
    _settled: _Replies = field(default_factory=_Replies)
    """Of processes that have ended."""
    _current: _Replies = field(default_factory=_Replies)
    """Of the one that runs now: discarded if its job starts again."""

    def add(self, reply: Reply) -> None:
        """Add a reply of the process that runs now."""
        self._current.add(reply)

    def discard(self) -> None:
        """Drop the replies of the process that ran: its job starts again."""
        self._current = _Replies()

    def settle(self, died: Died) -> None:
        """Keep the replies of the process for good, and that it died."""
        for reply in (*self._current.replies, died):
            self._settled.add(reply)
        self.discard()

    @property
    def replies(self) -> list[Reply]:
        """All replies that count, in order."""
        return self._settled.replies + self._current.replies

    @property
    def checks(self) -> int:
        """Reported so far."""
        return self._settled.checks + self._current.checks

    @property
    def violations(self) -> int:
        """Reported so far, deaths included."""
        return self._settled.violations + self._current.violations

    @property
    def modules(self) -> int:
        """Done so far."""
        return len(self._settled.modules | self._current.modules)

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
        if _checking(position):
            start, resume = position.index, Resume(position.stage, position.ordinal + 1)
        if start == self.end:
            return None
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
            banned=self._banned(),
        )

    def _banned(self) -> tuple[str, ...]:
        deaths: Counter[str] = Counter()
        for reply in self._settled.replies:
            if isinstance(reply, Died) and reply.position is not None:
                deaths[reply.position.item] += _WEIGHTS.get(reply.death, 1)
        return tuple(name for name, count in deaths.items() if count >= DEATHS)


def _checking(position: Position) -> bool:
    """The child was running a check; not making a module, or asking whether a pass applies."""
    return position.ordinal >= 0 and not position.step.startswith("requires ")
