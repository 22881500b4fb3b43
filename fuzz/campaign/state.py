"""The state of a campaign: all that its next blocks depend on, and its counts.

It is a fold over the committed blocks. Its size depends on the numbers of passes, operators, pieces
of seeds and distinct violations alone, not on how long the campaign has run.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from ...oracles.violation import Mark
from ..process.block import ModuleDone
from ..process.serialize import counted, parse, plain, typed
from ..process.targets import PassStats, Recipe
from . import plateau, steering
from .focus import Learned, horizon
from .seeds import LEAST, MOST, Worth, weights

FORMAT = 7
"""Of the JSON; another one is refused."""

FAULTS = 100
"""At most so many distinct faults of the harness are reported: texts with addresses all differ."""


LEAST_YIELD = 1e-15
"""The yield of an item that found nothing in more checks than a campaign can make."""

GENERATED = Recipe()
"""Modules without anything real."""

_Pair = tuple[int, int]
"""The number of a mark, and how often it came."""

_Pattern = tuple[int, tuple[str, ...]]
"""The number of a mark, and the features in common."""


class BadState(ValueError):
    """The text is no state of a campaign, or was written by another version of relaxfuzz."""


@dataclass(frozen=True, slots=True)
class Guide:
    """What blocks are planned by: a fold over the blocks up to a horizon."""

    surest: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By pass: the operators that matter to it."""
    yields: Mapping[str, float] = field(default_factory=dict)
    """By item of the schedule: the yield of its checks, see `plateau`."""
    changed: Mapping[str, int] = field(default_factory=dict)
    """By item of the schedule: the checks in which the pass changed the module."""
    pieces: Mapping[str, float] = field(default_factory=dict)
    """By digest of a piece: how often it is picked, as a multiple of the usual."""
    edits: Mapping[str, float] = field(default_factory=dict)
    """The same by kind of edit."""
    hidden: tuple[str, ...] = ()
    """The items of the schedule of which known bugs hide too much, see `steering`."""
    patterns: Mapping[str, tuple[tuple[str, ...], ...]] = field(default_factory=dict)
    """By item of the schedule: what the modules have in common that show its known bugs."""
    chances: Mapping[str, float] = field(default_factory=dict)
    """By item of the schedule: how often it is checked on a module with what a known bug needs."""


@dataclass(slots=True)
class State:
    """The fold of the blocks 0, ..., `blocks` - 1 of a campaign."""

    blocks: int = 0
    seconds: float = 0.0
    """Used up so far."""
    modules: int = 0
    stats: dict[str, PassStats] = field(default_factory=lambda: defaultdict(PassStats))
    """By item of the schedule."""
    ended: dict[str, Counter[Mark]] = field(default_factory=lambda: defaultdict(Counter))
    """The violations that checks of each item ended in."""
    occurrences: Counter[Mark] = field(default_factory=Counter)
    """The same for all items together."""
    known: set[Mark] = field(default_factory=set)
    """Those of them that are known bugs."""
    known_checks: Counter[str] = field(default_factory=Counter)
    """By item of the schedule: the checks that showed one of these."""
    patterns: dict[Mark, frozenset[str]] = field(default_factory=dict)
    """By known bug: the features that all modules have that showed it."""
    faults: set[str] = field(default_factory=set)
    """Digests of those that were reported."""
    learned: Learned = field(default_factory=Learned)
    worth: dict[str, Worth] = field(default_factory=lambda: defaultdict(Worth))
    """By digest of a piece."""
    edits: dict[str, Worth] = field(default_factory=lambda: defaultdict(Worth))
    """By kind of edit, of the blocks that had it."""
    guides: dict[int, Guide] = field(default_factory=lambda: {0: Guide()})
    """By the number of blocks that they cover; only those that a later block may need."""

    @property
    def checks(self) -> int:
        """Of all items."""
        return sum(stats.checks for stats in self.stats.values())

    def guide(self, number: int) -> Guide:
        """What block `number`, which is not committed, is planned by."""
        return self.guides[horizon(number)]

    def is_new(self, mark: Mark, item: str) -> bool:
        """Count a violation; true where it is the first of its kind."""
        self.ended[item][mark] += 1
        self.occurrences[mark] += 1
        return self.occurrences[mark] == 1

    def compare(self, mark: Mark, features: Iterable[str]) -> None:
        """Keep what the module of a known bug has in common with those before it."""
        found = frozenset(features)
        if found:
            self.patterns[mark] = self.patterns.get(mark, found) & found

    def is_new_fault(self, text: str) -> bool:
        """True once for each text: a fault in an oracle would else be reported at every check."""
        digest = hashlib.sha256(text.encode()).hexdigest()[:16]
        if digest in self.faults or len(self.faults) == FAULTS:
            return False
        self.faults.add(digest)
        return True

    def count(self, modules: int, stats: Mapping[str, PassStats]) -> None:
        """Count what a block has checked."""
        self.modules += modules
        for item, more in stats.items():
            self.stats[item] += more

    def commit(
        self,
        done: Collection[ModuleDone],
        seconds: float,
        recipe: Recipe = GENERATED,
        new: int = 0,
    ) -> None:
        """Close a block whose violations, modules and checks have been counted.

        Args:
            recipe: what its modules were made of.
            new: violations in it that are the first of their kind.
        """
        for module in done:
            self.learned.see(module)
        more = Worth.of(done, new)
        for piece in recipe.pieces:
            self.worth[piece.digest] += more
        for edit in recipe.edits:
            self.edits[edit] += more
        self.blocks += 1
        self.seconds = seconds
        if horizon(2 * self.blocks) == self.blocks:
            yields = plateau.yields(self.stats, self.ended)
            changed = {item: done.acted for item, done in self.stats.items()}
            self.guides[self.blocks] = Guide(
                self.learned.surest(),
                yields,
                changed,
                weights(self.worth),
                weights(self.edits),
                steering.hidden(self.stats, self.known_checks),
                steering.patterns(self.ended, self.patterns),
                steering.chances(self.stats, self.known_checks),
            )
        for past in [each for each in self.guides if each < horizon(self.blocks)]:
            del self.guides[past]

    def to_json(self) -> str:
        """As text, to be resumed in another process."""
        numbers = {mark: number for number, mark in enumerate(self.occurrences)}
        data = {
            "format": FORMAT,
            "blocks": self.blocks,
            "seconds": self.seconds,
            "modules": self.modules,
            "stats": plain(self.stats),
            "marks": plain(list(numbers)),
            "ended": {
                item: [[numbers[mark], count] for mark, count in counts.items()]
                for item, counts in self.ended.items()
            },
            "known": sorted(numbers[each] for each in self.known),
            "known_checks": self.known_checks,
            "patterns": [[numbers[each], sorted(has)] for each, has in self.patterns.items()],
            "faults": sorted(self.faults),
            "learned": self.learned.plain(),
            "worth": plain(self.worth),
            "edits": plain(self.edits),
            "guides": [[blocks, plain(guide)] for blocks, guide in self.guides.items()],
        }
        return json.dumps(data, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> State:
        """Read what `to_json` gave.

        Raises:
            BadState: the text is something else.
        """
        try:
            data = counted(parse(text))
            if data["format"] != FORMAT:
                raise BadState(f"Expected format {FORMAT} but got format={data['format']!r}")
            made = cls(
                typed(data["blocks"], int),
                typed(data["seconds"], float),
                typed(data["modules"], int),
            )
            made.stats.update(typed(data["stats"], Mapping[str, PassStats]))
            marks = typed(data["marks"], tuple[Mark, ...])
            made.occurrences.update(dict.fromkeys(marks, 0))
            for item, counts in typed(data["ended"], Mapping[str, tuple[_Pair, ...]]).items():
                made.ended[item].update({marks[number]: count for number, count in counts})
                made.occurrences.update(made.ended[item])
            made.known.update(marks[number] for number in typed(data["known"], tuple[int, ...]))
            made.known_checks.update(typed(data["known_checks"], Mapping[str, int]))
            for number, has in typed(data["patterns"], tuple[_Pattern, ...]):
                made.patterns[marks[number]] = frozenset(has)
            made.faults.update(typed(data["faults"], tuple[str, ...]))
            made.learned = Learned.of(data["learned"])
            made.worth.update(typed(data["worth"], Mapping[str, Worth]))
            made.edits.update(typed(data["edits"], Mapping[str, Worth]))
            made.guides = dict(typed(data["guides"], tuple[tuple[int, Guide], ...]))
            made._agree()
        except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
            if isinstance(error, BadState):
                raise
            raise BadState(f"Expected the state of a campaign but got {text[:80]!r}") from error
        return made

    def _agree(self) -> None:
        """Refuse parts that do not fit together: no campaign could be resumed from them."""
        if not {horizon(self.blocks), horizon(2 * self.blocks)} <= self.guides.keys():
            raise ValueError(f"guides of {sorted(self.guides)} blocks for {self.blocks}")
        for guide in self.guides.values():
            if not all(LEAST_YIELD <= each <= 1 / LEAST_YIELD for each in guide.yields.values()):
                raise ValueError(f"yields that no campaign has: {guide.yields!r:.80}")
            for learned in (guide.pieces, guide.edits):
                if not all(LEAST <= each <= MOST for each in learned.values()):
                    raise ValueError(f"weights that no piece or edit has: {learned!r:.80}")
