"""Parts of documentation pages written by benchmarks; each is between two comments."""

from __future__ import annotations

from pathlib import Path


def part(page: Path, begin: str, end: str) -> str:
    """The text between two comments of a page."""
    _, _, rest = page.read_text(encoding="utf-8").partition(begin)
    return rest.partition(end)[0]


def put(page: Path, text: str, begin: str, end: str) -> None:
    """Put a text between two comments of a page."""
    whole = page.read_text(encoding="utf-8")
    first, last = whole.index(begin) + len(begin), whole.index(end)
    page.write_text(f"{whole[:first]}\n\n{text}\n\n{whole[last:]}", encoding="utf-8")
