"""The command line: what can be asked, a file for each command. The work is done in `commands`.

Nothing here imports TVM: `--help` is quick, and works where there is none.
"""

from __future__ import annotations

# The order of `relaxfuzz --help`.
from . import check, doctor, nightly, replay, report, run, watch  # noqa: F401
from . import bisect, catalogue, explain, findings, known, minimize, zoo  # noqa: F401
from .app import app


def main() -> None:
    """The entry point of the `relaxfuzz` script."""
    app()
