"""The difference of two modules' texts, function by function.

An ordinary diff of two long texts matches lines of one function with those of another. Functions
that both texts have are compared with each other here, and what only one of them has comes last.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

CONTEXT = 3
"""Lines around a change."""


@dataclass(frozen=True, slots=True)
class _Part:
    """Some lines of a text that belong together: a function, or what stands around functions."""

    name: str
    start: int
    lines: Sequence[str]


def unified(left: str, right: str, left_label: str, right_label: str) -> str:
    """A unified diff; its hunks name the function that they are in. Empty for equal texts."""
    old = {part.name: part for part in _parts(left.splitlines())}
    new = {part.name: part for part in _parts(right.splitlines())}
    both = [name for name in old if name in new]
    rest = [name for name in (*old, *new) if (name in old) != (name in new)]
    hunks = [line for name in (*both, *rest) for line in _hunks(old.get(name), new.get(name))]
    return "\n".join([f"--- {left_label}", f"+++ {right_label}", *hunks]) if hunks else ""


_FUNCTION = re.compile(r"    @[TRI]\.\w+")
_NAME = re.compile(r"    def (\w+)\(")


def _parts(lines: Sequence[str]) -> Iterator[_Part]:
    """Functions begin with a decorator, one level in; what is flush left is none."""
    starts = [0]
    for number, line in enumerate(lines):
        flush = line[:1] not in ("", " ") and number > 0 and lines[number - 1][:1] in ("", " ")
        if _FUNCTION.match(line) or flush:
            starts.append(number)
    seen: set[str] = set()
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        body = lines[start:end]
        while body and not body[-1].strip():
            body = body[:-1]
        found = next(filter(None, map(_NAME.match, body[:3])), None)
        name = f"def {found[1]}" if found else ""
        while name in seen:
            name += " "
        seen.add(name)
        yield _Part(name, start, body)


def _hunks(old: _Part | None, new: _Part | None) -> Iterator[str]:
    one = () if old is None else old.lines
    other = () if new is None else new.lines
    part = old or new
    assert part is not None
    matcher = difflib.SequenceMatcher(None, one, other, autojunk=False)
    for group in matcher.get_grouped_opcodes(CONTEXT):
        spans = (
            _span(old, group[0][1], group[-1][2]),
            _span(new, group[0][3], group[-1][4]),
        )
        yield f"@@ -{spans[0]} +{spans[1]} @@ {part.name}".rstrip()
        for tag, i, j, k, m in group:
            if tag == "equal":
                yield from (f" {line}" for line in one[i:j])
            else:
                yield from (f"-{line}" for line in one[i:j])
                yield from (f"+{line}" for line in other[k:m])


def _span(part: _Part | None, start: int, end: int) -> str:
    return "0,0" if part is None else f"{part.start + start + 1},{end - start}"
