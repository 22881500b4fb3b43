"""A model of a framework: how the module that TVM imports compares with the framework itself."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

from rich.text import Text

from ...oracles.values.frameworks import Verdict
from ..output.readable import sentence
from ..output.terminal import results
from ..process.executor import Executor, ask
from ..process.jobs import Judge
from ..process.protocol import Died, Limits
from .session import Session

LEAST = 5.0
"""Seconds for the build, however little is left."""

LONGEST = 400
"""Characters of a line."""

TYPES = 5
"""Nodes of another type that are printed; all are in the JSON."""


def compare(module: str, folder: Path, pool: Executor, seconds: float) -> Verdict | None:
    """The comparison of the module with its framework; None where the framework says nothing.

    Args:
        module: TVM JSON.
        folder: where the reading has left what the framework says.
        seconds: for the default build and one run of it.

    Raises:
        ExecutorError: the worker failed.
    """
    if not any(folder.iterdir()):
        return None
    seconds = max(seconds, LEAST)
    limits = Limits(step_seconds=2 * seconds, memory_mb=8192)
    answer = ask(pool, Judge(module, str(folder), seconds), limits=limits)
    if isinstance(answer, Died):
        why = "the process that compared it died"
        return Verdict("the framework", "its importer", not_evaluated=why, not_built=why)
    return answer


def show(verdict: Verdict, session: Session, code: int) -> int:
    """Print a verdict; the exit code, which is 1 where the importer is to blame."""
    lines = text(verdict)
    if session.output.as_json:
        session.output.emit({"event": "framework", **dataclasses.asdict(verdict), "text": lines})
    else:
        results().print()
        for line in lines:
            results().print(Text(sentence(line, LONGEST)), soft_wrap=True)
    return code or int(verdict.blames_importer)


def text(verdict: Verdict) -> list[str]:
    """The verdict in sentences."""
    return [
        f"compared with {verdict.framework} on the example arguments:",
        *(f"  {line}" for line in _lines(verdict)),
    ]


def _lines(verdict: Verdict) -> Iterator[str]:
    name = verdict.framework.partition(" ")[0]
    for what, other, none in (
        ("the NumPy evaluation of the module", verdict.evaluated, verdict.not_evaluated),
        ("the default build", verdict.built, verdict.not_built),
    ):
        yield f"{what} {_outcome(other, none)}"
    if verdict.evaluated is not None:
        starts = "" if verdict.starts is None else f", starting with {verdict.starts}"
        passes = "; relax's passes agree with one another" if verdict.agree else ""
        yield f"the importer {verdict.importer} gives another value than {name}{starts}{passes}"
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
