"""`relaxfuzz explain`: why does a module not build, and what is to be done?"""

from __future__ import annotations

import dataclasses
import json as jsonlib
import re
import sys
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from ...oracles.explain import CHECK, PIPELINES, Excerpt, Explanation, Kind, Trouble
from ...oracles.passcall import BadSpelling, parse
from ...oracles.pipelines import PIPELINES as CHECKED
from ..process import death
from ..process.executor import JobFailed, ask
from ..process.jobs import Explain
from ..process.local_pool import LocalPool
from ..process.protocol import Died, Limits
from ..user_input.mistake import Mistake, near
from ..user_input.probe import probe
from ..user_input.read_module import inspect, load

LIMITS = Limits(step_seconds=120.0, memory_mb=8192)
"""A user's model may be large, and one step is the whole build."""

NARROWEST, PLAIN = 60, 100
"""Columns: at least, and where there is no terminal."""

_LOCATE, _BUILD = "locate ", "build"


def run(module: Path, pipeline: str, *, json: bool) -> int:
    """Explain; the exit code: 0 nothing is wrong, 1 something is.

    Raises:
        Mistake: no such pipeline, or the file gives no module.
        ExecutorError: the harness failed.
    """
    chosen = _pipeline(pipeline)
    file = str(module) if module.suffix == ".py" else None
    inspect(module)
    with LocalPool(1) as pool:
        job = Explain(module=load(module, pool, well_formed=False), pipeline=chosen, file=file)
        try:
            answer = ask(pool, job, limits=LIMITS)
            if isinstance(answer, Died) and _step(answer).startswith(_LOCATE):
                # The step fails without dying; a part of the module is what it does not survive.
                job = dataclasses.replace(job, locate=False)
                answer = ask(pool, job, limits=LIMITS)
        except JobFailed:
            load(module, pool)  # an ill-formed module may be past explaining: that is told
            # Parts of one whose types lack something cannot always be made.
            answer = ask(pool, dataclasses.replace(job, locate=False), limits=LIMITS)
    if isinstance(answer, Died):
        answer = Explanation(chosen, (), (_death(answer),), built=False)
    troubles = tuple(_named(trouble, module, pipeline) for trouble in answer.troubles)
    answer = dataclasses.replace(answer, pipeline=pipeline, troubles=troubles)
    if json:
        _print_json(answer)
    else:
        _Page(module, answer).print()
    return 1 if any(not trouble.harmless for trouble in answer.troubles) else 0


def _pipeline(name: str) -> str:
    """The pipeline as a worker is told of it."""
    if name in PIPELINES:
        return name
    if ":" not in name:
        raise Mistake(
            f"no pipeline {name!r}{near(name, PIPELINES)} "
            "(one of your own is spelled path/to/file.py:factory)"
        )
    try:
        call = parse(name)
    except BadSpelling as error:
        raise Mistake(str(error)) from None
    probe([name])
    assert call.factory is not None, "a spelling with a colon is a factory"
    return call.factory


def _named(trouble: Trouble, module: Path, pipeline: str) -> Trouble:
    """The commands that it advises can be copied; `check` knows TVM's pipelines only."""

    def named(text: str) -> str:
        if pipeline not in CHECKED:
            return text.partition(" `relaxfuzz check ")[0]
        return text.replace("MODULE --pipeline PIPELINE", f"{module} --pipeline {pipeline}")

    return dataclasses.replace(trouble, help=tuple(map(named, trouble.help)))


def _step(died: Died) -> str:
    return "" if died.position is None else died.position.step


def _death(died: Died) -> Trouble:
    """The end of the process, told as what a step did."""
    step = _step(died)
    how = death.violation(died).title
    if step == _BUILD:
        title = f"code generation does not survive the lowered module: {how}"
        notes = ("All steps of the pipeline ran. What the process died of came after them.",)
    elif not step:
        title = f"the process does not survive the module: {how}"
        notes = ("It died before the first step of the pipeline.",)
    else:
        title = f"{step} does not survive the module: {how}"
        notes = ("The steps before it ran. A pass must never end the process.",)
    return Trouble(
        Kind.DIES,
        title,
        None,
        step or None,
        (),
        notes,
        (f"It is a bug of TVM. {CHECK}",),
    )


# For programs


def _print_json(answer: Explanation) -> None:
    for trouble in answer.troubles:
        print(jsonlib.dumps({"event": "trouble", **dataclasses.asdict(trouble)}))
    summary = {
        "event": "summary",
        "pipeline": answer.pipeline,
        "steps": answer.steps,
        "troubles": sum(not trouble.harmless for trouble in answer.troubles),
        "built": answer.built,
    }
    print(jsonlib.dumps(summary))


# For people

_CODE = re.compile(r"`([^`]+)`")


class _Page:
    """The explanation as text: like a compiler's diagnostics."""

    def __init__(self, module: Path, answer: Explanation) -> None:
        self._module = module
        self._answer = answer
        plain = not sys.stdout.isatty()
        self._console = Console(width=PLAIN if plain else None, highlight=False)
        self._width = max(NARROWEST, self._console.width)

    def print(self) -> None:
        """Write all of it to stdout."""
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
        prefix = f"{word}: "
        for number, part in enumerate(_wrapped(trouble.title, self._width - len(prefix))):
            lead = Text(prefix, style) if number == 0 else Text(" " * len(prefix))
            self._line(lead.append_text(_marked(part, "bold")))
        numbers = [str(e.number) for e in trouble.excerpts if e.number is not None]
        gutter = max(map(len, numbers), default=1) + 1
        self._place(trouble, gutter)
        self._excerpts(trouble, gutter)
        for word, texts in (("note", trouble.notes), ("help", trouble.help)):
            for text in texts:
                self._remark(word, text, gutter)

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
            if first or (previous is not None and previous.line != excerpt.line):
                self._line(bar.copy())
                number = "" if excerpt.number is None else str(excerpt.number)
                head = Text(f"{number:>{gutter}}").append(" | ", "blue")
                self._line(head.append(window.text))
            style, mark = ("bold red", "^") if first else ("bold blue", "-")
            for row in window.rows(mark):
                self._line(bar.copy().append(row, style))
            previous = excerpt
        if trouble.excerpts:
            self._line(bar.copy())

    def _remark(self, word: str, text: str, gutter: int) -> None:
        lead = f"{' ' * gutter} = {word}: "
        style = "bold green" if word == "help" else "bold"
        for number, part in enumerate(_wrapped(text, self._width - len(lead))):
            line = Text(" " * gutter).append(" = ", "blue").append(f"{word}: ", style)
            if number:
                line = Text(" " * len(lead))
            self._line(line.append_text(_marked(part)))

    def _conclusion(self) -> Text:
        answer = self._answer
        serious = sum(not trouble.harmless for trouble in answer.troubles)
        count = len(answer.steps)
        ran = f"{count} step{'s' if count != 1 else ''} of the pipeline {answer.pipeline!r}"
        if answer.pipeline == "zero":
            ran = f"{count} steps of the pipelines 'zero' and 'default'"
        if serious:
            built = " The module was built and loaded all the same." if answer.built else ""
            return Text(f"{serious} explained, {ran} ran.{built}", "bold")
        return Text(
            f"Nothing is wrong: {ran} ran, no operator is left, every name leads somewhere, and "
            "the result was compiled and loaded into the virtual machine.",
            "bold green",
        )


class _Window:
    """As much of a long line as fits, with the mark in it."""

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
        """The mark, and the label behind or below it."""
        marks = " " * self._at + mark * self._width
        if len(marks) + 1 + len(self._label) <= self._room:
            yield f"{marks} {self._label}"
            return
        yield marks
        yield " " * max(0, min(self._at, self._room - len(self._label))) + self._label


def _wrapped(text: str, width: int) -> Sequence[str]:
    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False) or [""]


def _marked(text: str, style: str = "") -> Text:
    """What stands in backticks is shown as code; the backticks stay, for it may be copied."""
    marked = Text(text, style)
    for found in _CODE.finditer(text):
        marked.stylize("cyan", *found.span())
    return marked
