"""Reproducers as files: what tells them apart from other Python files."""

from __future__ import annotations

from pathlib import Path

MAIN = 'if __name__ == "__main__":'
"""What stands between the module and the check."""


def is_reproducer(path: Path) -> bool:
    """A Python file with a check to run at its end, as reproducers have."""
    return f"\n{MAIN}\n" in path.read_text(encoding="utf-8")
