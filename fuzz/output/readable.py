"""Make foreign text safe to show: without control characters and endless lines."""

from __future__ import annotations

import os
import re
from pathlib import Path

LONGEST = 500
"""Most characters of one of our own lines that contains foreign text."""

LONGEST_LINE = 2_000
"""Most characters of one line of a foreign text."""

LONGEST_TEXT = 24_000
"""Most characters of a foreign text of several lines."""


class _Escapes(dict[int, str]):
    """The display form of each code point; filled as characters occur.

    Characters for which `str.isprintable` is false are escaped: control and format characters
    (which can reverse the writing direction), surrogates, unassigned code points, and separators
    other than a space.
    """

    def __missing__(self, code: int) -> str:
        shown = char = chr(code)
        if char not in "\t\n" and not char.isprintable():
            shown = char.encode("unicode_escape", "surrogatepass").decode("ascii")
        self[code] = shown
        return shown


_ESCAPES = _Escapes()


def visible(text: str) -> str:
    """Escape invisible characters as in Python; line breaks and tabs stay.

    >>> visible("a\\x1b[31m\\u202eb")
    'a\\\\x1b[31m\\\\u202eb'
    """
    return text.translate(_ESCAPES)


def sentence(text: str, longest: int = LONGEST) -> str:
    """Make one line of at most `longest` characters; a longer text loses its middle."""
    return message(text, longest).replace("\n", "\\n")


def message(text: str, longest: int = 4 * LONGEST) -> str:
    """Make an error message of several lines; a longer text loses its middle."""
    return visible(_without_middle(text, longest)).replace("\t", "\\t")


def shortened(text: str, most: int) -> str:
    """The beginning of a text, and the number of characters left out."""
    return text if len(text) <= most else f"{text[:most]}… ({len(text) - most:,} characters more)"


def one_line(text: str, most: int) -> str:
    """The beginning of a text as one line, with white space collapsed."""
    return shortened(" ".join(visible(text).split()), most)


def readable(text: str) -> str:
    """Make a text of several lines safe: `visible`, with long lines and long texts shortened."""
    if len(text) > LONGEST_LINE:
        cut = text[:LONGEST_TEXT]
        lines = [shortened(line, LONGEST_LINE) for line in cut.split("\n")]
        if len(text) > len(cut):
            lines.append(f"… ({len(text) - len(cut):,} characters more)")
        text = "\n".join(lines)
    return visible(text)


def fenced(text: str, language: str = "") -> str:
    """A Markdown code block that no line of the text can end."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def _without_middle(text: str, longest: int) -> str:
    if len(text) <= longest:
        return text
    begin, end = longest * 2 // 3, longest // 3
    return f"{text[:begin]} [{len(text) - begin - end} characters] {text[-end:]}"


def short_path(path: Path) -> str:
    """A path relative to the working directory, if that is shorter."""
    try:
        return min(os.path.relpath(path), str(path), key=len)
    except ValueError:  # another drive
        return str(path)
