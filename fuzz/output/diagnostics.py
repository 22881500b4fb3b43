"""An explanation as text, in the form of a compiler's diagnostics."""

from __future__ import annotations

import re
import sys
import textwrap
from pathlib import Path

from rich.console import Console
from rich.text import Text

from ...oracles.explain.trouble import Excerpt, Explanation, Trouble
from .terminal import counted

NARROWEST, PLAIN = 60, 100
"""Columns: the least number, and the number without a terminal."""

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
        for known in self._answer.knowns:
            lead = Text("known bug of TVM: ", "bold red")
            for line in known.splitlines():
                self._paragraph(lead, line.strip())
                lead = Text("  ")
            self._line(Text())
        self._line(self._conclusion())

    def _line(self, text: Text) -> None:
        text.rstrip()
        self._console.print(text, soft_wrap=True)

    def _trouble(self, trouble: Trouble) -> None:
        self._paragraph(Text("error: ", "bold red"), trouble.title, "bold")
        excerpt = trouble.excerpt
        number = "" if excerpt is None or excerpt.number is None else str(excerpt.number)
        gutter = max(len(number), 1) + 1
        self._place(trouble, gutter)
        if excerpt is not None:
            self._excerpt(excerpt, number, gutter)
        for word, texts in (("note", trouble.notes), ("help", trouble.help)):
            for text in texts:
                style = "bold green" if word == "help" else "bold"
                lead = Text(" " * gutter).append(" = ", "blue").append(f"{word}: ", style)
                self._paragraph(lead, text)

    def _place(self, trouble: Trouble, gutter: int) -> None:
        where = str(self._module)
        if trouble.excerpt is not None:
            place = trouble.excerpt.place
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

    def _excerpt(self, excerpt: Excerpt, number: str, gutter: int) -> None:
        """The source line with a mark, and the label beside or below it.

        A line that does not fit begins at the mark.
        """
        room = self._width - gutter - 3
        line = excerpt.line.lstrip()
        at = excerpt.column - (len(excerpt.line) - len(line))
        if at + excerpt.width > room:
            line, at = f"…{line[at:]}", 1
        if len(line) > room:
            line = f"{line[: room - 1]}…"
        marks = " " * at + "^" * max(1, min(excerpt.width, len(line) - at))
        rows = [f"{marks} {excerpt.label}"]
        if len(rows[0]) > room:
            rows = [marks, " " * max(0, min(at, room - len(excerpt.label))) + excerpt.label]
        bar = Text(" " * gutter).append(" | ", "blue")
        self._line(bar.copy())
        self._line(Text(f"{number:>{gutter}}").append(" | ", "blue").append(line))
        for row in rows:
            self._line(bar.copy().append(row, "bold red"))
        self._line(bar.copy())

    def _paragraph(self, lead: Text, text: str, style: str = "") -> None:
        width = self._width - len(lead)
        parts = textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)
        for part in parts or [""]:
            self._line(lead.append_text(_marked(part, style)))
            lead = Text(" " * (self._width - width))

    def _conclusion(self) -> Text:
        answer = self._answer
        serious = len(answer.troubles)
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


def _marked(text: str, style: str = "") -> Text:
    """Highlight the code in backticks; the backticks stay in copied text."""
    marked = Text(text, style)
    for found in _CODE.finditer(text):
        marked.stylize("cyan", *found.span())
    return marked
