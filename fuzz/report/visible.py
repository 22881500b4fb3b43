"""Texts from outside, made fit to be read: nothing in them hides, reorders, or goes on for ever."""

from __future__ import annotations

from ..output.readable import is_hidden

LONGEST_LINE = 2_000
"""Characters of one line that are shown."""

LONGEST_TEXT = 24_000
"""Characters of one text that are shown."""

_CONTROL_PICTURES = 0x2400
_DELETE = 0x7F


class _Names(dict[int, str]):
    """By code point: how it is shown; filled as characters are met."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        if character in "\t\n" or not is_hidden(character):
            shown = character
        elif code < 0x20:
            shown = chr(_CONTROL_PICTURES + code)
        elif code == _DELETE:
            shown = "␡"
        else:
            shown = f"‹U+{code:04X}›"
        self[code] = shown
        return shown


_NAMES = _Names()


def visible(text: str) -> str:
    """The text with a sign for each character that would not be seen itself.

    >>> visible("a\\x1b[31m\\u202eb")
    'a␛[31m‹U+202E›b'
    """
    return text.translate(_NAMES)


def shortened(text: str, most: int) -> str:
    """The beginning of a text, and how much is left out."""
    return text if len(text) <= most else f"{text[:most]}… ({len(text) - most:,} characters more)"


def readable(text: str) -> str:
    """A text of several lines: `visible`, with long lines and long texts shortened."""
    if len(text) > LONGEST_LINE:
        cut = text[:LONGEST_TEXT]
        lines = [shortened(line, LONGEST_LINE) for line in cut.split("\n")]
        if len(text) > len(cut):
            lines.append(f"… ({len(text) - len(cut):,} characters more)")
        text = "\n".join(lines)
    return visible(text)
