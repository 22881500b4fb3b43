"""Idioms: a few bindings that passes look for and that random operators seldom form.

Most are patterns over the records of operators; a few are code.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...compat import availability
from ..choices import Choices
from ..ops import table
from ..ops.record import Op
from ..scope import Scope
from ..traits import Trait
from .building import Builder, Link
from .groups import GROUPS
from .pattern import Pattern, calls, parse, restricted
from .patterns import PATTERNS
from .special import SPECIAL


@dataclass(frozen=True, slots=True)
class Idiom:
    """A few bindings that belong together."""

    name: str
    pattern: Pattern = ()
    code: Callable[[Choices, Scope], None] | None = None
    """The code of an idiom without a pattern."""

    def emit(self, c: Choices, s: Scope, links: Callable[[], Sequence[Link]] = tuple) -> None:
        """Bind the idiom; links may stand between the calls of a pattern."""
        if self.code is None:
            Builder(c, s, links).emit(self.pattern)
        else:
            self.code(c, s)


IDIOMS: tuple[Idiom, ...] = (
    *(
        Idiom(text, parse(text, GROUPS))
        for text in dict.fromkeys(text for texts in PATTERNS.values() for text in texts)
    ),
    *(Idiom(code.__name__, code=code) for code in SPECIAL),
)
"""All idioms."""

for _idiom in IDIOMS:
    for _call in calls(_idiom.pattern):
        if unknown := sorted(set(_call.ops).difference(table)):
            raise ValueError(f"Expected operators of the table but got {unknown} in {_idiom.name}")


def usable(traits: frozenset[Trait]) -> Sequence[Idiom]:
    """The idioms for a module of these traits on the installed TVM, of suitable operators."""
    off = availability.current()
    return _usable(traits & _RELEVANT, frozenset(off.ops), frozenset(off.idioms))


ALIKE = 10
"""Up to this number the patterns of a pass, or an idiom that is code, are repeated, so that every
pass gets equally many modules."""

_RELEVANT = frozenset({Trait.NO_LEGALIZE, *(op.needs for op in table.values() if op.needs)})


@functools.lru_cache(maxsize=64)
def _usable(
    traits: frozenset[Trait], no_ops: frozenset[str], no_idioms: frozenset[str]
) -> tuple[Idiom, ...]:
    suited = {name for name, op in table.items() if name not in no_ops and suits(op, traits)}
    made = {idiom.name: restricted(idiom.pattern, suited) for idiom in IDIOMS if not idiom.code}
    found = {name: Idiom(name, pattern) for name, pattern in made.items() if pattern is not None}
    codes = [idiom for idiom in IDIOMS if idiom.code and idiom.name not in no_idioms]
    groups = [[found[text] for text in texts if text in found] for texts in PATTERNS.values()]
    groups += [[idiom] for idiom in codes]
    repeated = [group * (ALIKE // len(group) - 1) for group in groups if group]
    return (*found.values(), *codes, *itertools.chain(*repeated))


def suits(op: Op, traits: frozenset[Trait]) -> bool:
    """True if a module of these traits may have the operator."""
    return (op.legalizes or Trait.NO_LEGALIZE in traits) and (
        op.needs is None or op.needs in traits
    )
