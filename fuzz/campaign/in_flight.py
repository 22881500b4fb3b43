"""A block of a campaign between its submission and its commit."""

from __future__ import annotations

import dataclasses
from collections import Counter, defaultdict
from dataclasses import dataclass, field

from ..process.block import Block, ModuleDone, Resume, StageDone, Violated
from ..process.protocol import Death, Died, Position, Reply, Result
from ..process.targets import PassStats

DEATHS = 5
"""An item that has killed so many processes of a block is left out of the rest of it; what
takes seconds counts as many; what a process ends itself for costs little."""

_WEIGHTS = {Death.CHANGED: 0} | dict.fromkeys(
    (Death.HANG, Death.OUT_OF_MEMORY, Death.KILLED, Death.PARENT), DEATHS
)


@dataclass(slots=True)
class _Said:
    """Replies, and counts of what they tell, which are looked at much more often."""

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
    """A block, and all that was said about it so far."""

    number: int
    part: Block
    """What runs now: all of it at first, after a death what is left."""
    end: int
    job: int = 0
    position: Position | None = None
    done: bool = False
    _settled: _Said = field(default_factory=_Said)
    """By processes that have ended."""
    _heard: _Said = field(default_factory=_Said)
    """By the one that runs now: void if that has to start again."""

    def hear(self, reply: Reply) -> None:
        """Add what the process that runs now says."""
        self._heard.add(reply)

    def void(self) -> None:
        """Forget what the process that ran has said: its job starts again."""
        self._heard = _Said()

    def settle(self, died: Died) -> None:
        """Keep what the process has said for good, and that it died."""
        for reply in (*self._heard.replies, died):
            self._settled.add(reply)
        self.void()

    @property
    def replies(self) -> list[Reply]:
        """All that counts, in order."""
        return self._settled.replies + self._heard.replies

    @property
    def checks(self) -> int:
        """Told so far."""
        return self._settled.checks + self._heard.checks

    @property
    def violations(self) -> int:
        """Told so far, deaths among them."""
        return self._settled.violations + self._heard.violations

    @property
    def modules(self) -> int:
        """Done so far."""
        return len(self._settled.modules | self._heard.modules)

    def stats(self) -> dict[str, PassStats]:
        """By item of the schedule."""
        stats: dict[str, PassStats] = defaultdict(PassStats)
        for reply in self.replies:
            if isinstance(reply, Result) and isinstance(reply.value, StageDone):
                for name, more in reply.value.stats.items():
                    stats[name] += more
        return stats

    def rest(self, died: Died) -> Block | None:
        """What is left of the block after a death; None where that is nothing."""
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
