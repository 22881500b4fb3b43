"""Generated modules as text, for other programs; they are made in a child."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import tvm

from ...compat.serialization import save_json
from ...generators.families import FAMILIES
from ...generators.source import to_source
from ...oracles.pass_runs import digest
from ...oracles.text.scripted import gives, scripted
from ..process.context import Context
from ..process.protocol import Job
from .draw import example

WRITERS: Mapping[str, Callable[[tvm.IRModule], str]] = {"json": save_json, "source": to_source}
"""The forms of a module as a file, besides TVMScript."""


@dataclass(frozen=True, slots=True)
class Generated:
    """One generated module."""

    digest: str
    """Equal for structurally equal modules."""
    text: str
    reads_back: bool = True
    """False if TVM does not read the script back as the same module."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Generate(Job[Generated]):
    """Generate the modules of a seed with these numbers."""

    family: str
    seed: int
    first: int
    count: int
    form: str
    """A name in `WRITERS`; any other name means TVMScript."""


def generate(job: Generate, context: Context[Generated]) -> None:
    """Report each module."""
    family = FAMILIES[job.family]
    for index in range(job.first, job.first + job.count):
        context.journal.position(index, family.first, 0, "generate")
        mod = example(family.modules(), job.seed, index)
        content = f"{digest(mod):x}"
        if (write := WRITERS.get(job.form)) is not None:
            context.report(Generated(content, write(mod)))
        elif (short := scripted("Module", mod)) is not None:
            context.report(Generated(content, short))
        else:
            text = str(mod.script(show_meta=True))
            context.report(Generated(content, text, gives(text, mod)))
