"""`relaxfuzz report`: what can be asked."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .app import app, finish


@app.command(
    epilog="Examples:\n\n"
    "  relaxfuzz report relaxfuzz-out\n\n"
    "  relaxfuzz report relaxfuzz-out --html night.html --junit night.xml"
)
def report(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="What --out named: a folder of findings.")
    ],
    html: Annotated[
        Path | None,
        typer.Option("--html", metavar="FILE", help="One page, whole in itself, for a browser."),
    ] = None,
    junit: Annotated[
        Path | None,
        typer.Option("--junit", metavar="FILE", help="JUnit XML, for the tests of a CI run."),
    ] = None,
    jsonl: Annotated[
        Path | None,
        typer.Option("--jsonl", metavar="FILE", help="One JSON object a line, for programs."),
    ] = None,
    markdown: Annotated[
        Path | None,
        typer.Option("--markdown", metavar="FILE", help="Markdown, for the summary of a CI run."),
    ] = None,
) -> None:
    """Write what a folder of findings tells: bugs, what was checked, how it went.

    Where no FILE is named, it is DIR/report.html. Nothing is run: it only reads.

    Exit codes: 0 written; 2 your mistake.
    """

    def command() -> int:
        from ..commands import report as command

        files = {"html": html, "junit": junit, "jsonl": jsonl, "markdown": markdown}
        return command.run(folder, {form: path for form, path in files.items() if path is not None})

    finish(command)
