"""Compare the module that TVM imports from a framework with the framework itself."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

from rich.text import Text

from ...oracles.pipelines import BUILT
from ...oracles.values.frameworks import OWN, ImporterVerdict
from ..jobs.jobs import Judge
from ..output.readable import sentence
from ..output.terminal import results
from ..process.executor import Executor, ask
from ..process.protocol import Died, Limits
from .session import Session

LEAST = 5.0
"""Least number of seconds for the build, even if less time is left."""

LONGEST = 400
"""Most characters of a line."""

TYPES = 5
"""Number of nodes of another type to print; the JSON has all of them."""


def compare(
    module: str, folder: Path, pool: Executor, seconds: float, pipeline: str = BUILT
) -> ImporterVerdict | None:
    """Compare the module with its framework; None if there are no results of the framework.

    Args:
        module: the module, as TVM JSON.
        folder: the folder in which reading the model left the framework's results.
        seconds: time for the default build and one run of it.

    Raises:
        ExecutorError: the worker failed.
    """
    if not any(folder.iterdir()):
        return None
    seconds = max(seconds, LEAST)
    limits = Limits(step_seconds=2 * seconds, memory_mb=8192)
    answer = ask(pool, Judge(module, str(folder), seconds, pipeline), limits=limits)
    if isinstance(answer, Died):
        why = "the process that compared it died"
        return ImporterVerdict("the framework", "its importer", not_evaluated=why, not_built=why)
    return answer


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
