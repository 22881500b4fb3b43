"""Output for people: live progress, tables, numbers in words."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from rich.console import Console, JustifyMethod
from rich.live import Live
from rich.table import Table
from rich.text import Text

from ...oracles.grades.grade import Grade
from .readable import sentence, visible

WIDE = 160
"""Columns if the output is not a terminal."""

EVERY = 10.0
"""Seconds between lines of progress without a terminal."""


class Display:
    """Progress, which is replaced on a terminal, and lines, which stay."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._last = time.monotonic()

    def progress(self, text: str) -> None:
        """Replace the line of progress."""
        if time.monotonic() - self._last >= EVERY:
            self._last = time.monotonic()
            self.line(text)

    def line(self, text: str, style: str = "") -> None:
        """Print a line that stays."""
        self._console.print(Text(visible(text)), soft_wrap=True)

    def close(self) -> None:
        """Restore the terminal."""


class _Terminal(Display):
    def __init__(self, console: Console) -> None:
        super().__init__(console)
        self._live = Live(Text(""), console=console, refresh_per_second=8, transient=True)
        self._live.start()

    def progress(self, text: str) -> None:
        self._live.update(Text(visible(text), overflow="ellipsis", no_wrap=True))

    def line(self, text: str, style: str = "") -> None:
        self._live.console.print(Text(visible(text), style=style))

    def close(self) -> None:
        self._live.stop()


def display(console: Console) -> Display:
    """A display with live progress on a terminal, and occasional lines elsewhere."""
    return _Terminal(console) if console.is_terminal else Display(console)


def results() -> Console:
    """The console for results on stdout, as wide as the terminal or `WIDE`."""
    return Console(width=None if sys.stdout.isatty() else WIDE)


def columns(*names: str, whole: Collection[str] = (), numbers: Collection[str] = ()) -> Table:
    """An empty table without lines.

    Args:
        whole: columns whose cells are not folded.
        numbers: columns that are right-aligned.
    """
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for name in names:
        justify: JustifyMethod = "right" if name in numbers else "left"
        table.add_column(name, no_wrap=name in whole, overflow="fold", justify=justify)
    return table


GRADE_STYLES: Mapping[str, str] = {Grade.A: "bold red", Grade.B: "yellow", Grade.C: "dim"}

Cells: TypeAlias = tuple[tuple[Grade, int, int], str, str, str, str, Path | None]
"""A finding in a table: its rank, which starts with the grade; its consequence, pass, oracle,
title, and the path of the reproducer."""


def findings_table(console: Console, rows: Sequence[Cells]) -> None:
    """Print findings, gravest first, each with the path of its reproducer below the title."""
    names = ("grade", "pass", "oracle", "what went wrong, reproducer")
    table = columns(*names, whole=("pass", "oracle"))
    for (grade, *_), seen, pass_name, oracle, title, path in sorted(rows, key=lambda row: row[:5]):
        shown = "no reproducer file; see `relaxfuzz replay`" if path is None else str(path)
        what = Text(f"{sentence(f'{seen}: {title}')}\n").append(visible(shown), style="dim")
        table.add_row(graded(grade), Text(sentence(pass_name)), Text(sentence(oracle)), what)
    console.print(table)


def graded(grade: Grade) -> Text:
    """A grade in its colour."""
    return Text(grade, style=GRADE_STYLES[grade])


def by_grade(grades: Iterable[Grade]) -> str:
    """The number of each grade: "2 A, 1 C"."""
    counts = Counter(grades)
    return ", ".join(f"{counts[grade]} {grade}" for grade in sorted(counts))


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """A number with its noun: `1 finding`, `2 findings`; irregular plurals must be given."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


def clipped(lines: Sequence[str], most: int, *, end: bool = False, hint: str = "") -> str:
    """The first lines, or the last, and the number of others.

    Args:
        hint: text after the number.
    """
    left = len(lines) - most
    if left <= 0:
        return "\n".join(lines)
    more = f"... {counted(left, 'more line')}{hint}"
    return "\n".join([more, *lines[-most:]] if end else [*lines[:most], more])


def duration(seconds: float) -> str:
    """Format a duration: `75` becomes "1m15s"."""
    whole = int(seconds)
    if whole < 60:
        return f"{whole}s"
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h{minutes:02}m{rest:02}s" if hours else f"{minutes}m{rest:02}s"
