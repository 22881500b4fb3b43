"""Known names similar to a misspelt one, for messages."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def near(name: str, known: Iterable[str], likeness: float = 0.6) -> list[str]:
    """Up to three known names with a similar spelling, ignoring case."""
    lower = {str(other).lower(): str(other) for other in known}
    found = difflib.get_close_matches(str(name).lower(), lower, n=3, cutoff=likeness)
    return [lower[match] for match in found]


def no_pass(name: str, home: str, known: Iterable[str]) -> str:
    """The message for an unknown pass.

    Args:
        home: the module in which it was looked up.
    """
    return f"No pass {name!r} in {home}{did_you_mean(name, known)}"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The end of a message, `. Did you mean 'a' or 'b'?`; empty if no known name is similar."""
    names = near(name, known)
    return f". Did you mean {' or '.join(map(repr, names))}?" if names else ""
