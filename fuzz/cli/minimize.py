"""`relaxfuzz minimize`: the smallest module that still shows a violation."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..system.limits import cores
from ..user_input.settings import BUDGET, Settings
from .app import command
from .options import MODULE_HELP


def _early(pass_: list[str] | None, oracle: str | None, **rest: object) -> None:
    from ..user_input import vocabulary

    vocabulary.check(passes=pass_, oracles=None if oracle is None else [oracle])


@command(
    ends_soon=True,
    workers=True,
    early=_early,
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
            help=f"{MODULE_HELP} Or a finding: DIR/ID, or its reproducer in DIR.",
        ),
    ],
    given: Settings,
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
    format: Annotated[
        str,
        typer.Option(
            metavar="FORM",
            help="tvmscript: a Python file with the module as TVMScript, where that fails; "
            "source: one that rebuilds the module; issue: a bug report in Markdown.",
        ),
    ] = "tvmscript",
) -> int:
    """Make the smallest module that still shows a violation.

    The reproducer that is written was seen to fail in a process of its own.

    This executes the passes, for a finding those that it names (docs/security.md).
    """
    from ..minimize.session import MinimizeOptions, run
    from ..system.errors import parse_budget

    return run(
        MinimizeOptions(
            module=module,
            passes=tuple(pass_ or ()),
            pipeline=pipeline,
            oracle=oracle,
            predicate=predicate,
            out=out,
            seconds=parse_budget(given.budget or BUDGET),
            form=format,
            workers=given.workers or cores(),
            json=given.json,
            redact=given.redact,
        )
    )
