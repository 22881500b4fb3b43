"""`relaxfuzz check`: check passes, or a pipeline, on a module of the user's."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from ...compat import torch_hidden, weights
from ..system.errors import UserError
from ..system.limits import cores
from ..user_input.settings import Settings
from ..user_input.sources import function_in, is_function
from .app import command
from .options import Module, to_read


def _early(module: Path, given: Settings, pipeline: str | None, **rest: object) -> None:
    from ..output.readable import sentence
    from ..user_input import vocabulary

    given.seconds()
    file, _ = function_in(str(module)) or (module, "")
    if not is_function(str(module)) and not os.path.lexists(file):
        raise UserError(f"no module file '{sentence(str(file))}'")
    vocabulary.check(passes=given.passes, oracles=given.oracles)
    torch_hidden.hide([*given.passes, pipeline or ""])


@command(
    ends_soon=True,
    workers=True,
    early=_early,
    epilog="Examples:\n\n"
    "  relaxfuzz check model.json\n\n"
    "  relaxfuzz check model.py FuseOps 'ConvertToDataflow(min_size=1)'\n\n"
    "  relaxfuzz check model.py --pipeline default\n\n"
    "  relaxfuzz check model.py --pipeline my_build.py:pipeline",
)
def check(
    module: Module,
    given: Settings,
    pipeline: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="zero, default, cpu_generic, s_tir or tirx (of kernels), or "
            "path/to/file.py:factory of your own: check each step on the module that reaches it, "
            "and the whole.",
        ),
    ] = None,
    inputs: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Inputs of the model, *.npz by the names of parameters or in their order, with "
            "--expected.",
            show_default=False,
        ),
    ] = None,
    expected: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The right outputs for --inputs, *.npz in their order: names what departs from "
            "them. A folder as ONNX's tests have it, given as MODULE, holds both.",
            show_default=False,
        ),
    ] = None,
    at: Annotated[
        str | None,
        typer.Option(
            "--at",
            metavar="STAGE",
            help="The stage that the module is at: which passes are at home there. Default: found "
            "from its functions, raw if it has Relax functions, and those of its PrimFuncs.",
            show_default=False,
        ),
    ] = None,
) -> int:
    """Check passes, or a pipeline, on a module of yours.

    Each of several passes is checked on the module as it is, and on the result of the passes named
    before it.
    """
    from ..process.local_pool import LocalPool
    from ..session.chosen import environment_of, skip_survey

    skip_survey(given)
    # One worker is for findings, which would otherwise wait until all checks are made.
    workers = (given.workers or cores()) + 1
    with (
        weights.kept_in(given.out / weights.FOLDER),
        LocalPool(workers, wait=False, environment=environment_of(given)) as pool,
    ):
        weights.install()
        # This import takes as long as starting the workers.
        from ..session.checking import check_module
        from ..session.clock import process_began

        code = check_module(
            *(module, given),
            pipeline=pipeline,
            values=_values(inputs, expected),
            stage=at,
            pool=pool,
            began=process_began(),
        )
    if given.redact:
        print(f"redacted findings: {to_read(given.out, given)}", file=sys.stderr)
    return code


def _values(inputs: Path | None, expected: Path | None) -> tuple[Path, Path] | None:
    if inputs is not None and expected is not None:
        return inputs, expected
    if inputs is not None or expected is not None:
        raise UserError("--inputs and --expected belong together: give both")
    return None
