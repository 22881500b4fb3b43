"""Options and arguments that several commands take."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Passes = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[PASS]...",
        help="FuseOps, 'FuseOps(fuse_opt_level=2)', path/to/file.py:factory or "
        "package.module:factory (a pass itself or its class will do). None: all passes of the "
        "catalogue.",
        show_default=False,
    ),
]
Module = Annotated[
    Path,
    typer.Argument(
        metavar="MODULE",
        help="TVM JSON, or a Python file (TVMScript or plain) that defines one IRModule. "
        "A Python file is executed.",
    ),
]
Oracles = Annotated[
    list[str] | None,
    typer.Option("--oracle", metavar="NAME", help="Only this oracle; may be repeated."),
]
Out = Annotated[
    Path,
    typer.Option("--out", metavar="DIR", help="Where findings are kept; a second run adds."),
]
Workers = Annotated[
    int | None, typer.Option(min=1, help="Processes at the same time. Default: one per core.")
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="Fuzz on the workers of this Dask cluster: tcp://HOST:PORT, tls://HOST:PORT, or a "
        "scheduler file. Needs 'relaxfuzz\\[cluster]'.",
        show_default=False,
    ),
]
Cluster = Annotated[
    str | None,
    typer.Option(
        metavar="local", help="Start a Dask cluster on this machine for it.", show_default=False
    ),
]
Block = Annotated[
    int | None,
    typer.Option(
        "--block",
        min=1,
        metavar="MODULES",
        help="How many one process is for, and one task of a cluster. Default: 16.",
        show_default=False,
    ),
]
Json = Annotated[
    bool, typer.Option("--json", help="One JSON object a line on stdout; progress on stderr.")
]
KnownFolders = Annotated[
    list[Path] | None,
    typer.Option(
        "--known",
        metavar="DIR",
        help="Bugs of yours that are known: counted, not told again; may be repeated. "
        "Default: relaxfuzz-known, if it is there.",
        show_default=False,
    ),
]
NoKnown = Annotated[
    bool,
    typer.Option("--no-known", help="Only what DIR says is known."),
]
KnownUpdate = Annotated[
    bool,
    typer.Option("--known-update", help="What is found is known from now on, in the first DIR."),
]
Stages = Annotated[
    list[str] | None,
    typer.Option(
        "--stage",
        metavar="NAME",
        help="Your own pass takes modules of this stage only (raw, legalized, ...); "
        "may be repeated.",
    ),
]
Like = Annotated[
    str | None,
    typer.Option(
        metavar="PASS",
        help="Your own pass keeps the contract of this one, at its stages. Default: the strict "
        "contract of a pass that nobody described.",
    ),
]
Exempt = Annotated[
    list[str] | None,
    typer.Option(
        metavar="ORACLE",
        help="Your own pass does not make the promise of this oracle: idempotent (it may change "
        "its own result), functions, signature, attributes (what callers see), values (all that "
        "compare values), ...; may be repeated.",
        show_default=False,
    ),
]

OUT = Path("relaxfuzz-out")
