"""What a campaign learns about its passes: the operators that each of them rewrites.

A pass that rewrites one operator of two hundred, or two in a row, leaves nearly all modules as they
are, and an unchanged module tests little. So some blocks make their modules of few operators,
mostly of those that stood in modules that a pass changed.

What block n is made of depends on the blocks before n / 2 alone: any number of workers makes the
same modules.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

from ..process.block import ModuleDone
from ..process.serialize import typed
from .draw import entropy

FIRST = 8
"""The first block that may have a focus."""
SHARE = 0.6
"""Share of the blocks that have a focus, once something was learned."""
AT_LEAST = 2
"""Modules with an operator that a pass changed: one may be chance."""
LIFT = 2.0
"""How much more often the operator is in changed modules than in any."""
AS_SURE = 0.5
"""Operators next to the one that matters are in changed modules, too: only those with at least half
the excess of the best are taken."""
CANDIDATES = 6
"""At most so many operators are kept for one pass."""
CHOSEN = (1, 2, 3)
"""How many of them a block takes."""
OTHERS = 3
"""Further operators of a block, for variety."""

_Rows = Mapping[str, tuple[int, ...]]
"""By item: modules, and of those the ones with each operator."""


def horizon(number: int) -> int:
    """The number of blocks that must be committed before this block can be planned."""
    return 0 if number < FIRST else 1 << ((number // 2).bit_length() - 1)


@dataclass(slots=True)
class _Counts:
    modules: int = 0
    with_op: Counter[str] = field(default_factory=Counter)

    def add(self, ops: Iterable[str]) -> None:
        self.modules += 1
        self.with_op.update(ops)


@dataclass(slots=True)
class Learned:
    """Counts of modules, over the whole campaign up to some block."""

    checked: dict[str, _Counts] = field(default_factory=lambda: defaultdict(_Counts))
    changed: dict[str, _Counts] = field(default_factory=lambda: defaultdict(_Counts))

    def see(self, done: ModuleDone) -> None:
        """Count a module."""
        for item, changed in done.changed.items():
            self.checked[item].add(done.ops)
            if changed:
                self.changed[item].add(done.ops)

    def surest(self) -> Mapping[str, tuple[str, ...]]:
        """By pass: the operators that are more frequent in modules which it changes, the best
        first. Passes without any are left out.

        A pass that works on a pattern does not change most modules with an operator of it. So what
        counts is how frequent the operator is among changed modules.
        """
        found = {item: tuple(self._candidates(item)) for item in sorted(self.changed)}
        return {item: ops for item, ops in found.items() if ops}

    def _candidates(self, item: str) -> list[str]:
        checked, changed = self.checked[item], self.changed[item]

        def excess(op: str) -> float:
            everywhere = checked.with_op[op] / checked.modules
            return changed.with_op[op] / changed.modules - everywhere

        found = {
            op: excess(op)
            for op, count in changed.with_op.items()
            if count >= AT_LEAST
            and count / changed.modules >= LIFT * checked.with_op[op] / checked.modules
        }
        best = max(found.values(), default=0.0)
        kept = [op for op in found if found[op] >= AS_SURE * best]
        return sorted(kept, key=lambda op: (-found[op], op))[:CANDIDATES]

    def plain(self) -> dict[str, Any]:
        """As JSON data: the operators once, and counts in their order."""
        ops = sorted({op for counts in self.checked.values() for op in counts.with_op})
        return {
            "ops": ops,
            "checked": {item: _row(counts, ops) for item, counts in self.checked.items()},
            "changed": {item: _row(counts, ops) for item, counts in self.changed.items()},
        }

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Learned:
        """Read what `plain` gave.

        Raises:
            ValueError, KeyError, TypeError: it is something else, or the counts are impossible.
        """
        made = cls()
        ops = typed(data["ops"], tuple[str, ...])
        for counts, name in ((made.checked, "checked"), (made.changed, "changed")):
            for item, (modules, *with_op) in typed(data[name], _Rows).items():
                counted = {op: n for op, n in zip(ops, with_op, strict=True) if n}
                counts[item] = _Counts(modules, Counter(counted))
        for item, changed in made.changed.items():
            checked = made.checked[item]
            if not 0 < changed.modules <= checked.modules or not changed.with_op <= checked.with_op:
                raise ValueError(f"more modules of {item} were changed than checked")
        return made


def _row(counts: _Counts, ops: Iterable[str]) -> list[int]:
    return [counts.modules, *(counts.with_op[op] for op in ops)]


def focus(
    surest: Mapping[str, tuple[str, ...]], seed: int, number: int, operators: Iterable[str]
) -> tuple[str, ...]:
    """The operators that a block's modules are made of; none: all of them.

    Args:
        surest: the operators that matter to each pass, see `Learned`.
        operators: all that there are.
    """
    random = Random(entropy("focus", seed, number))
    if random.random() >= SHARE:
        return ()
    # Modules also hold calls that no operator of the table makes, e.g. call_tir.
    known = set(operators)
    matter = {
        item: found for item, ops in surest.items() if (found := [op for op in ops if op in known])
    }
    if not matter:
        return ()
    found = matter[random.choice(list(matter))]
    chosen = random.sample(found, min(len(found), random.choice(CHOSEN)))
    return (*chosen, *random.sample(sorted(known.difference(chosen)), OTHERS))
