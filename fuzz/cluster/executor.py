"""Jobs on the workers of a Dask cluster, each of which has a zygote of its own.

A Dask task is one job. Dask chooses the worker, and another one if that dies. A job depends on
nothing but its fields, so it does not matter which worker does it, or how often it was begun: its
replies come in one piece when it is done, and only once.
"""

from __future__ import annotations

import contextlib
import itertools
import queue
import threading
import time
import uuid
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...compat import availability
from ..process.block import Block, StageDone
from ..process.executor import ExecutorError, Member, News, Sink
from ..process.protocol import (
    LIMITS,
    Broken,
    Ended,
    Failed,
    Heartbeat,
    Job,
    Limits,
    Reply,
    Result,
    Submit,
    decode_reply,
    encode,
    result_type,
)
from ..user_input.errors import UserError
from . import remote
from .code import Code
from .connection import Connection, wait_for
from .remote import Outcome, Status, Task
from .workers import Workers

if TYPE_CHECKING:
    from distributed import Client, Future

REFRESH = 0.5
"""Seconds between two looks at which workers are there."""

WORKERS = 60.0
"""Seconds that the first worker has to join."""

UNFIT = 5.0
"""Seconds that another worker has to join where all that are there are unfit."""

RETURN = 120.0
"""Seconds that a scheduler that is gone has to come back, or another one to take its place."""

EMPTY = 600.0
"""Seconds that a campaign waits for a worker after the last one has left."""

RETRIES = 3
"""How often a job whose workers died is given to Dask again."""


@dataclass(slots=True, eq=False)
class _Entry:
    job: Job[Any]
    sink: Sink
    limits: Limits
    future: Future[Outcome] | None = None
    """None: Dask does not have it."""
    candidates: frozenset[str] = frozenset()
    """The workers that may do it."""
    status: Status | None = None
    """None: not begun, as far as is known."""
    cancelled: bool = False
    deaths: int = 0

    def reset(self) -> None:
        """It has to be handed out again."""
        self.future, self.status = None, None


class ClusterExecutor:
    """The workers of one cluster."""

    def __init__(
        self,
        connection: Connection,
        *,
        code: Code | None = None,
        report: Callable[[News], None] = lambda news: None,
    ) -> None:
        """Wait for the first worker.

        Args:
            code: what the jobs need that is not installed on the workers.
            report: called for each worker that joins, leaves or is left out, and when the scheduler
                goes or comes back, in a thread of the executor.

        Raises:
            UserError: no worker is there in time, or none that is fit to work with this process.
        """
        self._connection = connection
        self._report = report
        self._campaign = f"relaxfuzz-{uuid.uuid4().hex[:12]}"
        self._has_code = code is not None
        self._available = availability.current().to_json()
        self._lock = threading.RLock()
        self._entries: dict[int, _Entry] = {}
        self._ids = itertools.count(1)
        self._workers = Workers(self._campaign, code, report)
        self._broken: str | None = None
        self._closed = threading.Event()
        self._wake = threading.Event()
        # Dask's own threads put things here and never wait for us, who may be waiting for them.
        self._inbox: queue.SimpleQueue[tuple[int, Future[Outcome]] | Status | None]
        self._inbox = queue.SimpleQueue()
        if not (
            wait_for(self._subscribed, WORKERS)
            and wait_for(self._decided, WORKERS)
            and self._workers.threads
        ):
            raise UserError(self._no_workers(WORKERS))
        self._threads = [
            threading.Thread(target=work, name=f"cluster {work.__name__}", daemon=True)
            for work in (self._monitor, self._collect)
        ]
        for thread in self._threads:
            thread.start()

    @property
    def workers(self) -> int:
        """See `Executor`; 1 while no worker is there."""
        return max(1, self._workers.threads)

    def members(self) -> tuple[Member, ...]:
        """See `Executor`."""
        with self._lock:
            running = [entry.status for entry in self._entries.values() if entry.status is not None]
        return self._workers.members(running)

    def submit(self, job: Job[Any], sink: Sink, *, limits: Limits = LIMITS) -> int:
        """See `Executor`. All replies but `Heartbeat` come when the job is done."""
        with self._lock:
            if self._broken is not None or self._closed.is_set():
                raise ExecutorError(self._broken or "the executor is closed")
            id = next(self._ids)
            self._entries[id] = _Entry(job, sink, limits)
            self._send(id)
        return id

    def cancel(self, id: int) -> None:
        """See `Executor`; a job that has ended already is left alone."""
        with self._lock:
            entry = self._entries.get(id)
            if entry is None:
                return
            entry.cancelled = True
            if entry.future is None or entry.status is None:
                del self._entries[id]
                self._withdraw([entry])
                entry.sink(Ended(id))
                return
            worker = entry.status.worker
        with contextlib.suppress(Exception):  # it may have died: then no replies come
            self._client.run(
                remote.cancel, self._campaign, id, workers=[worker], wait=False, on_error="ignore"
            )

    def close(self) -> None:
        """End all that was begun for this campaign; the cluster stays."""
        self._closed.set()
        self._wake.set()
        self._inbox.put(None)
        for thread in self._threads:
            thread.join()
        with self._lock:
            self._withdraw(self._entries.values())
            self._end_all()
        with contextlib.suppress(Exception):  # of a scheduler that is gone
            self._client.unsubscribe_topic(self._campaign)
            self._client.run(remote.release, self._campaign, on_error="ignore")

    def __enter__(self) -> ClusterExecutor:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    @property
    def _client(self) -> Client:
        return self._connection.client

    # Threads

    def _monitor(self) -> None:
        """See which workers are there, hand out lost jobs again, notice that the scheduler goes."""
        while True:
            self._wake.wait(REFRESH)
            self._wake.clear()
            if self._closed.is_set():
                return
            if not self._refreshed() and not self._reconnected():
                return
            if not self._workers.threads and time.monotonic() - self._workers.empty_since > EMPTY:
                self._break(self._no_workers(EMPTY))
                return
            with self._lock:
                here = self._workers.addresses
                for id, entry in list(self._entries.items()):
                    if entry.future is not None and entry.candidates.isdisjoint(here):
                        # Dask would wait for one of those that have left.
                        self._withdraw([entry])
                        entry.reset()
                    if entry.future is None:
                        self._send(id)

    def _refreshed(self) -> bool:
        """See which workers are there; false where the scheduler is gone."""
        try:
            if self._client.status == "running":
                self._workers.refresh(self._client)
                return True
        except Exception:  # Dask has many for a connection that breaks
            pass
        return False

    def _decided(self) -> bool:
        """A fit worker is there; or all that are there are unfit, and no other one joins."""
        if not self._refreshed():
            return False
        waited = time.monotonic() - self._workers.empty_since > UNFIT
        return self._workers.threads > 0 or (waited and self._workers.unfit != "")

    def _subscribed(self) -> bool:
        """Subscribe to the status of jobs at a new scheduler; false where it is gone."""
        try:
            self._client.subscribe_topic(
                self._campaign, lambda event: self._inbox.put(Status(**event[1]))
            )
        except Exception:
            return False
        return self._refreshed()

    def _reconnected(self) -> bool:
        """Wait for a scheduler; false where none comes, and the campaign is over."""
        name = self._connection.name
        gone = f"the scheduler at {name} is gone: waiting for its return"
        self._report(News("scheduler-gone", gone))
        self._workers.clear()
        with self._lock:
            for entry in self._entries.values():
                entry.reset()

        def back() -> bool:
            return self._closed.is_set() or (self._connection.renew() and self._subscribed())

        if not wait_for(back, RETURN):
            self._break(f"the scheduler at {name} is gone, and did not return in {RETURN:.0f} s")
            return False
        if not self._closed.is_set():
            text = f"the scheduler at {name} is back: unfinished jobs start again"
            self._report(News("scheduler-back", text))
        return True

    def _collect(self) -> None:
        """Fetch the replies of jobs that are done, and pass them on."""
        while (item := self._inbox.get()) is not None:
            if isinstance(item, Status):
                self._update(item)
                continue
            id, future = item
            with self._lock:
                entry = self._entries.get(id)
                if entry is None or entry.future is not future:
                    continue  # cancelled, or handed out again since
            outcome = self._outcome(id, entry, future)
            if outcome is None:
                continue
            replies = _replies(outcome, entry.job)
            with self._lock:
                if self._entries.pop(id, None) is None:
                    continue
            if isinstance(entry.job, Block):
                values = (reply.value for reply in replies if isinstance(reply, Result))
                checks = sum(value.checks for value in values if isinstance(value, StageDone))
                self._workers.count_block(outcome.worker, checks)
            for reply in replies:
                entry.sink(reply)

    def _outcome(self, id: int, entry: _Entry, future: Future[Outcome]) -> Outcome | None:
        """What came of a task; None where it is handed out again, or given up."""
        from distributed import KilledWorker

        try:
            outcome: Outcome = future.result(timeout=RETURN)
        except Exception as error:  # also where the scheduler is gone
            with self._lock:
                entry.reset()
                entry.deaths += isinstance(error, KilledWorker)
                if entry.deaths > RETRIES:
                    self._entries.pop(id, None)
                    text = f"Gave a job up after its workers died again and again: {error}"
                    entry.sink(Failed(id, text, None))
                    entry.sink(Ended(id))
        else:
            if outcome.error is None:
                return outcome
            self._workers.leave_out(outcome.worker, outcome.error)
            entry.reset()
        self._wake.set()
        return None

    # Tasks

    def _send(self, id: int) -> None:
        """Hand a job to Dask if a worker is there; else it waits."""
        entry = self._entries[id]
        if entry.cancelled:
            del self._entries[id]
            entry.sink(Ended(id))
            return
        here = self._workers.addresses
        if not here:
            return
        submit = encode(Submit(id, entry.job, entry.limits))
        task = Task(self._campaign, submit, self._available, self._has_code)
        try:
            future = self._client.submit(
                remote.work,
                task,
                key=f"{self._campaign}-{id}-{uuid.uuid4().hex[:8]}",
                workers=list(here),
                # A check takes milliseconds, a block seconds.
                priority=0 if isinstance(entry.job, Block) else 1,
                pure=False,
            )
        except Exception:  # the scheduler is gone: see `_monitor`
            self._wake.set()
            return
        entry.future, entry.candidates = future, here
        future.add_done_callback(lambda future: self._inbox.put((id, future)))

    def _withdraw(self, entries: Iterable[_Entry]) -> None:
        futures = [entry.future for entry in entries if entry.future is not None]
        if futures:
            with contextlib.suppress(Exception):  # of a scheduler that is gone
                self._client.cancel(futures)

    def _update(self, status: Status) -> None:
        with self._lock:
            entry = self._entries.get(status.id)
            if entry is None or entry.future is None:
                return
            entry.status = status
        if status.heartbeat is not None:
            heartbeat = decode_reply(status.heartbeat)
            assert isinstance(heartbeat, Heartbeat), heartbeat
            entry.sink(heartbeat)

    def _no_workers(self, seconds: float) -> str:
        name = self._connection.name
        if unfit := self._workers.unfit:
            return f"no worker at {name} is fit to work with this process. {unfit}"
        return f"no worker was at {name} for {seconds:.0f} s: start some with `dask worker`"

    def _break(self, why: str) -> None:
        with self._lock:
            self._broken = why
            self._end_all()

    def _end_all(self) -> None:
        for id, entry in sorted(self._entries.items()):
            entry.sink(Ended(id) if self._broken is None else Broken(id, self._broken))
        self._entries.clear()


def _replies(outcome: Outcome, job: Job[Any]) -> list[Reply]:
    kind = result_type(job)
    lines = zlib.decompress(outcome.replies).splitlines()
    return [decode_reply(line, lambda id: kind) for line in lines]
