"""The process that finds out what works; see `compat.availability.find_out`."""

from __future__ import annotations

import sys

from rich.console import Console

from ...compat import availability
from ...compat.availability import Availability
from ...compat.drift import cannot_work
from ...compat.release import TVMUnsupported
from ..system.limits import cores, die_with_parent


def main() -> int:
    """Print the result, or the reason why nothing works; return the exit code."""
    from .. import zygote  # noqa: F401  # failures to import in its process are reported here
    from ..output.terminal import display
    from ..process.local_pool import LocalPool
    from . import shipped
    from .survey import Survey

    die_with_parent()
    shown = display(Console(stderr=True))
    shown.line("this build of TVM is used for the first time: trying what works on it")
    try:
        with LocalPool(cores(), available=Availability()) as pool:
            survey = Survey(pool, shown.progress)
            found = survey.run()
    finally:
        shown.close()
    shipped.keep(shipped.pieces_of(survey))
    availability.keep(found)
    print(found.to_json())
    return 0


if __name__ == "__main__":
    try:
        code = main()
    except Exception as error:
        lacking = str(error) if isinstance(error, TVMUnsupported) else cannot_work(error)
        if lacking is None:
            raise
        print(lacking)
        code = 2
    sys.exit(code)
