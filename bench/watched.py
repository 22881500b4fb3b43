"""A campaign with a stopwatch on each of its tasks."""

from __future__ import annotations

import statistics
import tempfile
import time
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from relaxfuzz.compat.release import versions
from relaxfuzz.fuzz.campaign.block import Block
from relaxfuzz.fuzz.campaign.campaign import CampaignConfig
from relaxfuzz.fuzz.campaign.campaign import run as campaign
from relaxfuzz.fuzz.campaign.events import BlockDone, Finished, HarnessFault
from relaxfuzz.fuzz.campaign.recorder import Recorder
from relaxfuzz.fuzz.findings.finding import UnconfirmedFinding
from relaxfuzz.fuzz.findings.runs import Run
from relaxfuzz.fuzz.findings.store import Store
from relaxfuzz.fuzz.process.executor import Executor, Forwarding, Sink
from relaxfuzz.fuzz.process.protocol import (
    LIMITS,
    Died,
    Ended,
    Forked,
    Job,
    Limits,
    Reply,
    Submit,
    encode,
)
from relaxfuzz.oracles.violation import Mark


@dataclass(slots=True)
class Trip:
    """A block, or the rest of one, on its way to a worker and back."""

    job: Block
    replies: list[Reply] = field(default_factory=list)
    forked: float = 0.0
    ended: float = 0.0

    @property
    def there(self) -> bytes:
        """The message to the worker, as lines of the protocol."""
        return encode(Submit(0, self.job, LIMITS))

    @property
    def back(self) -> bytes:
        """The replies of the worker, as lines of the protocol."""
        return b"".join(map(encode, self.replies))


class Watched(Forwarding):
    """An executor that records all replies."""

    def __init__(self, executor: Executor) -> None:
        super().__init__(executor)
        self.trips: list[Trip] = []

    def submit(self, job: Job[Any], sink: Sink, *, limits: Limits = LIMITS) -> int:
        """See `Executor`."""
        if not isinstance(job, Block):
            return super().submit(job, sink, limits=limits)
        trip = Trip(job)
        self.trips.append(trip)

        def listen(reply: Reply | None) -> None:
            if reply is None:
                trip.replies.clear()
            else:
                trip.replies.append(reply)
            if isinstance(reply, Forked):
                trip.forked = time.monotonic()
            elif isinstance(reply, Ended | Died):
                trip.ended = time.monotonic()
            sink(reply)

        return super().submit(job, listen, limits=limits)


@dataclass(frozen=True, slots=True)
class Sizes:
    """Mean bytes of a task's messages, compressed like the answers of Dask workers."""

    there: float
    there_compressed: float
    back: float
    back_compressed: float

    @staticmethod
    def of(trips: list[Trip]) -> Sizes:
        """Encode the messages again; this is slow, so it happens after the measurement."""
        pairs = [(trip.there, trip.back) for trip in trips]
        return Sizes(
            statistics.fmean(len(there) for there, _ in pairs),
            statistics.fmean(len(zlib.compress(there, 1)) for there, _ in pairs),
            statistics.fmean(len(back) for _, back in pairs),
            statistics.fmean(len(zlib.compress(back, 1)) for _, back in pairs),
        )


@dataclass(frozen=True, slots=True)
class Measured:
    """One campaign, without its startup."""

    began: float
    """The time at which the workers were warm, by the monotonic clock."""
    seconds: float
    modules: int
    checks: int
    tasks: int
    """The number of tasks; a block whose process died has several."""
    task_seconds: float | None
    """The mean from fork to end; None if unknown, as only the local pool reports its forks."""
    driver: float
    """CPU seconds of this process: sending, decoding, committing, writing."""
    scheduler: float
    """CPU seconds of the scheduler's process in that time."""
    sizes: Sizes
    found: Mapping[Mark, int]
    """The findings, with the number of times each was found."""
    faults: tuple[str, ...]


def measured(
    config: CampaignConfig, executor: Executor, scheduler: Callable[[], float] = lambda: 0.0
) -> Measured:
    """Run a campaign on warm workers, with a store like that of `run`.

    Args:
        scheduler: CPU seconds of the scheduler so far.
    """
    warm_up(config, executor)
    watched = Watched(executor)
    faults: list[str] = []
    finished: Finished | None = None
    with tempfile.TemporaryDirectory(prefix="relaxfuzz-bench-") as folder:
        store = Store(Path(folder) / "out")
        with store:
            run = Run(
                command="bench",
                started=time.time(),
                seed=config.seed,
                workers=executor.workers,
                versions=versions(),
                passes=tuple(target.label for target in config.targets),
            )
            recorder = Recorder(runs=store.runs, run=run)
            began, spent, scheduled = time.monotonic(), time.process_time(), scheduler()
            for event in campaign(config, watched):
                match event:
                    case UnconfirmedFinding():
                        store.pend(event.finding(versions(), ()))
                    case BlockDone():
                        recorder.block(event.state, {}, faults)
                    case HarnessFault():
                        faults.append(event.text)
                    case Finished():
                        finished = event
            spent, scheduled = time.process_time() - spent, scheduler() - scheduled
    assert finished is not None, "a campaign ends with Finished"
    times = [trip.ended - trip.forked for trip in watched.trips if trip.forked]
    return Measured(
        began=began,
        seconds=finished.state.seconds,
        modules=finished.state.modules,
        checks=finished.state.checks,
        tasks=len(watched.trips),
        task_seconds=statistics.fmean(times) if times else None,
        driver=spent,
        scheduler=scheduled,
        sizes=Sizes.of(watched.trips),
        found=finished.state.occurrences,
        faults=tuple(faults),
    )


def warm_up(config: CampaignConfig, executor: Executor) -> None:
    """Run small blocks until each worker has had one, which makes a Dask worker start its zygote.

    They come from another seed, so that no measured module is compiled already.
    """
    small = replace(config, seed=config.seed + 1, modules=4 * executor.workers, modules_in_block=1)
    for _ in range(3):
        for _ in campaign(small, executor):
            pass
