"""`make bench-judge`: the share of planted faults that the oracles report.

One mutation alters the result of a correct pass, and the oracles check it as if the pass had given
it. The output has the share that is reported, by kind of mutation and by family of modules, and the
rules that kept quiet about the rest.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
from pathlib import Path

from rich.console import Console

from relaxfuzz.fuzz import zygote
from relaxfuzz.fuzz.process.launch import ONE_THREAD

from .measure import FAMILIES, MUTATIONS, Fault, faults
from .samples import REAL, real_modules
from .table import show


def main() -> None:
    """Print the tables."""
    os.environ.update(ONE_THREAD)
    parser = argparse.ArgumentParser(prog="make bench-judge", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--budget", type=float, default=300.0, help="seconds of each family")
    parser.add_argument("--modules", type=Path, help="an archive or a folder of TVM JSON")
    parser.add_argument("--family", choices=FAMILIES, nargs="+", default=list(FAMILIES))
    parser.add_argument("--kind", choices=list(MUTATIONS), nargs="+", default=list(MUTATIONS))
    parser.add_argument("--first", type=int, default=0, help="number of the first module")
    parser.add_argument("--keep", type=Path, help="a folder for the faults that are not reported")
    parser.add_argument("--json", action="store_true", help="one JSON object for each fault")
    options = parser.parse_args()
    zygote.warm_up()
    if options.modules is not None:
        real_modules(options.modules)
    kinds = {kind: MUTATIONS[kind] for kind in options.kind}
    found: list[Fault] = []
    for family in options.family:
        if family == REAL and options.modules is None:
            continue
        given = (options.modules, options.keep, kinds, options.first)
        for fault in faults(family, options.seed, options.budget, *given):
            found.append(fault)
            if options.json:
                print(json.dumps(dataclasses.asdict(fault)), flush=True)
    if not options.json:
        show(found, Console())


if __name__ == "__main__":
    main()
