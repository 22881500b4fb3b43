"""`relaxfuzz explain`: what can be asked."""

from __future__ import annotations

from typing import Annotated

import typer

from .app import app, finish
from .options import Json, Module


@app.command(
    epilog="Examples:\n\n"
    "  relaxfuzz explain model.json\n\n"
    "  relaxfuzz explain model.py --pipeline cpu_generic\n\n"
    "  relaxfuzz explain lowered.json --pipeline none\n\n"
    "  relaxfuzz explain model.py --pipeline my_build.py:pipeline\n\n"
    "Exit codes: 0 nothing is wrong, 1 something is and was explained, 2 your mistake, "
    "3 a fault of relaxfuzz."
)
def explain(
    module: Module,
    pipeline: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="How you build: default (relax.build), cpu_generic "
            "(relax.get_default_pipeline), zero (then default), none (the module is lowered "
            "already), or path/to/file.py:factory of a pipeline of your own.",
        ),
    ] = "default",
    json: Json = False,
) -> None:
    """Say why a module does not build, and what to do.

    For "cannot handle this intrinsic", "cannot emit this Relax operator directly", "Cannot find
    PackedFunc" and their like. The module goes through the pipeline step by step and is looked at
    after each, so that the step is named after which something was left, lost or misnamed, and
    the line of your module that it comes from.
    """

    def command() -> int:
        from ..commands import explain as command

        return command.run(module, pipeline, json=json)

    finish(command)
