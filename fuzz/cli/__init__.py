"""The command line, with one file for each command.

Commands import TVM only when they run: `--help` is quick, and works without TVM.
"""

from __future__ import annotations

import sys

# The order of `relaxfuzz --help`.
from . import check, doctor, nightly, replay, report, run, watch  # noqa: F401
from . import lists, known, explain, findings, generate, minimize  # noqa: F401
from ..system import ending
from .app import END_SOON, app


def main() -> None:
    """The entry point of the `relaxfuzz` script."""
    if END_SOON.intersection(sys.argv[1:2]):
        ending.arm()
    try:
        app()
    except KeyboardInterrupt:  # the command has not started yet
        print("interrupted", file=sys.stderr)
        sys.exit(ending.INTERRUPTED)
