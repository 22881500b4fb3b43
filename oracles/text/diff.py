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

ALIKE = 0.7
"""A function that is gone and a new one of which so much is the same are one, renamed."""


@dataclass(frozen=True, slots=True)
class _Part:
    """Some lines of a text that belong together: a function, or what stands around functions."""

    name: str
    start: int
    lines: Sequence[str]


def unified(left: str, right: str, left_label: str, right_label: str) -> str:
    """A unified diff; its hunks name the function that they are in. Empty for equal texts."""
    old, new = _parts(left.splitlines()), _parts(right.splitlines())
    pairs: list[tuple[_Part | None, _Part | None]] = [
        (old.pop(name), new.pop(name)) for name in list(old) if name in new
    ]
    pairs += [(part, _renamed(part, new)) for part in old.values()]
    pairs += [(None, part) for part in new.values()]
    hunks = [line for pair in pairs for line in _hunks(*pair)]
    return "\n".join([f"--- {left_label}", f"+++ {right_label}", *hunks]) if hunks else ""


def _renamed(part: _Part, others: dict[str, _Part]) -> _Part | None:
    """Takes from the others the function that this one became, if there is one."""
    for name, other in others.items():
        matcher = difflib.SequenceMatcher(None, part.lines[2:], other.lines[2:], autojunk=False)
        if part.name and other.name and matcher.ratio() >= ALIKE:
            return others.pop(name)
    return None


_FUNCTION = re.compile(r"    @[TRI]\.\w+")
_NAME = re.compile(r"    def (\w+)\(")


def _parts(lines: Sequence[str]) -> dict[str, _Part]:
    """Functions begin with a decorator, one level in; what is flush left is none."""
    starts = [0]
    for number, line in enumerate(lines):
        flush = line[:1] not in ("", " ") and number > 0 and lines[number - 1][:1] in ("", " ")
        if _FUNCTION.match(line) or flush:
            starts.append(number)
    parts: dict[str, _Part] = {}
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        body = lines[start:end]
        while body and not body[-1].strip():
            body = body[:-1]
        found = next(filter(None, map(_NAME.match, body[:3])), None)
        name = f"def {found[1]}" if found else ""
        while name in parts:
            name += " "
        parts[name] = _Part(name, start, body)
    return parts


def _hunks(old: _Part | None, new: _Part | None) -> Iterator[str]:
    one = () if old is None else old.lines
    other = () if new is None else new.lines
    name = " -> ".join(dict.fromkeys(part.name for part in (old, new) if part is not None))
    matcher = difflib.SequenceMatcher(None, one, other, autojunk=False)
    for group in matcher.get_grouped_opcodes(CONTEXT):
        spans = (
            _span(old, group[0][1], group[-1][2]),
            _span(new, group[0][3], group[-1][4]),
        )
        yield f"@@ -{spans[0]} +{spans[1]} @@ {name}".rstrip()
        for tag, i, j, k, m in group:
            if tag == "equal":
                yield from (f" {line}" for line in one[i:j])
            else:
                yield from (f"-{line}" for line in one[i:j])
                yield from (f"+{line}" for line in other[k:m])


def _span(part: _Part | None, start: int, end: int) -> str:
    return "0,0" if part is None else f"{part.start + start + 1},{end - start}"
