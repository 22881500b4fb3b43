"""Jobs on the workers of a Dask cluster, each of which drives a zygote of its own.

A task of Dask is one job. Dask chooses the worker, and chooses another one if that dies; a job is a
function of what is in it, so it does not matter who does it, or how often it was begun: what was
said about it comes in one piece when it is done, and only once.
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
from ..user_input.mistake import Mistake
from . import fitness, remote
from .connection import Connection, wait_for
from .crew import Crew
from .remote import Answer, Order, Sign

if TYPE_CHECKING:
    from distributed import Client, Future

    from .shipment import Shipment

LOOK = 0.5
"""Seconds between two looks at who is there."""

WORKERS = 60.0
"""Seconds that the first worker has to join."""

UNFIT = 5.0
"""Seconds that another one has to join where all that are there are unfit."""

RETURN = 120.0
"""Seconds that a scheduler that has gone has to come back, or another one to take its place."""

NOBODY = 600.0
"""Seconds that a campaign waits for a worker after the last one has gone."""

RETRIES = 3
"""So often Dask is asked again for a job whose workers have died one after the other."""


@dataclass(slots=True, eq=False)
class _Entry:
    """A job that is not done."""

    job: Job[Any]
    sink: Sink
    limits: Limits
    future: Future[Answer] | None = None
    """None: Dask does not have it."""
    asked: frozenset[str] = frozenset()
    """The workers that may do it."""
    sign: Sign | None = None
    """None: not begun, as far as is known."""
    cancelled: bool = False
    deaths: int = 0

    def take_back(self) -> None:
        """Whoever had it does not do it."""
        self.future, self.sign = None, None


class ClusterExecutor:
    """The workers of one cluster."""

    def __init__(
        self,
        connection: Connection,
        *,
        shipment: Shipment | None = None,
        tell: Callable[[News], None] = lambda news: None,
    ) -> None:
        """Wait for the first worker.

        Args:
            shipment: what the jobs need that is not installed on the workers.
            tell: told of workers that join, leave or are left out, and of a scheduler that does, in
                a thread of the executor.

        Raises:
            Mistake: no worker is there in time, or none that is fit to work with this process.
        """
        self._connection = connection
        self._shipment = shipment
        self._tell = tell
        self._token = f"relaxfuzz-{uuid.uuid4().hex[:12]}"
        self._lock = threading.RLock()
        self._entries: dict[int, _Entry] = {}
        self._ids = itertools.count(1)
        self._crew = Crew(tell, shipment)
        self._broken: str | None = None
        self._closed = threading.Event()
        self._wake = threading.Event()
        # Dask's own threads put things here and never wait for us, who may be waiting for them.
        self._heard: queue.SimpleQueue[tuple[int, Future[Answer]] | Sign | None]
        self._heard = queue.SimpleQueue()
        if not (
            wait_for(self._greeted, WORKERS)
            and wait_for(self._decided, WORKERS)
            and self._crew.slots
        ):
            raise Mistake(self._nobody(WORKERS))
        self._threads = [
            threading.Thread(target=work, name=f"cluster {work.__name__}", daemon=True)
            for work in (self._keep, self._collect)
        ]
        for thread in self._threads:
            thread.start()

    @property
    def workers(self) -> int:
        """See `Executor`; 1 while nobody is there."""
        return max(1, self._crew.slots)

    def members(self) -> tuple[Member, ...]:
        """See `Executor`."""
        with self._lock:
            signs = [entry.sign for entry in self._entries.values() if entry.sign is not None]
        return self._crew.members(signs)

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
            if entry.future is None or entry.sign is None:
                del self._entries[id]
                self._recall([entry])
                entry.sink(Ended(id))
                return
            worker = entry.sign.worker
        with contextlib.suppress(Exception):  # it may have died: then nothing more is said
            self._client.run(
                remote.cancel, self._token, id, workers=[worker], wait=False, on_error="ignore"
            )

    def close(self) -> None:
        """End all that was begun for this campaign; the cluster stays."""
        self._closed.set()
        self._wake.set()
        self._heard.put(None)
        for thread in self._threads:
            thread.join()
        with self._lock:
            self._recall(self._entries.values())
            self._give_up()
        with contextlib.suppress(Exception):  # of a scheduler that has gone
            self._client.unsubscribe_topic(self._token)
            self._client.run(remote.release, self._token, on_error="ignore")

    def __enter__(self) -> ClusterExecutor:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    @property
    def _client(self) -> Client:
        return self._connection.client

    # Threads

    def _keep(self) -> None:
        """See who is there, hand out again what was lost, find a scheduler that has gone."""
        while True:
            self._wake.wait(LOOK)
            self._wake.clear()
            if self._closed.is_set():
                return
            if not self._looked() and not self._recovered():
                return
            if not self._crew.slots and time.monotonic() - self._crew.left > NOBODY:
                self._break(self._nobody(NOBODY))
                return
            with self._lock:
                here = self._crew.addresses
                for id, entry in list(self._entries.items()):
                    if entry.future is not None and entry.asked.isdisjoint(here):
                        # Dask would wait for one of those that have gone.
                        self._recall([entry])
                        entry.take_back()
                    if entry.future is None:
                        self._send(id)

    def _looked(self) -> bool:
        """See who is there; false where the scheduler has gone."""
        try:
            if self._client.status == "running":
                self._crew.look(self._client)
                return True
        except Exception:  # Dask has many for a connection that breaks
            pass
        return False

    def _decided(self) -> bool:
        """Somebody is there; or all that are there are unfit, and nobody else joins."""
        if not self._looked():
            return False
        waited = time.monotonic() - self._crew.left > UNFIT
        return self._crew.slots > 0 or (waited and self._crew.complaint != "")

    def _greeted(self) -> bool:
        """Introduce us to a scheduler that does not know us; false where it has gone."""
        try:
            self._client.subscribe_topic(self._token, lambda e: self._heard.put(Sign(**e[1])))
        except Exception:
            return False
        return self._looked()

    def _recovered(self) -> bool:
        """Wait for a scheduler; false where none comes, and all is over."""
        name = self._connection.name
        gone = f"the scheduler at {name} is gone: waiting for its return"
        self._tell(News("scheduler-gone", gone))
        self._crew.dismiss()
        with self._lock:
            for entry in self._entries.values():
                entry.take_back()

        def back() -> bool:
            return self._closed.is_set() or (self._connection.renew() and self._greeted())

        if not wait_for(back, RETURN):
            self._break(f"the scheduler at {name} is gone, and did not return in {RETURN:.0f} s")
            return False
        if not self._closed.is_set():
            back_again = f"the scheduler at {name} is back: what was under way begins again"
            self._tell(News("scheduler-back", back_again))
        return True

    def _collect(self) -> None:
        """Fetch what jobs have said, and pass it on."""
        while (item := self._heard.get()) is not None:
            if isinstance(item, Sign):
                self._see(item)
                continue
            id, future = item
            with self._lock:
                entry = self._entries.get(id)
                if entry is None or entry.future is not future:
                    continue  # cancelled, or handed out again since
            answer = self._answer(id, entry, future)
            if answer is None:
                continue
            replies = _replies(answer, entry.job)
            with self._lock:
                if self._entries.pop(id, None) is None:
                    continue
            if isinstance(entry.job, Block):
                results = (reply.value for reply in replies if isinstance(reply, Result))
                done = (value for value in results if isinstance(value, StageDone))
                self._crew.count(answer.worker, sum(value.checks for value in done))
            for reply in replies:
                entry.sink(reply)

    def _answer(self, id: int, entry: _Entry, future: Future[Answer]) -> Answer | None:
        """What came of a task; None where somebody has to do it again, or nobody will."""
        from distributed import KilledWorker

        try:
            answer: Answer = future.result(timeout=RETURN)
        except Exception as error:  # also where the scheduler has gone
            with self._lock:
                entry.take_back()
                entry.deaths += isinstance(error, KilledWorker)
                if entry.deaths > RETRIES:
                    self._entries.pop(id, None)
                    text = f"Gave a job up after its workers died again and again: {error}"
                    entry.sink(Failed(id, text, None))
                    entry.sink(Ended(id))
        else:
            if answer.trouble is None:
                return answer
            self._crew.leave_out(answer.worker, answer.trouble)
            entry.take_back()
        self._wake.set()
        return None

    # Tasks

    def _send(self, id: int) -> None:
        """Hand a job to Dask, if there is anybody to do it; else it waits."""
        entry = self._entries[id]
        if entry.cancelled:
            del self._entries[id]
            entry.sink(Ended(id))
            return
        here = self._crew.addresses
        if not here:
            return
        order = Order(
            self._token,
            encode(Submit(id, entry.job, entry.limits)),
            fitness.about(),
            None if self._shipment is None else self._shipment.digest,
        )
        try:
            future = self._client.submit(
                remote.work,
                order,
                key=f"{self._token}-{id}-{uuid.uuid4().hex[:8]}",
                workers=list(here),
                # A check takes milliseconds, a block seconds.
                priority=0 if isinstance(entry.job, Block) else 1,
                pure=False,
            )
        except Exception:  # the scheduler has gone: see `_keep`
            self._wake.set()
            return
        entry.future, entry.asked = future, here
        future.add_done_callback(lambda future: self._heard.put((id, future)))

    def _recall(self, entries: Iterable[_Entry]) -> None:
        """Tell Dask that nobody waits for these any more."""
        futures = [entry.future for entry in entries if entry.future is not None]
        if futures:
            with contextlib.suppress(Exception):  # of a scheduler that has gone
                self._client.cancel(futures)

    def _see(self, sign: Sign) -> None:
        """A job is under way."""
        with self._lock:
            entry = self._entries.get(sign.id)
            if entry is None or entry.future is None:
                return
            entry.sign = sign
        if sign.beat is not None:
            beat = decode_reply(sign.beat.encode())
            assert isinstance(beat, Heartbeat), beat
            entry.sink(beat)

    def _nobody(self, seconds: float) -> str:
        name = self._connection.name
        if complaint := self._crew.complaint:
            return f"no worker at {name} is fit to work with this process. {complaint}"
        return f"no worker was at {name} for {seconds:.0f} s: start some with `dask worker`"

    def _break(self, why: str) -> None:
        with self._lock:
            self._broken = why
            self._give_up()

    def _give_up(self) -> None:
        """Tell those who wait that nothing more will come."""
        for id, entry in sorted(self._entries.items()):
            entry.sink(Ended(id) if self._broken is None else Broken(id, self._broken))
        self._entries.clear()


def _replies(answer: Answer, job: Job[Any]) -> list[Reply]:
    kind = result_type(job)
    return [
        decode_reply(line, lambda id: kind) for line in zlib.decompress(answer.lines).splitlines()
    ]
