"""Jobs on the workers of a Dask cluster, each of which drives a zygote of its own.

A task of Dask is one job. Dask chooses the worker, and chooses another one if that dies; a job is a
function of what is in it, so it does not matter who does it, or how often it was begun: what was
said about it comes in one piece when it is done, and only once.
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import queue
import threading
import time
import uuid
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..executor import ExecutorError, Member, Sink
from ..mistake import Mistake
from ..protocol import (
    LIMITS,
    Block,
    Ended,
    Failed,
    Job,
    Limits,
    Lost,
    StageDone,
    Submit,
    decode,
    encode,
)
from . import fitness, remote
from .connection import Connection, wait_for
from .remote import Answer, Order, Sign

if TYPE_CHECKING:
    from distributed import Client, Future

    from .shipment import Shipment

LOOK = 0.5
"""Seconds between two looks at who is there."""

WORKERS = 60.0
"""Seconds that the first worker has to join."""

RETURN = 120.0
"""Seconds that a scheduler that has gone has to come back, or another one to take its place."""

RETRIES = 3
"""So often Dask is asked again for a job whose workers have died one after the other."""

PATIENCE = 5.0
"""Seconds that a call to a worker may take."""


@dataclass(slots=True, eq=False)
class _Entry:
    """A job that is not done."""

    job: Job
    sink: Sink
    limits: Limits
    future: Future[Answer] | None = None
    """None: Dask does not have it."""
    asked: frozenset[str] = frozenset()
    """The workers that may do it."""
    sign: Sign | None = None
    cancelled: bool = False
    deaths: int = 0


@dataclass(slots=True, eq=False)
class _Worker:
    """A Dask worker that is fit."""

    name: str
    slots: int
    since: float = field(default_factory=time.monotonic)
    blocks: int = 0
    checks: int = 0


class ClusterExecutor:
    """The workers of one cluster."""

    def __init__(
        self,
        connection: Connection,
        *,
        shipment: Shipment | None = None,
        tell: Callable[[str], None] = lambda text: None,
    ) -> None:
        """Wait for the first worker.

        Args:
            shipment: what the jobs need that is not installed on the workers.
            tell: told, in a sentence, of workers that join, leave or are left out, in a thread of
                the executor.

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
        self._workers: dict[str, _Worker] = {}
        self._unfit: dict[str, str] = {}
        """What differs, by address."""
        self._broken: str | None = None
        self._closed = threading.Event()
        self._wake = threading.Event()
        self._done: queue.SimpleQueue[tuple[int, Future[Answer]] | None] = queue.SimpleQueue()
        self._introduce()
        if not wait_for(lambda: self._look() and bool(self._workers), WORKERS):
            raise Mistake(self._nobody())
        self._threads = [
            threading.Thread(target=work, name=f"cluster {work.__name__}", daemon=True)
            for work in (self._keep, self._collect)
        ]
        for thread in self._threads:
            thread.start()

    @property
    def workers(self) -> int:
        """Jobs that run at the same time; 1 while nobody is there."""
        with self._lock:
            return max(1, sum(worker.slots for worker in self._workers.values()))

    def members(self) -> tuple[Member, ...]:
        """See `Executor`."""
        now = time.monotonic()
        with self._lock:
            signs = [entry.sign for entry in self._entries.values() if entry.sign is not None]
            return tuple(
                Member(
                    name=worker.name,
                    slots=worker.slots,
                    blocks=worker.blocks,
                    checks=worker.checks + sum(s.checks for s in signs if s.worker == address),
                    seconds=now - worker.since,
                    current=tuple(s.item for s in signs if s.worker == address and s.item),
                )
                for address, worker in self._workers.items()
            )

    def submit(self, job: Job, sink: Sink, *, limits: Limits = LIMITS) -> int:
        """See `Executor`. All that is said about a job comes when it is done, but for `Beat`."""
        with self._lock:
            if self._broken is not None or self._closed.is_set():
                raise ExecutorError(self._broken or "the cluster's executor is closed")
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
            if entry.sign is None or entry.future is None:
                # Not begun, as far as is known: then what it says is of no use.
                del self._entries[id]
                if entry.future is not None:
                    with contextlib.suppress(Exception):
                        entry.future.cancel()
                entry.sink(Ended(id))
                return
            worker = entry.sign.worker
        with contextlib.suppress(Exception):  # it may have died; Dask says so of the job, too
            self._client.run(
                remote.cancel, self._token, [id], workers=[worker], wait=False, on_error="ignore"
            )

    def close(self) -> None:
        """End all that was begun for this campaign; the cluster stays."""
        self._closed.set()
        self._wake.set()
        self._done.put(None)
        for thread in self._threads:
            thread.join()
        with self._lock:
            futures = [e.future for e in self._entries.values() if e.future is not None]
            self._give_up()
        with contextlib.suppress(Exception):  # of a scheduler that has gone
            self._client.cancel(futures)
            self._client.unsubscribe_topic(self._token)
            self._client.run(remote.release, self._token, on_error="ignore")
            if self._shipment is not None:
                self._shipment.remove(self._client)

    def __enter__(self) -> ClusterExecutor:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    @property
    def _client(self) -> Client:
        return self._connection.client

    # Who is there

    def _introduce(self) -> None:
        """To a scheduler that does not know of us."""
        self._client.subscribe_topic(self._token, self._hear_sign)
        if self._shipment is not None:
            self._shipment.install(self._client)

    def _look(self) -> bool:
        """See who has joined and who has left; false where the scheduler does not answer."""
        try:
            there: Mapping[str, int] = self._client.nthreads()
        except Exception:
            return False
        new = [each for each in there if each not in self._workers and each not in self._unfit]
        about = self._ask(new) if new else {}
        with self._lock:
            for address in new:
                self._meet(address, there[address], about.get(address))
            for address in [each for each in self._workers if each not in there]:
                worker = self._workers.pop(address)
                self._tell(f"worker {worker.name} has left; what it was at goes to others")
            for address in [each for each in self._unfit if each not in there]:
                del self._unfit[address]
        return True

    def _ask(self, addresses: list[str]) -> dict[str, Any]:
        """The versions of workers, or the exceptions that they raised."""
        try:
            said: dict[str, Any] = self._client.run(
                fitness.about, workers=addresses, on_error="return"
            )
        except Exception as error:
            return dict.fromkeys(addresses, error)
        return said

    def _meet(self, address: str, slots: int, about: Any) -> None:
        if isinstance(about, Mapping):
            differ = fitness.differences(fitness.about(), about)
        elif isinstance(about, OSError) or about is None:
            return  # it has gone already, or is asked again
        else:
            differ = [f"it cannot say what it is: {type(about).__name__}: {about}"]
        if differ:
            self._leave_out(address, ", ".join(differ))
            return
        self._workers[address] = _Worker(address.partition("://")[2], slots)
        self._tell(f"worker {self._workers[address].name} has joined")

    def _leave_out(self, address: str, why: str) -> None:
        self._workers.pop(address, None)
        self._unfit[address] = why
        self._tell(f"worker {address.partition('://')[2]} is left out: {why}")

    def _nobody(self) -> str:
        where = self._connection.name
        if self._unfit:
            left_out = "; ".join(f"{address}: {why}" for address, why in self._unfit.items())
            return f"no worker at {where} is fit to work with this process. {left_out}"
        return f"no worker has joined at {where} in {WORKERS:.0f} s: start some with `dask worker`"

    # Threads

    def _keep(self) -> None:
        """See who is there, hand out again what was lost, and find a scheduler that has gone."""
        while not self._closed.is_set():
            self._wake.wait(LOOK)
            self._wake.clear()
            if self._closed.is_set():
                return
            if (not self._look() or self._client.status != "running") and not self._recover():
                return
            with self._lock:
                for id, entry in list(self._entries.items()):
                    if entry.future is not None and entry.asked.isdisjoint(self._workers):
                        # Dask would wait for one of those that have gone.
                        with contextlib.suppress(Exception):
                            entry.future.cancel()
                        entry.future, entry.sign = None, None
                    if entry.future is None:
                        self._send(id)

    def _recover(self) -> bool:
        """Wait for a scheduler; false if none comes, and then all is over."""
        name = self._connection.name
        self._tell(f"the scheduler at {name} is gone: waiting for its return")
        with self._lock:
            for entry in self._entries.values():
                entry.future, entry.sign = None, None
            self._workers.clear()

        def back() -> bool:
            return self._closed.is_set() or (self._connection.renew() and self._greeted())

        if not wait_for(back, RETURN):
            with self._lock:
                self._broken = (
                    f"the scheduler at {name} is gone and did not come back in {RETURN:.0f} s"
                )
                self._give_up()
            return False
        if not self._closed.is_set():
            self._tell(f"the scheduler at {name} is back: what was under way begins again")
        return True

    def _greeted(self) -> bool:
        try:
            self._introduce()
        except Exception:  # it has gone again
            return False
        return self._look()

    def _collect(self) -> None:
        """Fetch what jobs have said, and pass it on."""
        while (item := self._done.get()) is not None:
            id, future = item
            with self._lock:
                entry = self._entries.get(id)
                if entry is None or entry.future is not future:
                    continue  # cancelled, or handed out again since
            answer = self._answer(id, entry, future)
            if answer is None:
                continue
            replies = [decode(line) for line in zlib.decompress(answer.lines).splitlines()]
            with self._lock:
                if self._entries.pop(id, None) is None:
                    continue
                self._count(entry, answer, replies)
            for reply in replies:
                entry.sink(reply)  # type: ignore[arg-type]  # workers only reply

    def _answer(self, id: int, entry: _Entry, future: Future[Answer]) -> Answer | None:
        """What came of a task; None where somebody has to do it again, or nobody will."""
        try:
            answer: Answer = future.result(timeout=RETURN)
        except Exception as error:
            from distributed import KilledWorker

            with self._lock:
                if isinstance(error, KilledWorker) and entry.deaths == RETRIES:
                    del self._entries[id]
                    text = f"Gave a job up after its workers died {RETRIES} times over: {error}"
                    entry.sink(Failed(id, text, None))
                    entry.sink(Ended(id))
                    return None
                entry.deaths += isinstance(error, KilledWorker)
                entry.future, entry.sign = None, None  # also where the scheduler has gone
            self._wake.set()
            return None
        if answer.trouble is not None:
            with self._lock:
                self._leave_out(answer.worker, answer.trouble)
                entry.future, entry.sign = None, None
                if not self._workers:
                    self._broken = self._nobody()
                    self._give_up()
            self._wake.set()
            return None
        return answer

    def _count(self, entry: _Entry, answer: Answer, replies: list[Any]) -> None:
        worker = self._workers.get(answer.worker)
        if worker is not None and isinstance(entry.job, Block):
            worker.blocks += 1
            worker.checks += sum(
                stats.checks
                for reply in replies
                if isinstance(reply, StageDone)
                for stats in reply.stats.values()
            )

    # Tasks

    def _send(self, id: int) -> None:
        """Hand a job to Dask, if there is anybody to do it; else it waits."""
        entry = self._entries[id]
        if entry.cancelled:
            del self._entries[id]
            entry.sink(Ended(id))
            return
        if not self._workers:
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
                workers=list(self._workers),
                # A check takes milliseconds, a block seconds.
                priority=0 if isinstance(entry.job, Block) else 1,
                pure=False,
            )
        except Exception:  # the scheduler has gone: see `_keep`
            self._wake.set()
            return
        entry.future, entry.asked = future, frozenset(self._workers)
        future.add_done_callback(lambda future: self._done.put((id, future)))

    def _hear_sign(self, event: tuple[float, Any]) -> None:
        """A job is under way; called by Dask."""
        with contextlib.suppress(TypeError):  # of a later version of relaxfuzz, left out elsewhere
            sign = Sign(**event[1])
            with self._lock:
                entry = self._entries.get(sign.id)
                if entry is not None and entry.future is not None:
                    entry.sign = sign
                    if sign.beat is not None:
                        entry.sink(dataclasses.replace(decode(sign.beat), id=sign.id))  # type: ignore[arg-type]

    def _give_up(self) -> None:
        """Tell those who wait that nothing more will come."""
        for id, entry in sorted(self._entries.items()):
            entry.sink(Ended(id) if self._broken is None else Lost(id, self._broken))
        self._entries.clear()
