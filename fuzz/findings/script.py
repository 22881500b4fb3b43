"""Reproducers as files, as opposed to other Python files."""

from __future__ import annotations

from pathlib import Path

from ...corpus.reading import LONGEST_GENERATED, read_text

MAIN = 'if __name__ == "__main__":'
"""The line between the module and the check."""


def is_reproducer(path: Path) -> bool:
    """Return whether a Python file ends with a check to run, as reproducers do."""
    try:
        return f"\n{MAIN}\n" in read_text(path, LONGEST_GENERATED)
    except (OSError, ValueError):  # no such file, or not a text
        return False
