"""`relaxfuzz minimize`: what can be asked."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .app import app, cores, finish
from .options import Json, Workers


@app.command(
    epilog="Examples:\n\n"
    "  relaxfuzz minimize relaxfuzz-out/0123456789\n\n"
    "  relaxfuzz minimize model.json --pass FuseOps --format issue\n\n"
    "  relaxfuzz minimize model.py --pass LegalizeOps --pass my_passes.py:make_pass\n\n"
    "  relaxfuzz minimize model.py --pipeline default --budget 5m\n\n"
    "  relaxfuzz minimize model.json --predicate 'python still_wrong.py {}.py'\n\n"
    "Exit codes: 0 nothing is wrong, or the predicate's module is minimized; 1 something is, and "
    "is minimized; 2 your mistake; 3 a fault of relaxfuzz."
)
def minimize(
    module: Annotated[
        Path,
        typer.Argument(
            metavar="MODULE",
            help="TVM JSON, or a Python file that defines one IRModule (it is executed), or a "
            "finding: DIR/ID, or its reproducer in DIR.",
        ),
    ],
    pass_: Annotated[
        list[str] | None,
        typer.Option(
            "--pass",
            metavar="PASS",
            help="What goes wrong on the module, spelled as for `check`. May be repeated: then "
            "the list of passes is made shorter first.",
        ),
    ] = None,
    pipeline: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="zero, default or cpu_generic instead of passes."),
    ] = None,
    oracle: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Ask only this oracle. Default: the usual ones."),
    ] = None,
    predicate: Annotated[
        str | None,
        typer.Option(
            metavar="CMD",
            help="Instead of passes: a command that ends with 0 as long as a module is "
            "interesting. {}.py in it stands for a Python file that defines `mod`, {} for a file "
            "with TVM JSON, which is otherwise its last argument.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="What is written. Default: MODULE-minimized.py (.md for an issue) here.",
            show_default=False,
        ),
    ] = None,
    budget: Annotated[
        str, typer.Option(metavar="TIME", help="How long to search: 90s, 5m, 1h.")
    ] = "60s",
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Go on from FILE.state, which an unfinished search leaves."),
    ] = False,
    format: Annotated[
        str,
        typer.Option(
            metavar="FORM",
            help="source: a Python file that rebuilds the module; tvmscript: the module as "
            "TVMScript; issue: a report in Markdown.",
        ),
    ] = "source",
    workers: Workers = None,
    json: Json = False,
) -> None:
    """Make a module as small as possible that still shows what is wrong.

    The reproducer that is written was seen to fail in a process of its own. What else is met on
    the way is kept: in DIR (`relaxfuzz findings --unconfirmed`), or in FILE.others.

    This executes the passes, of a finding those that it names (docs/security.md).
    """

    def command() -> int:
        from ..commands import minimize as command
        from ..user_input.mistake import parse_budget

        return command.run(
            command.Request(
                module=module,
                passes=tuple(pass_ or ()),
                pipeline=pipeline,
                oracle=oracle,
                predicate=predicate,
                out=out,
                seconds=parse_budget(budget),
                resume=resume,
                form=command.form_of(format),
                workers=workers or cores(),
                json=json,
            )
        )

    finish(command)
