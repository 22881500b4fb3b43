"""`make bench`: the cost of checks, and of the same checks written by hand.

All times are CPU time of one process, so that other work on the machine disturbs them little (it
still shares caches and cores: compare figures of one run). All measured work runs in forks of this
process, because passes kill processes.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os

from rich.console import Console

from relaxfuzz.fuzz.campaign import schedule
from relaxfuzz.fuzz.process.launch import ONE_THREAD

from .memory import memory, slope
from .report import report, show

MODULES = 6 * schedule.MODULES_IN_BLOCK


def main() -> None:
    """Print the figures, or with --memory the curve."""
    os.environ.update(ONE_THREAD)
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--modules", type=int, default=MODULES)
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    parser.add_argument("--memory", type=float, metavar="MINUTES", help="only the memory curve")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="for --memory")
    options = parser.parse_args()
    if options.memory is None:
        figures = report(options.seed, options.modules)
        if options.json:
            print(json.dumps(figures))
        else:
            show(figures, Console())
        return
    points = []
    for point in memory(options.seed, options.memory, options.workers):
        points.append(point)
        if not options.json:
            bar = "#" * round(point.largest / 10)
            line = f"{point.seconds:6.0f} s  zygote {point.zygote:4.0f} MB  largest worker"
            print(f"{line} {point.largest:4.0f} MB  {bar}", flush=True)
    summary = {"largest_mb": max(p.largest for p in points), "mb_per_minute": slope(points)}
    if options.json:
        print(json.dumps({"points": [dataclasses.asdict(p) for p in points], **summary}))
    else:
        print("largest {largest_mb:.0f} MB, {mb_per_minute:+.2f} MB a minute".format(**summary))


if __name__ == "__main__":
    main()
