"""Print the comparison of the module that TVM imports from a framework with the framework."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from rich.text import Text

from ...oracles.values.frameworks import OWN, ImporterVerdict
from ..output.readable import sentence
from ..output.terminal import results
from .session import Session

LONGEST = 400
"""Most characters of a line."""

TYPES = 5
"""Number of nodes of another type to print; the JSON has all of them."""


def none(why: str) -> ImporterVerdict:
    """The verdict if nothing was compared, for this reason."""
    return ImporterVerdict("the framework", "its importer", not_evaluated=why, not_built=why)


def show(verdict: ImporterVerdict, session: Session, code: int) -> int:
    """Print a verdict; return the exit code, which is 1 if the importer is to blame."""
    lines = text(verdict)
    if session.output.as_json:
        session.output.emit({"event": "framework", **dataclasses.asdict(verdict), "text": lines})
    else:
        results().print()
        for line in lines:
            results().print(Text(sentence(line, LONGEST)), soft_wrap=True)
    return code or int(verdict.fails)


def text(verdict: ImporterVerdict) -> list[str]:
    """The verdict in sentences."""
    inputs = "" if verdict.framework == OWN else " on the example arguments"
    return [
        f"compared with {verdict.framework}{inputs}:",
        *(f"  {line}" for line in _lines(verdict)),
    ]


def _lines(verdict: ImporterVerdict) -> Iterator[str]:
    name = "expected" if verdict.framework == OWN else verdict.framework.partition(" ")[0]
    build = "the build" if verdict.framework == OWN else "the default build"
    for what, other, none in (
        ("the NumPy evaluation of the module", verdict.evaluated, verdict.not_evaluated),
        (build, verdict.built, verdict.not_built),
    ):
        yield f"{what} {_outcome(other, none)}"
    if verdict.evaluated is not None:
        starts = "" if verdict.starts is None else f", starting with {verdict.starts}"
        passes = "; relax's passes agree with one another" if verdict.agree else ""
        kind = "" if verdict.framework == OWN else "the importer "
        yield f"{kind}{verdict.importer} gives another value than {name}{starts}{passes}"
    elif verdict.departs is not None:
        yield f"{verdict.departs} departs from what is expected: the steps before it agree"
    elif verdict.built is not None:
        blamed = "the build" if verdict.not_evaluated is None else "the importer or the build"
        yield f"{blamed} gives another value than {name}"
    for each in verdict.types[:TYPES]:
        yield f"the importer {verdict.importer} changes a type: {each}"
    if len(verdict.types) > TYPES:
        yield f"and the types of {len(verdict.types) - TYPES} more nodes"


def _outcome(other: str | None, none: str | None) -> str:
    if none is not None:
        return f"gives no value: {none}"
    return "agrees" if other is None else f"differs: {other}"
