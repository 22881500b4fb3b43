"""`relaxfuzz minimize`: the smallest module that still shows a violation."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..system.limits import cores
from .app import command
from .options import Json, Workers


@command(
    ends_soon=True,
    workers=True,
    epilog="Examples:\n\n"
    "  relaxfuzz minimize relaxfuzz-out/0123456789\n\n"
    "  relaxfuzz minimize model.json --pass FuseOps --format issue\n\n"
    "  relaxfuzz minimize model.py --pass LegalizeOps --pass my_passes.py:make_pass\n\n"
    "  relaxfuzz minimize model.py --pipeline default --budget 5m\n\n"
    "  relaxfuzz minimize model.json --predicate 'python still_wrong.py {}.py'\n\n"
    "Exit codes: 0 no oracle fails, or the predicate's module is minimized; 1 an oracle fails, and "
    "the module is minimized; 2 user error; 3 relaxfuzz itself failed.",
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
            help="The pass that fails on the module, spelled as for `check`. May be repeated: "
            "then the list of passes is minimized first.",
        ),
    ] = None,
    pipeline: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="zero, default or cpu_generic instead of passes."),
    ] = None,
    oracle: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Run only this oracle. Default: the usual ones."),
    ] = None,
    predicate: Annotated[
        str | None,
        typer.Option(
            metavar="CMD",
            help="Instead of passes: an interestingness test, a command that exits with 0 if a "
            "module is interesting. {}.py in it stands for a Python file that defines `mod`, {} "
            "for a file with TVM JSON, which is otherwise its last argument.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The file to write. Default: MODULE-minimized.py (.md for an issue) here.",
            show_default=False,
        ),
    ] = None,
    budget: Annotated[
        str, typer.Option(metavar="TIME", help="How long to search: 90s, 5m, 1h.")
    ] = "60s",
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Go on from FILE.state, which an unfinished search left."),
    ] = False,
    format: Annotated[
        str,
        typer.Option(
            metavar="FORM",
            help="tvmscript: a Python file with the module as TVMScript, where that fails; "
            "source: one that rebuilds the module; issue: a bug report in Markdown.",
        ),
    ] = "tvmscript",
    workers: Workers = None,
    json: Json = False,
) -> int:
    """Make the smallest module that still shows a violation.

    The reproducer that is written was seen to fail in a process of its own. Other violations that
    are found on the way are kept: in DIR (`relaxfuzz findings --unconfirmed`), or in FILE.others.

    This executes the passes, for a finding those that it names (docs/security.md).
    """
    from ..minimize.session import Request, run
    from ..user_input.errors import parse_budget

    return run(
        Request(
            module=module,
            passes=tuple(pass_ or ()),
            pipeline=pipeline,
            oracle=oracle,
            predicate=predicate,
            out=out,
            seconds=parse_budget(budget),
            resume=resume,
            form=format,
            workers=workers or cores(),
            json=json,
        )
    )
