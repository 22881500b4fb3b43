"""The process that finds out what works; see `compat.availability.find_out`."""

from __future__ import annotations

import sys

from rich.console import Console

from ...compat import availability
from ...compat.availability import Availability
from ...compat.drift import cannot_work
from ...compat.release import TVMUnsupported
from ..system.limits import cores


def main() -> int:
    """Print what was found, or why nothing works; the exit code."""
    from ..output.terminal import display
    from ..process import worker  # noqa: F401  # what its process cannot import, is reported here
    from ..process.local_pool import LocalPool
    from . import shipped
    from .shipped import Shipped
    from .survey import Survey

    shown = display(Console(stderr=True))
    shown.line("this build of TVM is used for the first time: trying what works on it")
    try:
        with LocalPool(cores(), available=Availability()) as pool:
            survey = Survey(pool, shown.progress)
            found = survey.run()
    finally:
        shown.close()
    shipped.keep(Shipped.of(survey))
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
