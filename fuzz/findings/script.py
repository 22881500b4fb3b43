"""Reproducers as files: what distinguishes them from other Python files."""

from __future__ import annotations

from pathlib import Path

from ...corpus.reading import LONGEST_GENERATED, read_text

MAIN = 'if __name__ == "__main__":'
"""What stands between the module and the check."""


def is_reproducer(path: Path) -> bool:
    """A Python file with a check to run at its end, as reproducers have."""
    try:
        return f"\n{MAIN}\n" in read_text(path, LONGEST_GENERATED)
    except (OSError, ValueError):  # no file, or no text
        return False
