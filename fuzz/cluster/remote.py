"""What runs in a Dask worker: it drives a zygote of its own, and gives it the jobs that come.

A Dask worker never forks and never runs a pass. It has one pool for each campaign that it works
for, with as many children as it has threads; a pool that has nothing to do for a while, because its
driver is gone, ends by itself.
"""

from __future__ import annotations

import dataclasses
import queue
import threading
import time
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from distributed import get_worker

from ..process.block import StageDone
from ..process.executor import ExecutorError
from ..process.jobs import Execute
from ..process.local_pool import LocalPool
from ..process.protocol import (
    Broken,
    Died,
    Ended,
    Forked,
    Heartbeat,
    Reply,
    Result,
    Submit,
    decode_request,
    encode,
)
from ..process.worker import HANDLERS
from ..system.environment import HERE
from ..system.script_runner import RunnerDied, Runners
from . import fitness
from .cargo import Cargo

IDLE = 30.0
"""Seconds after which a pool without a job ends; the next job would start another one."""

EVERY = 1.0
"""Seconds between two signs of life of a job."""

POOLS = 2
"""A job for which so many pools broke, one after the other, goes to another worker."""


@dataclass(frozen=True, slots=True)
class Order:
    """A job, and what it takes to do it: a task of Dask."""

    campaign: str
    """Of which driver; also the topic of signs of life."""
    submit: bytes
    """`Submit` as a line of the protocol."""
    about: Mapping[str, str]
    """The driver's, see `fitness`."""
    cargo: str | None
    """The digest of what was shipped; None: nothing was."""


@dataclass(frozen=True, slots=True)
class Answer:
    """All that was said about a job."""

    worker: str
    """The address of the Dask worker."""
    lines: bytes
    """Lines of the protocol, compressed."""
    seconds: float
    """From the start of the job to its end."""
    trouble: str | None = None
    """Why this worker cannot do it; nothing was said then."""


@dataclass(frozen=True, slots=True)
class Sign:
    """That a job is under way, and how far it is."""

    id: int
    worker: str
    checks: int
    """So far."""
    item: str
    """The pass (or "sequence", or pipeline) that it is at; or the step."""
    beat: str | None
    """`Heartbeat` as a line of the protocol; None before the first."""


def work(order: Order) -> Answer:
    """Do one job, to its end."""
    worker = get_worker()
    began = time.monotonic()
    differ = fitness.differences(order.about, fitness.about())
    if differ:
        return Answer(worker.address, b"", 0.0, ", ".join(differ))
    trouble = ""
    for _ in range(POOLS):
        try:
            lines = _done(order, worker)
        except ExecutorError as error:
            trouble = str(error)
            release(order.campaign)
        else:
            return Answer(worker.address, zlib.compress(lines, 1), time.monotonic() - began)
    return Answer(worker.address, b"", time.monotonic() - began, trouble)


def _done(order: Order, worker: Any) -> bytes:
    """What was said about a job, in lines of the protocol.

    Raises:
        ExecutorError: the pool does not come up, or is broken.
    """
    with _pools.use(order.campaign, worker, order.cargo) as pool:
        submit = decode_request(pool.inward(order.submit), (*HANDLERS, Execute))
        assert isinstance(submit, Submit), submit
        replies: list[Any]
        if isinstance(submit.job, Execute):
            replies = pool.execute(submit.job)
        else:
            job = _Job(submit, worker, order.campaign, pool)
            job.run()
            if pool.closed:  # by another thread: then the job may have been cut off
                raise ExecutorError("its workers were closed")
            replies = job.replies
        said = (encode(dataclasses.replace(reply, id=submit.id)) for reply in replies)
        return pool.outward(b"".join(said))


async def cancel(campaign: str, id: int) -> None:
    """End a job of a campaign that runs in this worker; it still gives its answer.

    Dask waits for no coroutine, if it is asked not to; for a function it always does, or drops it.
    """
    _pools.cancel(campaign, id)


def release(campaign: str) -> None:
    """End the pool of a campaign that is over."""
    _pools.release(campaign)


class _Job:
    """A job under way."""

    def __init__(self, submit: Submit, worker: Any, campaign: str, pool: _Pool) -> None:
        self.replies: list[Any] = []
        self._submit = submit
        self._worker = worker
        self._campaign = campaign
        self._pool = pool
        self._beat: Heartbeat | None = None
        self._told = 0.0

    def run(self) -> None:
        """
        Raises:
            ExecutorError: the pool cannot do it.
        """
        pool = self._pool
        heard: queue.SimpleQueue[Reply | None] = queue.SimpleQueue()
        id = pool.local.submit(self._submit.job, heard.put, limits=self._submit.limits)
        pool.running[self._submit.id] = id
        try:
            self._tell()
            while not self._over():
                try:
                    self._hear(heard.get(timeout=EVERY))
                except queue.Empty:
                    self._tell()
                if time.monotonic() - self._told >= EVERY:
                    self._tell()
        finally:
            del pool.running[self._submit.id]

    def _over(self) -> bool:
        return bool(self.replies) and isinstance(self.replies[-1], Ended | Died)

    def _hear(self, reply: Reply | None) -> None:
        if reply is None:
            self.replies.clear()
        elif isinstance(reply, Heartbeat):
            self._beat = reply
        elif isinstance(reply, Broken):
            raise ExecutorError(reply.reason)
        elif not isinstance(reply, Forked):
            self.replies.append(reply)

    def _tell(self) -> None:
        self._told = time.monotonic()
        id = self._submit.id
        beat = None if self._beat is None else encode(dataclasses.replace(self._beat, id=id))
        sign = Sign(
            id,
            self._worker.address,
            sum(
                reply.value.checks
                for reply in self.replies
                if isinstance(reply, Result) and isinstance(reply.value, StageDone)
            ),
            "" if self._beat is None else self._beat.position.item or self._beat.position.step,
            None if beat is None else self._pool.outward(beat).decode(),
        )
        self._worker.log_event(self._campaign, dataclasses.asdict(sign))


@dataclass(slots=True, eq=False)
class _Pool:
    local: LocalPool
    cargo: Cargo | None
    runners: Runners
    users: int = 0
    idle: float = field(default_factory=time.monotonic)
    """Since when it has had no job."""
    running: dict[int, int] = field(default_factory=dict)
    """The pool's ids of jobs, by the driver's."""
    closed: bool = False

    def __enter__(self) -> _Pool:
        return self

    def __exit__(self, *exc_info: object) -> None:
        _pools.give_back(self)

    def inward(self, line: bytes) -> bytes:
        """What the driver says, with this worker's names of files."""
        return line if self.cargo is None else self.cargo.inward(line)

    def outward(self, lines: bytes) -> bytes:
        """What the driver is told, with its own names of files."""
        return lines if self.cargo is None else self.cargo.outward(lines)

    def execute(self, job: Execute) -> list[Reply]:
        """Run a script.

        Raises:
            ExecutorError: it cannot be run here.
        """
        try:
            code, stderr = self.runners.run(Path(job.script), job.seconds)
        except RunnerDied as error:
            raise ExecutorError(f"what executes scripts was killed again and again: {error}") from (
                None
            )
        return [Result(0, (code, stderr)), Ended(0)]

    def close(self) -> None:
        """End what runs in it."""
        self.closed = True
        self.local.close()
        self.runners.close()
        if self.cargo is not None:
            self.cargo.leave()


class _Pools:
    """The pools of this process, by campaign."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._starting = threading.Lock()
        self._pools: dict[str, _Pool] = {}
        self._timer: threading.Timer | None = None

    def use(self, campaign: str, worker: Any, digest: str | None) -> _Pool:
        """
        Args:
            digest: of what was shipped for the campaign.

        Raises:
            ExecutorError: the zygote does not come up, or what was shipped is not there.
        """
        with self._starting:  # not twice; and nobody else waits for it
            with self._lock:
                pool = self._pools.get(campaign)
            if pool is None:
                pool = _start(worker, digest)
                with self._lock:
                    self._pools[campaign] = pool
            pool.users += 1
        return pool

    def give_back(self, pool: _Pool) -> None:
        """A job is done; the last one of a campaign says so only by not coming back."""
        with self._starting:
            pool.users -= 1
            pool.idle = time.monotonic()
            if self._timer is None:
                self._watch(IDLE)

    def cancel(self, campaign: str, id: int) -> None:
        """A job that does not run here is left alone."""
        with self._lock:
            pool = self._pools.get(campaign)
        if pool is not None and (here := pool.running.get(id)) is not None:
            pool.local.cancel(here)

    def release(self, campaign: str) -> None:
        """End a campaign's pool, and what runs in it."""
        with self._lock:
            pool = self._pools.pop(campaign, None)
        if pool is not None:
            pool.close()

    def _watch(self, seconds: float) -> None:
        self._timer = threading.Timer(seconds, self._sweep)
        self._timer.daemon = True
        self._timer.start()

    def _sweep(self) -> None:
        with self._starting:
            now = time.monotonic()
            for campaign, pool in list(self._pools.items()):
                if not pool.users and pool.idle + IDLE <= now:
                    self.release(campaign)
            if self._pools:
                idle = [pool.idle for pool in self._pools.values() if not pool.users]
                self._watch(min(idle, default=now) + IDLE - now)
            else:
                self._timer = None


def _start(worker: Any, digest: str | None) -> _Pool:
    cargo = None if digest is None else Cargo.use(worker, digest)
    surroundings = HERE if cargo is None else cargo.surroundings
    try:
        local = LocalPool(worker.state.nthreads, environment=surroundings)
    except ExecutorError:
        if cargo is not None:
            cargo.leave()
        raise
    return _Pool(local, cargo, Runners(surroundings))


_pools = _Pools()
