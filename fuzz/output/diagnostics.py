"""An explanation as text, in the form of a compiler's diagnostics."""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from rich.text import Text

from ...oracles.explain import Excerpt, Explanation, Trouble
from .terminal import counted

NARROWEST, PLAIN = 60, 100
"""Columns: the least, and the number where there is no terminal."""

_CODE = re.compile(r"`([^`]+)`")


class Diagnostics:
    """The diagnostics of one module."""

    def __init__(self, module: Path, answer: Explanation) -> None:
        self._module = module
        self._answer = answer
        plain = not sys.stdout.isatty()
        self._console = Console(width=PLAIN if plain else None, highlight=False)
        self._width = max(NARROWEST, self._console.width)

    def print(self) -> None:
        """Write all diagnostics to stdout."""
        for trouble in self._answer.troubles:
            self._trouble(trouble)
            self._line(Text())
        self._line(self._conclusion())

    def _line(self, text: Text) -> None:
        text.rstrip()
        self._console.print(text, soft_wrap=True)

    def _trouble(self, trouble: Trouble) -> None:
        style = "bold yellow" if trouble.harmless else "bold red"
        word = "note" if trouble.harmless else "error"
        self._paragraph(Text(f"{word}: ", style), trouble.title, "bold")
        numbers = [str(e.number) for e in trouble.excerpts if e.number is not None]
        gutter = max(map(len, numbers), default=1) + 1
        self._place(trouble, gutter)
        self._excerpts(trouble, gutter)
        for word, texts in (("note", trouble.notes), ("help", trouble.help)):
            for text in texts:
                style = "bold green" if word == "help" else "bold"
                lead = Text(" " * gutter).append(" = ", "blue").append(f"{word}: ", style)
                self._paragraph(lead, text)

    def _place(self, trouble: Trouble, gutter: int) -> None:
        where = str(self._module)
        if trouble.excerpts:
            place = trouble.excerpts[0].place
            where = place if place.startswith(where) else f"{where}, {place}"
        if trouble.function is not None:
            where += f", in function {trouble.function}"
        if trouble.step is not None:
            where += f", step {self._numbered(trouble.step)}"
        self._line(Text(" " * gutter).append("--> ", "bold blue").append(where))

    def _numbered(self, step: str) -> str:
        steps = self._answer.steps
        if step not in steps:
            return step
        return f"{step} ({steps.index(step) + 1} of {len(steps)})"

    def _excerpts(self, trouble: Trouble, gutter: int) -> None:
        bar = Text(" " * gutter).append(" | ", "blue")
        previous: Excerpt | None = None
        for excerpt in trouble.excerpts:
            window = _Window(excerpt, self._width - gutter - 3)
            first = previous is None
            if previous is None or previous.line != excerpt.line:
                self._line(bar.copy())
                number = "" if excerpt.number is None else str(excerpt.number)
                self._line(Text(f"{number:>{gutter}}").append(" | ", "blue").append(window.text))
            style, mark = ("bold red", "^") if first else ("bold blue", "-")
            for row in window.rows(mark):
                self._line(bar.copy().append(row, style))
            previous = excerpt
        if trouble.excerpts:
            self._line(bar.copy())

    def _paragraph(self, lead: Text, text: str, style: str = "") -> None:
        width = self._width - len(lead)
        parts = textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)
        for part in parts or [""]:
            self._line(lead.append_text(_marked(part, style)))
            lead = Text(" " * (self._width - width))

    def _conclusion(self) -> Text:
        answer = self._answer
        serious = sum(not trouble.harmless for trouble in answer.troubles)
        pipeline = f"pipeline {answer.pipeline!r}"
        if answer.pipeline == "zero":
            pipeline = "pipelines 'zero' and 'default'"
        ran = f"{counted(len(answer.steps), 'step')} of the {pipeline}"
        if serious:
            built = " The module was built and loaded all the same." if answer.built else ""
            return Text(f"{counted(serious, 'problem')} explained; {ran} ran.{built}", "bold")
        return Text(
            f"Nothing is wrong: {ran} ran, no operator is left, every name leads somewhere, and "
            "the result was compiled and loaded into the virtual machine.",
            "bold green",
        )


class _Window:
    """The part of a source line that fits, with the marked columns in it."""

    def __init__(self, excerpt: Excerpt, room: int) -> None:
        line = excerpt.line.lstrip()
        at = excerpt.column - (len(excerpt.line) - len(line))
        start = 0
        if len(line) > room and at + min(excerpt.width, room // 2) > room - 1:
            start = max(0, at - room // 4)
            line = "…" + line[start + 1 :]
        self.text = line if len(line) <= room else line[: room - 1] + "…"
        self._at = at - start
        self._width = max(1, min(excerpt.width, len(self.text) - self._at))
        self._label = excerpt.label
        self._room = room

    def rows(self, mark: str) -> Iterator[str]:
        """The mark, and the label beside or below it."""
        marks = " " * self._at + mark * self._width
        if len(marks) + 1 + len(self._label) <= self._room:
            yield f"{marks} {self._label}"
            return
        yield marks
        yield " " * max(0, min(self._at, self._room - len(self._label))) + self._label


def _marked(text: str, style: str = "") -> Text:
    """Text with the code in backticks highlighted; the backticks stay in copied text."""
    marked = Text(text, style)
    for found in _CODE.finditer(text):
        marked.stylize("cyan", *found.span())
    return marked
