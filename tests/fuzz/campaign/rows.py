"""Prints what a campaign over all passes gives, without times: `rows.py MODULES [SEED]`.

Whatever only makes checks faster leaves every line as it was. To compare with another commit, run
this file with the Python of its checkout, and diff.
"""

from __future__ import annotations

import dataclasses
import sys

from relaxfuzz.fuzz.campaign.campaign import CampaignConfig, run
from relaxfuzz.fuzz.campaign.events import Finished, HarnessFault
from relaxfuzz.fuzz.process.local_pool import LocalPool
from relaxfuzz.fuzz.process.targets import Target
from relaxfuzz.generators.families import DEFAULT
from relaxfuzz.oracles.catalogue import of_family


def main(modules: int, seed: int) -> None:
    """Print what each item of the schedule came to, and each violation with how often it was."""
    targets = tuple(map(Target, of_family(DEFAULT)))
    config = CampaignConfig(seed=seed, targets=targets, modules=modules)
    pool = LocalPool(1)
    try:
        for event in run(config, pool):
            match event:
                case HarnessFault():
                    print(event.describe(seed).splitlines()[-1])
                case Finished():
                    show(event)
    finally:
        pool.close()


def show(finished: Finished) -> None:
    """The counts by item, then the identities."""
    print(finished.state.modules, "modules,", finished.state.checks, "checks")
    for name, stats in sorted(finished.state.stats.items()):
        counts = dataclasses.asdict(dataclasses.replace(stats, seconds=0.0))
        counts["sampled"] = dict(sorted(stats.sampled.items()))
        print(name, {key: value for key, value in counts.items() if value})
    for name, ended in sorted(finished.state.ended.items()):
        for identity, times in sorted(ended.items()):
            print(name, times, *identity)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1)
