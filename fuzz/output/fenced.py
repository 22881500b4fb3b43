"""Text as a code block of Markdown."""

from __future__ import annotations

import re


def fenced(text: str, language: str = "") -> str:
    """A block that no line of the text can end."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"
