"""`relaxfuzz watch`: what can be asked."""

from __future__ import annotations

from typing import Annotated

import typer

from .app import app, finish
from .options import OUT, Out


@app.command(
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
            help="A Python program, and what it is given.",
            show_default=False,
        ),
    ] = None,
    module: Annotated[
        str | None,
        typer.Option("-m", metavar="MODULE", help="Run a module as the program, as python -m."),
    ] = None,
    semantics: Annotated[
        bool,
        typer.Option("--semantics", help="Evaluate what passes change in NumPy, before and after."),
    ] = False,
    out: Out = OUT,
) -> None:
    """Run a program of yours unchanged, and check what each pass does in its builds.

    The exit code is 1 where a pass broke a module, else that of the program.
    """

    def command() -> int:
        from ..commands import watch as command
        from ..user_input.mistake import Mistake

        given = list(script or ())
        if module is None and not given:
            raise Mistake("expected a script, or a module after -m")
        return command.run(
            command.Request(
                name=given.pop(0) if module is None else module,
                as_module=module is not None,
                args=tuple(given),
                semantics=semantics,
                out=out,
            )
        )

    finish(command)
