"""Parts of a Dask cluster die, join and leave: its campaign ends as one on this machine does."""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Callable, Iterator
from typing import Any

import psutil
import pytest

from relaxfuzz.fuzz.cluster import remote

from .campaigns import Campaign, kill
from .dask_cluster import Dask
from .endings import ending, harm
from .faults import gone

pytestmark = pytest.mark.slow

Fault = Callable[[Dask, random.Random], str | None]


@pytest.fixture
def dask(campaign: Campaign) -> Iterator[Dask]:
    """Of this campaign's own: the processes are known by its mark."""
    with Dask(campaign) as dask:
        yield dask


def begin(campaign: Campaign, dask: Dask) -> None:
    before = campaign.output().count("has joined")
    campaign.nightly("--scheduler", dask.address)
    while campaign.alive and campaign.output().count("has joined") == before:
        time.sleep(0.1)


def zygotes(campaign: Campaign, dask: Dask) -> list[psutil.Process]:
    """Those of the workers: the driver has one of its own."""
    assert campaign.driver is not None
    return [p for p in campaign.parts().get("zygote", []) if p.ppid() != campaign.driver.pid]


def tended(campaign: Campaign, dask: Dask) -> int:
    """How the driver ends where somebody replaces the workers that go."""
    deadline = time.monotonic() + 600
    while campaign.alive and time.monotonic() < deadline:
        dask.tend()
        time.sleep(0.2)
    return campaign.wait(1)


@pytest.mark.parametrize(
    "fault",
    [
        lambda dask, chance: dask.hit("worker", chance),
        lambda dask, chance: dask.hit("nannied", chance),
        lambda dask, chance: dask.hit("nanny", chance),
        lambda dask, chance: dask.leave(chance),
        lambda dask, chance: dask.join(),
        lambda dask, chance: dask.replace_scheduler(),
    ],
    ids=["worker", "worker with nanny", "nanny", "leave", "join", "scheduler"],
)
def test_the_campaign_goes_on(
    campaign: Campaign, dask: Dask, undisturbed: dict[str, Any], fault: Fault
) -> None:
    begin(campaign, dask)
    hits = 0
    for chance in map(random.Random, range(2)):
        time.sleep(chance.uniform(0, 3))
        if campaign.alive:
            hits += fault(dask, chance) is not None
    assert hits
    assert tended(campaign, dask) == 1, campaign.output()
    dask.end()
    assert harm(campaign) == []
    assert ending(campaign.out) == undisturbed


def test_a_child_and_a_zygote_of_a_worker_are_killed(
    campaign: Campaign, dask: Dask, undisturbed: dict[str, Any]
) -> None:
    begin(campaign, dask)
    for _ in range(2):
        while campaign.alive and not (there := zygotes(campaign, dask)):
            time.sleep(0.05)
        kill(there[-1])
        time.sleep(2)
    assert campaign.wait() == 1, campaign.output()
    dask.end()
    assert harm(campaign) == []
    assert ending(campaign.out) == undisturbed


def test_a_scheduler_that_never_returns(
    campaign: Campaign, dask: Dask, undisturbed: dict[str, Any]
) -> None:
    begin(campaign, dask)
    dask.scheduler.kill()
    assert campaign.wait() == 3
    assert "did not return in 120 s" in campaign.output()
    assert "Traceback" not in campaign.output()
    dask.replace_scheduler()
    dask.tend()
    begin(campaign, dask)
    assert campaign.wait() == 1, campaign.output()
    dask.end()
    assert harm(campaign) == []
    assert ending(campaign.out) == undisturbed


def test_the_driver_is_killed(campaign: Campaign, dask: Dask, undisturbed: dict[str, Any]) -> None:
    """The tasks of its workers end without a request to do so."""
    begin(campaign, dask)
    while campaign.alive and not zygotes(campaign, dask):
        time.sleep(0.05)
    assert campaign.driver is not None
    campaign.driver.send_signal(signal.SIGKILL)
    assert campaign.wait() == -signal.SIGKILL
    left = zygotes(campaign, dask)
    assert left
    # The block under way comes to its end first.
    assert all(gone(zygote, 60 + remote.IDLE) for zygote in left)
    begin(campaign, dask)
    assert campaign.wait() == 1, campaign.output()
    dask.end()
    assert harm(campaign) == []
    assert ending(campaign.out) == undisturbed
