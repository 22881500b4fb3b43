"""The part that runs in a Dask worker: it starts a zygote and passes jobs to it.

A Dask worker itself never forks and never runs a pass. It has one pool for each campaign that it
works for, with as many children as the worker has threads. A pool that is idle for `IDLE` seconds
ends, since its driver may be gone.
"""

from __future__ import annotations

import asyncio
import dataclasses
import queue
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from distributed import get_worker

from ...compat.availability import Availability
from ..process.executor import ExecutorError
from ..process.local_pool import LocalPool
from ..process.protocol import (
    Broken,
    Died,
    Ended,
    Failed,
    Forked,
    Heartbeat,
    Reply,
    Submit,
    UnknownJob,
    decode_request,
    encode,
)
from ..system.environment import Environment
from ..zygote import HANDLERS

if TYPE_CHECKING:
    from distributed import Worker

IDLE = 30.0
"""Seconds after which a pool without a job ends; the next job starts another one."""

ATTEMPTS = 2
"""Number of consecutive broken pools after which a job goes to another worker."""


@dataclass(frozen=True, slots=True)
class Task:
    """A job in the form that Dask hands to a worker."""

    campaign: str
    """The id of the driver's campaign; also the topic of its messages."""
    submit: bytes
    """The `Submit` message as a line of the protocol."""
    available: str
    """The driver's `Availability` as JSON."""
    environment: Environment
    """The environment of its processes; see `own_passes`."""


@dataclass(frozen=True, slots=True)
class TaskOutcome:
    """The outcome of a task."""

    worker: str
    """The address of the Dask worker."""
    replies: bytes
    """Lines of the protocol, compressed."""
    error: str | None = None
    """Reason why this worker cannot do the job; then there are no replies."""


@dataclass(frozen=True, slots=True)
class JobBegun:
    """A worker has begun a job."""

    id: int
    worker: str


@dataclass(slots=True, eq=False)
class _Pool:
    local: LocalPool
    users: int = 0
    jobs: dict[int, int] = field(default_factory=dict)
    """Ids of running jobs in the pool, by the driver's ids."""
    idle: threading.Timer | None = None
    closed: bool = False

    def close(self) -> None:
        self.closed = True
        self.local.close()


_pools: dict[str, _Pool] = {}
"""Pools by campaign."""

_lock = threading.Lock()
"""The lock of the pools. `cancel` does not take it, since a pool may take seconds to start."""


def work(task: Task) -> TaskOutcome:
    """Do one job from start to end."""
    worker = get_worker()
    error = ""
    for _ in range(ATTEMPTS):
        try:
            with _pool(task, worker) as pool:
                replies = _run(task, pool, worker)
        except ExecutorError as failure:
            error = str(failure)
            with _lock:
                _close(task.campaign)
        else:
            return TaskOutcome(worker.address, zlib.compress(replies, 1))
    return TaskOutcome(worker.address, b"", error)


async def cancel(campaign: str, id: int) -> None:
    """End a job of a campaign that runs in this worker; it still returns its result.

    This is a coroutine because Dask waits for a function even if asked not to.
    """
    pool = _pools.get(campaign)
    if pool is not None and (job := pool.jobs.get(id)) is not None:
        pool.local.cancel(job)


async def release(campaign: str) -> None:
    """End the processes of a finished campaign."""

    def close() -> None:
        with _lock:
            _close(campaign)

    await asyncio.to_thread(close)


@contextmanager
def _pool(task: Task, worker: Worker) -> Iterator[_Pool]:
    """Yield a campaign's pool; raise `ExecutorError` if its zygote does not start."""
    with _lock:
        pool = _pools.get(task.campaign)
        if pool is None:
            pool = _pools[task.campaign] = _start(task, worker)
        if pool.idle is not None:
            pool.idle.cancel()
        pool.users += 1
    try:
        yield pool
    finally:
        with _lock:
            pool.users -= 1
            if not pool.users:
                pool.idle = threading.Timer(IDLE, _close_if_idle, [task.campaign, pool])
                pool.idle.daemon = True
                pool.idle.start()


def _start(task: Task, worker: Worker) -> _Pool:
    available = Availability.from_json(task.available)
    threads = worker.state.nthreads
    return _Pool(LocalPool(threads, environment=task.environment, available=available))


def _close_if_idle(campaign: str, pool: _Pool) -> None:
    with _lock:
        if _pools.get(campaign) is pool and not pool.users:
            _close(campaign)


def _close(campaign: str) -> None:
    if (pool := _pools.pop(campaign, None)) is not None:
        pool.close()


def _run(task: Task, pool: _Pool, worker: Worker) -> bytes:
    """The replies to a job as protocol lines; raise `ExecutorError` if the pool is broken."""
    try:
        submit = decode_request(task.submit, HANDLERS)
    except UnknownJob as error:
        return encode(Failed(error.id, str(error))) + encode(Ended(error.id))
    assert isinstance(submit, Submit), submit
    inbox: queue.SimpleQueue[Reply | None] = queue.SimpleQueue()
    replies: list[Any] = []
    pool.jobs[submit.id] = pool.local.submit(submit.job, inbox.put, limits=submit.limits)
    begun = JobBegun(submit.id, worker.address)
    worker.log_event(task.campaign, dataclasses.asdict(begun))
    try:
        while not (replies and isinstance(replies[-1], Ended | Died)):
            match inbox.get():
                case None:  # the job starts again
                    replies.clear()
                case Broken(reason=reason):
                    raise ExecutorError(reason)
                case Forked() | Heartbeat():
                    pass
                case reply:
                    replies.append(reply)
    finally:
        del pool.jobs[submit.id]
    if pool.closed:  # by another thread: the job may have been cut short
        raise ExecutorError("its pool was closed")
    return b"".join(encode(dataclasses.replace(reply, id=submit.id)) for reply in replies)
