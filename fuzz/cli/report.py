"""`relaxfuzz report`: the findings of a folder as files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from ..user_input.settings import Settings
from .app import command
from .options import to_read


@command(
    epilog="Examples:\n\n"
    "  relaxfuzz report\n\n"
    "  relaxfuzz report relaxfuzz-out --html night.html --markdown night.md"
)
def report(
    given: Settings,
    folder: Annotated[
        Path | None, typer.Argument(metavar="[DIR]", help="That of --out.", show_default=False)
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option("--html", metavar="FILE", help="One self-contained page for a browser."),
    ] = None,
    jsonl: Annotated[
        Path | None,
        typer.Option("--jsonl", metavar="FILE", help="One JSON object a line, for programs."),
    ] = None,
    markdown: Annotated[
        Path | None,
        typer.Option("--markdown", metavar="FILE", help="Markdown, for the job summary of CI."),
    ] = None,
) -> int:
    """Write reports on a folder of findings: the bugs, what was checked, and the runs.

    Default: DIR/report.html. Nothing is run; the folder is only read.
    With --redact, the findings are run again, in a copy of the folder.

    Exit codes: 0 written; 2 user error.
    """
    files = {"html": html, "jsonl": jsonl, "markdown": markdown}
    return run(
        to_read(folder or given.out, given),
        {form: path for form, path in files.items() if path is not None},
    )


def run(folder: Path, files: Mapping[str, Path]) -> int:
    """Write reports.

    Args:
        files: by form; none: a page in the folder.

    Raises:
        UserError: no store, an extra that is not installed, or a file that cannot be written.
    """
    from ...compat.release import versions
    from ..findings.finding import UnknownFormat
    from ..findings.known import Choice
    from ..findings.store import BadStore, Store
    from ..report import PAGE, writer
    from ..report.data import gather
    from ..system.errors import UserError
    from ..system.files import write_whole

    files = files or {"html": folder / PAGE}
    writers = {form: writer(form) for form in files}
    try:
        with Store(folder, create=False) as store:
            report = gather(store, Choice().load(versions()["tvm"]))
    except (BadStore, UnknownFormat) as error:
        raise UserError(str(error)) from None
    for form, path in files.items():
        try:
            write_whole(path, writers[form](report))
        except OSError as error:
            raise UserError(f"cannot write --{form} '{path}': {error.strerror or error}") from None
        print(f"{form}: {path}")
    return 0
