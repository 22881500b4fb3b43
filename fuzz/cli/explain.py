"""`relaxfuzz explain`: why does a module not build, and what can be done?"""

from __future__ import annotations

import dataclasses
import json as jsonlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .app import command
from .options import Json, Module

if TYPE_CHECKING:
    from ...oracles.explain import Trouble
    from ..process.protocol import Died

_LOCATE, _BUILD = "locate ", "build"
"""The steps in the journal of the process that are not steps of the pipeline."""


@command(
    ends_soon=True,
    workers=True,
    epilog="Examples:\n\n"
    "  relaxfuzz explain model.json\n\n"
    "  relaxfuzz explain model.py --pipeline cpu_generic\n\n"
    "  relaxfuzz explain lowered.json --pipeline none\n\n"
    "  relaxfuzz explain model.py --pipeline my_build.py:pipeline\n\n"
    "Exit codes: 0 the module builds, 1 it does not, and the causes are explained, 2 user error, "
    "3 relaxfuzz itself failed.",
)
def explain(
    module: Module,
    pipeline: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="How you build: default (relax.build), cpu_generic "
            "(relax.get_default_pipeline), zero (then default), none (the module is already "
            "lowered), or path/to/file.py:factory of your own pipeline.",
        ),
    ] = "default",
    json: Json = False,
) -> int:
    """Explain why a module does not build, and what to do.

    For errors such as "cannot handle this intrinsic", "cannot emit this Relax operator directly"
    and "Cannot find PackedFunc". The module goes through the pipeline step by step and is inspected
    after each step. The report names the step after which something was not lowered, was lost or
    was misnamed, and the line of your module that it comes from.
    """
    from ...oracles.explain import Explanation
    from ..output.diagnostics import Diagnostics
    from ..process.executor import JobFailed, ask
    from ..process.jobs import Explain
    from ..process.local_pool import LocalPool
    from ..process.protocol import Died, Limits
    from ..user_input.read_module import inspect, load

    # The module may be large, and one step is the whole build.
    limits = Limits(step_seconds=120.0, memory_mb=8192)
    spelling = _pipeline(pipeline)
    file = str(module) if module.suffix == ".py" else None
    inspect(module)
    with LocalPool(1) as pool:
        job = Explain(module=load(module, pool, well_formed=False), pipeline=spelling, file=file)
        try:
            answer = ask(pool, job, limits=limits)
            if isinstance(answer, Died) and _step(answer).startswith(_LOCATE):
                # The step fails without dying, but kills the process on a part of the module.
                job = dataclasses.replace(job, locate=False)
                answer = ask(pool, job, limits=limits)
        except JobFailed:
            load(module, pool)  # reports an ill-formed module, which may not be explainable
            # Parts of a module cannot always be made where types are incomplete.
            answer = ask(pool, dataclasses.replace(job, locate=False), limits=limits)
    if isinstance(answer, Died):
        answer = Explanation(spelling, (), (_death(answer),), built=False)
    troubles = tuple(_with_commands(trouble, module, pipeline) for trouble in answer.troubles)
    answer = dataclasses.replace(answer, pipeline=pipeline, troubles=troubles)
    if json:
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
    else:
        Diagnostics(module, answer).print()
    return 1 if any(not trouble.harmless for trouble in answer.troubles) else 0


def _pipeline(name: str) -> str:
    """The spelling of the pipeline in the worker process."""
    from ...oracles.explain import PIPELINES
    from ...oracles.passcall import BadSpelling, parse
    from ..user_input.errors import UserError, near
    from ..user_input.probe import probe

    if name in PIPELINES:
        return name
    if ":" not in name:
        raise UserError(
            f"no pipeline {name!r}{near(name, PIPELINES)} "
            "(your own is spelled path/to/file.py:factory)"
        )
    try:
        call = parse(name)
    except BadSpelling as error:
        raise UserError(str(error)) from None
    probe([name])
    assert call.factory is not None, "a spelling with a colon is a factory"
    return call.factory


def _with_commands(trouble: Trouble, module: Path, pipeline: str) -> Trouble:
    """The trouble with commands that can be copied; `check` knows TVM's pipelines only."""
    from ...oracles.pipelines import PIPELINES

    def completed(text: str) -> str:
        if pipeline not in PIPELINES:
            return text.partition(" `relaxfuzz check ")[0]
        return text.replace("MODULE --pipeline PIPELINE", f"{module} --pipeline {pipeline}")

    return dataclasses.replace(trouble, help=tuple(map(completed, trouble.help)))


def _step(died: Died) -> str:
    return "" if died.position is None else died.position.step


def _death(died: Died) -> Trouble:
    """The death of the process, attributed to a step."""
    from ...oracles.explain import CHECK, Kind, Trouble
    from ..process import death

    step = _step(died)
    how = death.violation(died).title
    if step == _BUILD:
        title = f"code generation kills the process on the lowered module: {how}"
        notes = ("All steps of the pipeline ran; the process died after them.",)
    elif not step:
        title = f"the process dies on the module: {how}"
        notes = ("It died before the first step of the pipeline.",)
    else:
        title = f"{step} kills the process on the module: {how}"
        notes = ("The steps before it ran. A pass must never end the process.",)
    advice = (f"It is a bug of TVM. {CHECK}",)
    return Trouble(Kind.DIES, title, None, step or None, (), notes, advice)
