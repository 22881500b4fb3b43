"""The executor of one machine: a zygote and its children."""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import statistics
import threading
from dataclasses import dataclass, field, replace
from typing import IO, Any

import psutil

from ...compat import availability, weights
from ...compat.availability import Availability
from ..system.environment import HERE, Environment
from . import journal, launch
from .death import FROM_OUTSIDE, culprit
from .executor import ExecutorError, Sink
from .protocol import (
    LIMITS,
    VERSION,
    Broken,
    Cancel,
    Death,
    Died,
    Ended,
    Failed,
    Forked,
    Job,
    Limits,
    Position,
    ProtocolError,
    Ready,
    Reply,
    Submit,
    decode_reply,
    encode,
    result_type,
)

RETRIES = 3
"""Repetitions of a job after the job or its zygote was killed from outside."""

BLAMED = 3
"""Kills at the same position after which the job itself is to blame."""

START_SECONDS = 120.0
"""Seconds that a zygote may take to import TVM before it is given up."""


@dataclass(slots=True)
class _Entry:
    job: Job[Any]
    sink: Sink
    limits: Limits
    running: bool = False
    retries: int = 0
    """Repetitions so far. A repeated job runs alone, so that no other job can kill its zygote."""
    pid: int | None = None
    killed_at: list[Position | None] = field(default_factory=list)
    """Positions at which the job or its zygote was killed."""


class LocalPool:
    """One zygote on this machine, with up to `workers` children at a time."""

    def __init__(
        self,
        workers: int,
        *,
        environment: Environment = HERE,
        available: Availability | None = None,
        wait: bool = True,
    ) -> None:
        """Start the zygote.

        Args:
            environment: environment of the zygote and its descendants.
            available: parts of relaxfuzz that they use; None: those that work on the installed TVM.
            wait: block until it takes jobs; otherwise a failure to start only breaks the first job.

        Raises:
            TVMUnsupported: see `availability.current`.
            ExecutorError: the zygote does not start; the text includes its stderr.
        """
        if workers < 1:
            raise ValueError(f"Expected at least one worker but got {workers=}")
        self._workers = workers
        self._environment = environment
        self._available = available or availability.current()
        self._lock = threading.Lock()
        self._entries: dict[int, _Entry] = {}
        self._next = 0
        self._closed = False
        self._broken: str | None = None
        self._unready = 0
        """Number of consecutive zygotes that were killed before they took jobs."""
        self._ready = threading.Event()
        self._start()
        self._reader = threading.Thread(target=self._read, name="zygote reader", daemon=True)
        self._reader.start()
        if wait:
            self._ready.wait()
        if self._broken is not None:
            self.close()
            raise ExecutorError(self._broken)

    @property
    def workers(self) -> int:
        """Jobs that run at the same time."""
        return self._workers

    @property
    def zygote(self) -> int:
        """The zygote's process id."""
        return self._process.pid

    def __enter__(self) -> LocalPool:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def submit(self, job: Job[Any], sink: Sink, *, limits: Limits = LIMITS) -> int:
        """See `Executor`."""
        with self._lock:
            if self._broken is not None or self._closed:
                raise ExecutorError(self._broken or "the pool is closed")
            self._next += 1
            self._entries[self._next] = _Entry(job, sink, limits)
            self._dispatch()
            return self._next

    def cancel(self, id: int) -> None:
        """See `Executor`; a job that has ended already is left alone."""
        with self._lock:
            entry = self._entries.get(id)
            if entry is not None and entry.running:
                self._requests.put(encode(Cancel(id)))
            elif entry is not None:
                del self._entries[id]
                entry.sink(Ended(id))

    def close(self) -> None:
        """See `Executor`."""
        with self._lock:
            self._closed = True
            self._requests.put(None)
            if not self._ready.is_set():
                self._process.kill()  # it is importing TVM, and has forked nothing
        self._reader.join()

    def _start(self) -> None:
        self._launched = launch.taken(self._environment)
        self._process = self._launched.process
        self._requests: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        folder = os.environ.get(weights.VARIABLE, "")
        self._requests.put(f"{self._available.to_json()}\n{folder}\n".encode())
        threading.Thread(
            target=_write, args=(self._process.stdin, self._requests), daemon=True
        ).start()
        self._late = threading.Timer(START_SECONDS, self._process.kill)
        self._late.daemon = True
        self._late.start()

    def _dispatch(self) -> None:
        """Start the jobs that may run now: short before long ones, then by age."""
        while self._ready.is_set():
            running = [entry for entry in self._entries.values() if entry.running]
            waiting = {id: entry for id, entry in self._entries.items() if not entry.running}
            repeated = {id: entry for id, entry in waiting.items() if entry.retries}
            alone = repeated or any(entry.retries for entry in running)
            if not waiting or (alone and running):
                return
            id, entry = min(
                (repeated or waiting).items(), key=lambda item: (item[1].job.long, item[0])
            )
            if sum(other.job.long == entry.job.long for other in running) == self._workers:
                return
            entry.running = True
            self._requests.put(encode(Submit(id, entry.job, entry.limits)))

    def _read(self) -> None:
        """Run the reader's thread: read the replies of one zygote after another."""
        while True:
            assert self._process.stdout is not None
            try:
                for line in self._process.stdout:
                    self._receive(decode_reply(line, lambda id: result_type(self._entries[id].job)))
            except ProtocolError:  # a pass has written to the zygote's stdout
                self._process.kill()
            self._process.stdout.close()
            self._process.wait()
            with self._lock:
                self._requests.put(None)
                self._clean_up()
                if not self._closed and self._broken is None:
                    self._ready.clear()
                    try:
                        self._start()
                        continue
                    except OSError as error:
                        self._broken = f"The zygote cannot be started: {error}"
                self._ready.set()
                self._finish_all()
                return

    def _receive(self, reply: Reply) -> None:
        with self._lock:
            if isinstance(reply, Ready):
                assert reply.version == VERSION, reply
                self._late.cancel()
                self._ready.set()
                self._dispatch()
                return
            entry = self._entries[reply.id]
            if isinstance(reply, Forked):
                entry.pid = reply.pid
            if isinstance(reply, Ended | Died):
                entry.running, entry.pid = False, None
            if isinstance(reply, Died) and reply.death is Death.KILLED:
                reply = replace(reply, stderr=f"its process was killed with signal {-reply.code}")
                self._repeat(reply)
                self._dispatch()
                return
            if isinstance(reply, Ended | Died):
                del self._entries[reply.id]
                self._dispatch()
        entry.sink(reply)

    def _repeat(self, died: Died) -> None:
        """Put a killed job back, unless it was killed repeatedly, alone, at the same position."""
        entry, position = self._entries[died.id], died.position
        entry.killed_at.append(position)
        kills = [at for at in entry.killed_at if _same_check(at, position, died.death)]
        if len(kills) >= BLAMED and position is not None and culprit(position):
            died = replace(died, position=statistics.mode(kills))
            del self._entries[died.id]
            entry.sink(died)
            return
        if entry.retries == RETRIES:
            del self._entries[died.id]
            at = "" if position is None else f", at {culprit(position)}"
            text = f"Gave a job up after {RETRIES} retries: {died.stderr}{at}"
            entry.sink(Failed(died.id, text, position))
            entry.sink(Ended(died.id))
            return
        entry.retries += 1
        entry.sink(None)

    def _clean_up(self) -> None:
        """Remove everything that a dead zygote has left, and repeat its jobs."""
        interrupted = [id for id, entry in self._entries.items() if entry.running]
        for entry in self._entries.values():
            # The child dies with its zygote, but processes forked by its pass do not.
            if entry.pid is not None:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(entry.pid, signal.SIGKILL)
            entry.running, entry.pid = False, None
        code = self._process.returncode
        if code != 0:
            # Kill processes that passes have started in other sessions, as a live zygote does.
            for process in psutil.process_iter():
                with contextlib.suppress(psutil.Error):
                    if process.environ().get(launch.MARK) == self._launched.mark:
                        process.kill()
        with self._launched.stderr as file:
            file.seek(0)
            stderr = file.read().decode(errors="replace").strip()
        killed = -code in FROM_OUTSIDE
        late = self._late.finished.is_set()
        self._late.cancel()
        if self._ready.is_set():
            self._unready = 0
        elif late and not self._closed:
            took = f"{START_SECONDS:g} s"
            self._broken = f"The zygote did not come up within {took}:\n{stderr}".rstrip(":\n")
        elif killed and self._unready < RETRIES:
            self._unready += 1
        elif not self._closed:
            self._broken = f"The zygote did not come up (exit {code}):\n{stderr}"
        if not self._closed and self._broken is None:
            for id in interrupted:
                position, reason = None, f"the zygote failed (exit {code}):\n{stderr}"
                if code <= 0:  # otherwise it is the zygote's own fault
                    position = journal.last_position(self._launched.journals, id)
                    reason = f"the zygote ended with {code}"
                self._repeat(Died(id, Death.PARENT, code, position, reason))
        os.close(self._launched.journals)

    def _finish_all(self) -> None:
        for id, entry in sorted(self._entries.items()):
            entry.sink(Ended(id) if self._broken is None else Broken(id, self._broken))
        self._entries.clear()


def _same_check(one: Position | None, other: Position | None, death: Death) -> bool:
    """Return whether kills at these two positions have the same cause."""
    if one is None or other is None or death is not Death.PARENT:
        return one == other
    # A child that has killed its zygote continues for some milliseconds, until the kernel has taken
    # the zygote down. Meanwhile it may reach another step of the check.
    return replace(one, step="") == replace(other, step="")


def _write(stdin: IO[bytes], requests: queue.SimpleQueue[bytes | None]) -> None:
    """Run the writer's thread, so that nobody blocks while the zygote writes to us."""
    with contextlib.suppress(BrokenPipeError):
        while (request := requests.get()) is not None:
            stdin.write(request)
            stdin.flush()
    with contextlib.suppress(BrokenPipeError):
        stdin.close()
