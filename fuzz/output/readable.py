"""Foreign text as it may be shown: no control over the terminal, and not without end."""

from __future__ import annotations

import os
import unicodedata
from pathlib import Path

LONGEST = 500
"""Characters of a sentence with foreign text in it."""

_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Categories of Unicode: control, format (which turns the direction of writing), surrogates, and
separators of lines."""


def is_hidden(char: str) -> bool:
    """A character that is not seen itself, but may do something to what is."""
    return unicodedata.category(char) in _HIDDEN


def visible(text: str) -> str:
    """The text with its control characters spelled out; lines stay lines."""
    return "".join(char if char == "\n" or _shows(char) else _escape(char) for char in text)


def sentence(text: str, longest: int = LONGEST) -> str:
    """One line of at most so many characters: what is too long loses its middle."""
    return visible(_cut(text, longest).replace("\n", "\\n"))


def message(text: str) -> str:
    """What a command ends with: lines stay lines, and what is too long loses its middle."""
    return visible(_cut(text, 4 * LONGEST))


def _cut(text: str, longest: int) -> str:
    if len(text) <= longest:
        return text
    begin, end = longest * 2 // 3, longest // 3
    return f"{text[:begin]} [{len(text) - begin - end} characters] {text[-end:]}"


def _shows(char: str) -> bool:
    return (char.isascii() and char.isprintable()) or not is_hidden(char)


def _escape(char: str) -> str:
    return char.encode("unicode_escape", "surrogatepass").decode("ascii")


def short_path(path: Path) -> str:
    """A path relative to the working directory, if that is shorter."""
    try:
        return min(os.path.relpath(path), str(path), key=len)
    except ValueError:  # another drive
        return str(path)
