"""Jobs on the workers of a Dask cluster, each with its own zygote.

A Dask task is one job. Dask chooses the worker, and another one if that dies. A job depends only on
its fields, so any worker may do it, after any number of attempts. Its replies come together when it
is done, and only once.
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
from ...oracles.passcall import PassCall
from ..campaign.block import Block
from ..process.executor import ExecutorError, News, Sink
from ..process.protocol import (
    LIMITS,
    Broken,
    Ended,
    Failed,
    Job,
    Limits,
    Reply,
    Submit,
    decode_reply,
    encode,
    result_type,
)
from ..system.errors import UserError
from . import own_passes, remote
from .connection import ClusterConnection, wait_for
from .remote import JobBegun, Task, TaskOutcome
from .workers import Workers

if TYPE_CHECKING:
    from distributed import Client, Future

REFRESH = 0.5
"""Seconds between two checks of the workers."""

WORKERS = 60.0
"""Seconds for the first worker to join."""

UNFIT = 5.0
"""Seconds for another worker to join if all present ones are unfit."""

RETURN = 10.0
"""Seconds for Dask to reconnect to its scheduler."""

ANSWER = 120.0
"""Seconds for the scheduler to hand over the replies to a job."""

EMPTY = 600.0
"""Seconds that a campaign waits for a worker after the last one has left."""

RETRIES = 3
"""Number of times that a job whose workers died is given to Dask again."""


@dataclass(slots=True, eq=False)
class _Entry:
    job: Job[Any]
    sink: Sink
    limits: Limits
    future: Future[TaskOutcome] | None = None
    """The task in Dask; None: Dask does not have it."""
    candidates: frozenset[str] = frozenset()
    """The workers allowed to do it."""
    worker: str | None = None
    """The worker doing it; None: not begun, as far as is known."""
    cancelled: bool = False
    deaths: int = 0

    def reset(self) -> None:
        """Prepare the job to be handed out again."""
        self.future, self.worker = None, None


class ClusterExecutor:
    """The workers of one cluster."""

    def __init__(
        self,
        connection: ClusterConnection,
        *,
        calls: Iterable[PassCall] = (),
        report: Callable[[News], None] = lambda news: None,
    ) -> None:
        """Wait for the first worker.

        Args:
            calls: the passes that jobs run; workers must have the files of the user's passes.
            report: called for each worker that joins, leaves or is left out, in a thread of the
                executor.

        Raises:
            UserError: no worker joins in time, or none is fit to work with this process.
        """
        self._connection = connection
        self._report = report
        self._campaign = f"relaxfuzz-{uuid.uuid4().hex[:12]}"
        calls = list(calls)
        self._environment = own_passes.environment(calls)
        self._available = availability.current().to_json()
        self._lock = threading.RLock()
        self._entries: dict[int, _Entry] = {}
        self._ids = itertools.count(1)
        self._workers = Workers(own_passes.places(calls), report)
        self._broken: str | None = None
        self._closed = threading.Event()
        self._wake = threading.Event()
        # Dask's own threads put items here and never wait for us, since we may be waiting for them.
        self._inbox: queue.SimpleQueue[tuple[int, Future[TaskOutcome]] | JobBegun | None]
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
        """See `Executor`; 1 while there is no worker."""
        return max(1, self._workers.threads)

    def submit(self, job: Job[Any], sink: Sink, *, limits: Limits = LIMITS) -> int:
        """See `Executor`. All replies come together when the job is done."""
        with self._lock:
            if self._broken is not None or self._closed.is_set():
                raise ExecutorError(self._broken or "the executor is closed")
            id = next(self._ids)
            self._entries[id] = _Entry(job, sink, limits)
            self._send(id)
        return id

    def cancel(self, id: int) -> None:
        """See `Executor`; a job that has already ended is left alone."""
        with self._lock:
            entry = self._entries.get(id)
            if entry is None:
                return
            entry.cancelled = True
            if entry.future is None or entry.worker is None:
                del self._entries[id]
                self._withdraw([entry])
                entry.sink(Ended(id))
                return
            worker = entry.worker
        with contextlib.suppress(Exception):  # it may have died, and then no replies come
            self._client.run(
                remote.cancel, self._campaign, id, workers=[worker], wait=False, on_error="ignore"
            )

    def close(self) -> None:
        """End all jobs of this campaign; the cluster stays."""
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
        """Watch the workers, hand out lost jobs again, and notice the loss of the scheduler."""
        while True:
            self._wake.wait(REFRESH)
            self._wake.clear()
            if self._closed.is_set():
                return
            if not wait_for(self._refreshed, RETURN):
                self._break(f"the scheduler at {self._connection.name} is gone")
                return
            if not self._workers.threads and time.monotonic() - self._workers.empty_since > EMPTY:
                self._break(self._no_workers(EMPTY))
                return
            with self._lock:
                here = self._workers.addresses
                for id, entry in list(self._entries.items()):
                    if entry.future is not None and entry.candidates.isdisjoint(here):
                        # Dask would wait for one of the workers that have left.
                        self._withdraw([entry])
                        entry.reset()
                    if entry.future is None:
                        self._send(id)

    def _refreshed(self) -> bool:
        """Update the workers; return false if the scheduler is gone."""
        try:
            if self._client.status == "running":
                self._workers.refresh(self._client)
                return True
        except Exception:  # Dask raises many types for a connection that breaks
            pass
        return False

    def _decided(self) -> bool:
        """Return whether there is a fit worker, or only unfit ones after a while."""
        if not self._refreshed():
            return False
        waited = time.monotonic() - self._workers.empty_since > UNFIT
        return self._workers.threads > 0 or (waited and self._workers.unfit != "")

    def _subscribed(self) -> bool:
        """Subscribe to the starts of jobs; return false if the scheduler is gone."""
        try:
            self._client.subscribe_topic(
                self._campaign, lambda event: self._inbox.put(JobBegun(**event[1]))
            )
        except Exception:
            return False
        return self._refreshed()

    def _collect(self) -> None:
        """Fetch the replies of finished jobs, and pass them on."""
        while (item := self._inbox.get()) is not None:
            if isinstance(item, JobBegun):
                with self._lock:
                    begun = self._entries.get(item.id)
                    if begun is not None and begun.future is not None:
                        begun.worker = item.worker
                continue
            id, future = item
            with self._lock:
                entry = self._entries.get(id)
                if entry is None or entry.future is not future:
                    continue  # cancelled, or handed out again meanwhile
            outcome = self._outcome(id, entry, future)
            if outcome is None:
                continue
            replies = _replies(outcome, entry.job)
            with self._lock:
                if self._entries.pop(id, None) is None:
                    continue
            for reply in replies:
                entry.sink(reply)

    def _outcome(self, id: int, entry: _Entry, future: Future[TaskOutcome]) -> TaskOutcome | None:
        """The outcome of a task; None if it is handed out again, or given up."""
        from distributed import KilledWorker

        try:
            outcome: TaskOutcome = future.result(timeout=ANSWER)
        except Exception as error:  # also if the scheduler is gone
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
        """Hand a job to Dask if there is a worker; if not, the job waits."""
        entry = self._entries[id]
        if entry.cancelled:
            del self._entries[id]
            entry.sink(Ended(id))
            return
        here = self._workers.addresses
        if not here:
            return
        submit = encode(Submit(id, entry.job, entry.limits))
        task = Task(self._campaign, submit, self._available, self._environment)
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


def _replies(outcome: TaskOutcome, job: Job[Any]) -> list[Reply]:
    kind = result_type(job)
    lines = zlib.decompress(outcome.replies).splitlines()
    return [decode_reply(line, lambda id: kind) for line in lines]
