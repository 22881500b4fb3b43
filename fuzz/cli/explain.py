"""`relaxfuzz explain`: why does a module not build, and what can be done?"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ...compat import torch_hidden, weights
from ..output.events import emit
from ..user_input.settings import Settings
from .app import command
from .options import Module

if TYPE_CHECKING:
    from ...oracles.explain.trouble import Trouble
    from ..process.protocol import Died

_BUILD = "build"
"""The step in the journal of the process that is not a step of the pipeline."""


def _early(pipeline: str, **rest: object) -> None:
    torch_hidden.hide([pipeline])


@command(
    ends_soon=True,
    workers=True,
    early=_early,
    epilog="Examples:\n\n"
    "  relaxfuzz explain model.json\n\n"
    "  relaxfuzz explain model.py --pipeline cpu_generic\n\n"
    "  relaxfuzz explain lowered.json --pipeline none\n\n"
    "  relaxfuzz explain model.py --pipeline my_build.py:pipeline",
)
def explain(
    module: Module,
    given: Settings,
    pipeline: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="How you build: default (relax.build), cpu_generic "
            "(relax.get_default_pipeline), zero (then default), none (the module is already "
            "lowered), or path/to/file.py:factory of your own pipeline.",
        ),
    ] = "default",
) -> int:
    """Explain why a module does not build, and what to do.

    For errors such as "cannot handle this intrinsic" and "cannot emit this Relax operator
    directly". The module goes through the pipeline step by step and is inspected after each step.
    The report names the step after which something was not lowered or was lost, and the line of
    your module that it comes from.
    """
    from ...oracles.explain.steps import NONE
    from ...oracles.explain.trouble import Explanation
    from ..jobs.jobs import Explain
    from ..loading.read_module import inspect, load
    from ..loading.targets import pipeline_named
    from ..output.diagnostics import Diagnostics
    from ..process.executor import JobFailed, ask
    from ..process.local_pool import LocalPool
    from ..process.protocol import Died, Limits
    from ..session.met import breaking
    from ..system.scratch import scratch

    # The module may be large, and one step is the whole build.
    limits = Limits(step_seconds=120.0, memory_mb=8192)
    spelling = pipeline if pipeline == NONE else pipeline_named(pipeline)
    file = str(module) if module.suffix == ".py" else None
    weights.install()
    with weights.kept_in(scratch() / weights.FOLDER), LocalPool(1) as pool:
        inspect(module)
        job = Explain(module=load(module, pool, well_formed=False), pipeline=spelling, file=file)
        try:
            answer = ask(pool, job, limits=limits)
        except JobFailed:
            load(module, pool)  # reports an ill-formed module, which may not be explainable
            raise
        broken = isinstance(answer, Died) or answer.troubles
        knowns: tuple[str, ...] = ()
        if broken and spelling != NONE:
            knowns = breaking(pool, job.module, spelling, limits=limits)
    if isinstance(answer, Died):
        answer = Explanation(spelling, (), (_death(answer),), built=False)
    troubles = tuple(_with_commands(trouble, module, pipeline) for trouble in answer.troubles)
    answer = dataclasses.replace(answer, pipeline=pipeline, troubles=troubles, knowns=knowns)
    if given.json:
        for trouble in answer.troubles:
            emit({"event": "trouble", **dataclasses.asdict(trouble)})
        summary = {
            "event": "summary",
            "pipeline": answer.pipeline,
            "steps": answer.steps,
            "troubles": len(answer.troubles),
            "built": answer.built,
            "knowns": answer.knowns,
        }
        emit(summary)
    else:
        Diagnostics(module, answer).print()
    return 1 if answer.troubles else 0


def _with_commands(trouble: Trouble, module: Path, pipeline: str) -> Trouble:
    """The trouble with commands that can be copied."""

    def completed(text: str) -> str:
        return text.replace("MODULE --pipeline PIPELINE", f"{module} --pipeline {pipeline}")

    return dataclasses.replace(trouble, help=tuple(map(completed, trouble.help)))


def _death(died: Died) -> Trouble:
    """The death of the process, attributed to a step."""
    from ...oracles.explain.breakage import CHECK
    from ...oracles.explain.trouble import Trouble, TroubleKind
    from ..process import death

    step = "" if died.position is None else died.position.step
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
    return Trouble(TroubleKind.DIES, title, None, step or None, None, notes, advice)
