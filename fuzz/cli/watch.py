"""`relaxfuzz watch`: run a program with every pass of its builds checked."""

from __future__ import annotations

from typing import Annotated

import typer

from ..user_input.settings import Settings
from .app import command


@command(
    context_settings={"allow_interspersed_args": False, "ignore_unknown_options": True},
    epilog="Examples:\n\n"
    "  relaxfuzz watch compile_model.py --target llvm\n\n"
    "  relaxfuzz watch --semantics -m my_pkg.build",
)
def watch(
    given: Settings,
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
) -> int:
    """Run a program of yours unchanged, and check each pass that its builds run.

    The exit code is 1 if a check failed, else that of the program.
    """
    from ..checker.watch import run
    from ..system.errors import UserError

    words = [*([] if module is None else [module]), *(script or ())]
    if not words:
        raise UserError("expected a script, or a module after -m")
    program, *args = words
    return run(program, args, given, as_module=module is not None)
