"""`relaxfuzz bisect`: what can be asked."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .app import app, cores, finish
from .options import Json, Workers


@app.command(
    epilog="Examples:\n\n"
    "  relaxfuzz bisect relaxfuzz-out/0123456789\n\n"
    "  relaxfuzz bisect corpus/found/take-nan-without-axis.py --tvm 0.26.0,0.27.0.post1\n\n"
    "  relaxfuzz bisect reproducer.py --tvm ~/tvm-before/.venv --tvm ~/tvm-after/.venv/bin/python"
)
def bisect(
    finding: Annotated[
        Path,
        typer.Argument(
            metavar="FINDING",
            help="A finding (DIR/ID), a reproducer file, or a file of a corpus. It is executed.",
        ),
    ],
    tvm: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LIST",
            help="Versions of TVM (0.26.0,0.27.0.post1), or paths of Python environments or "
            "interpreters with builds of yours, from the oldest to the newest; may be repeated. "
            "Default: all versions that relaxfuzz knows.",
            show_default=False,
        ),
    ] = None,
    recreate: Annotated[
        bool, typer.Option("--recreate", help="Make the environments of versions anew.")
    ] = False,
    workers: Workers = None,
    json: Json = False,
) -> None:
    """Say on which versions of TVM a finding fails, and which is the first bad one.

    Each version gets an environment of its own, made with your package index and kept in your
    cache folder. The reproducer, a program, is executed there (docs/security.md).
    Good: it ends well. Bad: it fails as the finding says.
    Other: it fails otherwise, or cannot be run.

    Exit codes: 0 good on all, 1 bad on some, 2 your mistake, or bad on none and other on some.
    """

    def command() -> int:
        from ..bisect.environments import FFI
        from ..commands import bisect as command

        return command.run(
            finding, tvm or list(FFI), workers=workers or cores(), recreate=recreate, json=json
        )

    finish(command)
