"""The growth of the processes of a campaign."""

from __future__ import annotations

import contextlib
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass

import psutil

from relaxfuzz.fuzz.campaign import campaign
from relaxfuzz.fuzz.campaign.events import Finished
from relaxfuzz.fuzz.process.local_pool import LocalPool
from relaxfuzz.fuzz.process.targets import Target
from relaxfuzz.generators.families import DEFAULT
from relaxfuzz.oracles.catalogue import of_family

MEGABYTE = 1 << 20
EVERY = 15.0
"""Seconds between two points of the curve."""


@dataclass(frozen=True, slots=True)
class Memory:
    """A point of the curve, in megabytes."""

    seconds: float
    zygote: float
    largest: float
    """The largest worker since the last point."""


def memory(seed: int, minutes: float, workers: int) -> Iterator[Memory]:
    """Run a campaign and measure its processes."""
    targets = tuple(map(Target, of_family(DEFAULT)))
    config = campaign.CampaignConfig(seed=seed, targets=targets, seconds=60 * minutes)
    with LocalPool(workers) as pool:
        zygote = psutil.Process(pool.zygote)
        begin = last = time.monotonic()
        largest = 0.0
        for event in campaign.run(config, pool):
            now = time.monotonic()
            for child in zygote.children():
                with contextlib.suppress(psutil.Error):
                    largest = max(largest, child.memory_info().rss / MEGABYTE)
            if now - last >= EVERY or isinstance(event, Finished):
                yield Memory(now - begin, zygote.memory_info().rss / MEGABYTE, largest)
                last, largest = now, 0.0


def slope(points: list[Memory]) -> float:
    """Megabytes by which the largest worker grows per minute, by least squares."""
    if len(points) < 2:
        return 0.0
    fit = statistics.linear_regression(
        [p.seconds / 60 for p in points], [p.largest for p in points]
    )
    return float(fit.slope)
