"""Foreign text as it may be shown: no control over the terminal, and not without end."""

from __future__ import annotations

import unicodedata

LONGEST = 500
"""Characters of a sentence with foreign text in it."""

_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Categories of Unicode: control, format (which turns the direction of writing), surrogates, and
separators of lines."""


def visible(text: str) -> str:
    """The text with its control characters spelled out; lines stay lines."""
    return "".join(char if char == "\n" or _shows(char) else _escape(char) for char in text)


def sentence(text: str, longest: int = LONGEST) -> str:
    """One line of at most so many characters: what is too long loses its middle."""
    if len(text) > longest:
        begin, end = longest * 2 // 3, longest // 3
        text = f"{text[:begin]} [{len(text) - begin - end} characters] {text[-end:]}"
    return visible(text.replace("\n", "\\n"))


def _shows(char: str) -> bool:
    return (char.isascii() and char.isprintable()) or unicodedata.category(char) not in _INVISIBLE


def _escape(char: str) -> str:
    return char.encode("unicode_escape", "surrogatepass").decode("ascii")
