"""`relaxfuzz watch`: run a program with every pass of its builds checked."""

from __future__ import annotations

from typing import Annotated

import typer

from .app import command
from .options import OUT, Out


@command(
    context_settings={"allow_interspersed_args": False, "ignore_unknown_options": True},
    epilog="Examples:\n\n"
    "  relaxfuzz watch compile_model.py --target llvm\n\n"
    "  relaxfuzz watch --semantics -m my_pkg.build",
)
def watch(
    script: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="SCRIPT [ARG]...",
            help="A Python program and its arguments.",
            show_default=False,
        ),
    ] = None,
    module: Annotated[
        str | None,
        typer.Option("-m", metavar="MODULE", help="Run a module as the program, as python -m."),
    ] = None,
    semantics: Annotated[
        bool,
        typer.Option("--semantics", help="Evaluate modules that passes change in NumPy, too."),
    ] = False,
    out: Out = OUT,
) -> int:
    """Run a program of yours unchanged, and check each pass that its builds run.

    The exit code is 1 if a check failed, else that of the program.
    """
    from ..checker.watch import run
    from ..user_input.errors import UserError

    words = [*([] if module is None else [module]), *(script or ())]
    if not words:
        raise UserError("expected a script, or a module after -m")
    program, *args = words
    return run(program, args, as_module=module is not None, semantics=semantics, out=out)
