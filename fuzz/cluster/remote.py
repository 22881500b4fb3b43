"""What runs in a Dask worker: it starts a zygote, and passes on the jobs that come.

A Dask worker never forks and never runs a pass. It has one pool for each campaign that it works
for, with as many children as the worker has threads. A pool without a job for `IDLE` seconds ends:
its driver may be gone.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import os
import queue
import shutil
import tempfile
import threading
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from distributed import get_worker

from ...compat.availability import Availability
from ..process.block import StageDone
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
    Result,
    Submit,
    UnknownJob,
    decode_request,
    encode,
)
from ..process.worker import HANDLERS
from ..system.environment import HERE, Environment

if TYPE_CHECKING:
    from distributed import Worker

    from .code import Code

IDLE = 30.0
"""Seconds after which a pool without a job ends; the next job starts another one."""

STATUS_SECONDS = 1.0
"""Between two status messages of a job."""

ATTEMPTS = 2
"""A job for which so many pools broke, one after the other, goes to another worker."""


@dataclass(frozen=True, slots=True)
class Task:
    """A job, as Dask hands it to a worker."""

    campaign: str
    """The id of the driver's campaign; also the topic of status messages."""
    submit: bytes
    """`Submit` as a line of the protocol."""
    available: str
    """The driver's `Availability` as JSON."""
    has_code: bool
    """The worker needs files of the driver's, see `receive`."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a task."""

    worker: str
    """The address of the Dask worker."""
    replies: bytes
    """Lines of the protocol, compressed."""
    error: str | None = None
    """Why this worker cannot do the job; there are no replies then."""


@dataclass(frozen=True, slots=True)
class Status:
    """A job is running."""

    id: int
    worker: str
    checks: int
    """So far."""
    item: str
    """The pass (or "sequence", or pipeline) that is being checked; or the step."""
    heartbeat: str | None
    """The last `Heartbeat` as a line of the protocol; None before the first."""


@dataclass(frozen=True, slots=True)
class _Files:
    """The driver's files of one campaign, unpacked on this worker."""

    root: str
    environment: Environment

    def rename(self, lines: bytes) -> bytes:
        """Lines of the protocol with the names that files have on the driver."""
        return lines.replace(json.dumps(self.root)[1:-1].encode() + b"/", b"/")


@dataclass(slots=True, eq=False)
class _Pool:
    local: LocalPool
    files: _Files | None
    users: int = 0
    jobs: dict[int, int] = field(default_factory=dict)
    """Ids of running jobs in the pool, by the driver's ids."""
    idle: threading.Timer | None = None
    closed: bool = False

    def close(self) -> None:
        self.closed = True
        self.local.close()


_files: dict[str, _Files] = {}
"""By campaign."""

_pools: dict[str, _Pool] = {}
"""By campaign."""

_lock = threading.Lock()
"""Of both. `cancel` does without it: a pool may take seconds to start."""


async def receive(campaign: str, code: Code, dask_worker: Worker) -> None:
    """Take the driver's files, before the first job of a campaign.

    Raises:
        OSError: they cannot be written.
    """

    def unpack() -> None:
        folder = tempfile.mkdtemp(prefix="relaxfuzz-", dir=dask_worker.local_directory)
        root = os.path.realpath(folder)
        try:
            _files[campaign] = _Files(root, code.unpack(root))
        except BaseException:
            shutil.rmtree(root, ignore_errors=True)
            raise

    await asyncio.to_thread(unpack)


def work(task: Task) -> Outcome:
    """Do one job, to its end."""
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
            return Outcome(worker.address, zlib.compress(replies, 1))
    return Outcome(worker.address, b"", error)


async def cancel(campaign: str, id: int) -> None:
    """End a job of a campaign that runs in this worker; it still gives its result.

    A coroutine, because Dask waits for a function even if it is asked not to.
    """
    pool = _pools.get(campaign)
    if pool is not None and (job := pool.jobs.get(id)) is not None:
        pool.local.cancel(job)


async def release(campaign: str) -> None:
    """Remove everything of a campaign that is over."""

    def remove() -> None:
        with _lock:
            _close(campaign)
            if (files := _files.pop(campaign, None)) is not None:
                shutil.rmtree(files.root, ignore_errors=True)

    await asyncio.to_thread(remove)


@contextmanager
def _pool(task: Task, worker: Worker) -> Iterator[_Pool]:
    """A campaign's pool; raises `ExecutorError` if its zygote or the driver's files are missing."""
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
    files = _files.get(task.campaign)
    if files is None and task.has_code:
        raise ExecutorError("it has not received the files that the passes need")
    environment = HERE if files is None else files.environment
    available = Availability.from_json(task.available)
    local = LocalPool(worker.state.nthreads, environment=environment, available=available)
    return _Pool(local, files)


def _close_if_idle(campaign: str, pool: _Pool) -> None:
    with _lock:
        if _pools.get(campaign) is pool and not pool.users:
            _close(campaign)


def _close(campaign: str) -> None:
    if (pool := _pools.pop(campaign, None)) is not None:
        pool.close()


def _run(task: Task, pool: _Pool, worker: Worker) -> bytes:
    """The replies to a job as protocol lines; raises `ExecutorError` if the pool is broken."""
    try:
        submit = decode_request(task.submit, HANDLERS)
    except UnknownJob as error:
        return encode(Failed(error.id, str(error))) + encode(Ended(error.id))
    assert isinstance(submit, Submit), submit
    inbox: queue.SimpleQueue[Reply | None] = queue.SimpleQueue()
    replies: list[Any] = []
    heartbeat: Heartbeat | None = None
    reported = 0.0
    pool.jobs[submit.id] = pool.local.submit(submit.job, inbox.put, limits=submit.limits)
    try:
        while not (replies and isinstance(replies[-1], Ended | Died)):
            if time.monotonic() - reported >= STATUS_SECONDS:
                reported = time.monotonic()
                status = _status(submit.id, worker, pool, replies, heartbeat)
                worker.log_event(task.campaign, dataclasses.asdict(status))
            try:
                reply = inbox.get(timeout=STATUS_SECONDS)
            except queue.Empty:
                continue
            match reply:
                case None:  # the job starts again
                    replies.clear()
                case Heartbeat():
                    heartbeat = reply
                case Broken(reason=reason):
                    raise ExecutorError(reason)
                case Forked():
                    pass
                case _:
                    replies.append(reply)
    finally:
        del pool.jobs[submit.id]
    if pool.closed:  # by another thread: the job may have been cut short
        raise ExecutorError("its pool was closed")
    lines = b"".join(encode(dataclasses.replace(reply, id=submit.id)) for reply in replies)
    return lines if pool.files is None else pool.files.rename(lines)


def _status(
    id: int, worker: Worker, pool: _Pool, replies: list[Any], heartbeat: Heartbeat | None
) -> Status:
    line, item = None, ""
    if heartbeat is not None:
        line = encode(dataclasses.replace(heartbeat, id=id))
        line = line if pool.files is None else pool.files.rename(line)
        item = heartbeat.position.item or heartbeat.position.step
    values = (reply.value for reply in replies if isinstance(reply, Result))
    return Status(
        id=id,
        worker=worker.address,
        checks=sum(value.checks for value in values if isinstance(value, StageDone)),
        item=item,
        heartbeat=None if line is None else line.decode(),
    )
