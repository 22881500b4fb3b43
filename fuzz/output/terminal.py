"""Output for people: live progress, tables, numbers in words."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from rich.console import Console, Group, JustifyMethod
from rich.live import Live
from rich.table import Table
from rich.text import Text

from ...oracles.grades.grade import Grade
from .readable import sentence, visible

WIDE = 160
"""Columns where the output is no terminal."""

EVERY = 10.0
"""Seconds between lines of progress where there is no terminal."""

SELDOM = 60.0
"""The same for lines about cluster workers."""


class Display:
    """Progress, which is replaced on a terminal, and lines, which stay."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._last = self._last_below = time.monotonic()

    def progress(self, text: str) -> None:
        """Replace the line of progress."""
        if time.monotonic() - self._last >= EVERY:
            self._last = time.monotonic()
            self.line(text)

    def below(self, lines: Sequence[str], instead: str) -> None:
        """Replace the lines below the line of progress.

        Args:
            instead: printed now and then where there is no terminal.
        """
        if lines and time.monotonic() - self._last_below >= SELDOM:
            self._last_below = time.monotonic()
            self.line(instead)

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
        self._below: Sequence[str] = ()

    def progress(self, text: str) -> None:
        cut = (
            Text(visible(line), overflow="ellipsis", no_wrap=True) for line in (text, *self._below)
        )
        self._live.update(Group(*cut))

    def below(self, lines: Sequence[str], instead: str) -> None:
        self._below = lines

    def line(self, text: str, style: str = "") -> None:
        self._live.console.print(Text(visible(text), style=style))

    def close(self) -> None:
        self._live.stop()


def display(console: Console) -> Display:
    """Live progress on a terminal, a line now and then elsewhere."""
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

Cells: TypeAlias = tuple[Grade, str, str, str, Path | None]
"""A finding in a table: grade, pass, oracle, title, the path of the reproducer."""


def findings_table(console: Console, rows: Sequence[Cells]) -> None:
    """Print findings sorted, the gravest first, the path of the reproducer below the title."""
    names = ("grade", "pass", "oracle", "what went wrong, reproducer")
    table = columns(*names, whole=("pass", "oracle"))
    for grade, pass_name, oracle, title, path in sorted(rows, key=lambda row: row[:4]):
        shown = "no reproducer file; see `relaxfuzz replay`" if path is None else str(path)
        what = Text(f"{sentence(title)}\n").append(visible(shown), style="dim")
        table.add_row(graded(grade), Text(sentence(pass_name)), Text(sentence(oracle)), what)
    console.print(table)


def graded(grade: Grade) -> Text:
    """A grade in its colour."""
    return Text(grade, style=GRADE_STYLES[grade])


def by_grade(grades: Iterable[Grade]) -> str:
    """How many there are of each: "2 A, 1 C"."""
    counts = Counter(grades)
    return ", ".join(f"{counts[grade]} {grade}" for grade in sorted(counts))


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """`1 finding`, `2 findings`; the plural where it is irregular."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


def clipped(lines: Sequence[str], most: int, *, end: bool = False, hint: str = "") -> str:
    """The first lines, or the last, and how many more there are.

    Args:
        hint: behind the number.
    """
    left = len(lines) - most
    if left <= 0:
        return "\n".join(lines)
    more = f"... {counted(left, 'more line')}{hint}"
    return "\n".join([more, *lines[-most:]] if end else [*lines[:most], more])


def duration(seconds: float) -> str:
    """`75` is "1m15s"."""
    whole = int(seconds)
    if whole < 60:
        return f"{whole}s"
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h{minutes:02}m{rest:02}s" if hours else f"{minutes}m{rest:02}s"
