"""The zygote: one process that imports everything once, and forks a child for each job.

Run as `python -m MODULE JOURNALS` (`ENTRY` is the module). Stdin has a line with the availability
(see `compat.availability`), a line with the folder of large constants or nothing (see
`compat.weights`), and then requests. Replies go to stdout (see `protocol`), and JOURNALS is the
descriptor of a file for journals. The process has one thread and never runs a kernel, because a
fork after either may hang. It watches the journals, the memory and the number of processes of its
children, reaps them and reports how they ended. It ends when its stdin does, at the latest with its
driver, and its children end with it. Only its `JobHost` knows the jobs.
"""

from __future__ import annotations

import contextlib
import gc
import math
import os
import selectors
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from ...compat import availability, weights
from ...compat.release import tvm_version
from ..system.channel import Channel
from ..system.limits import PROCESSES, adopt_orphans
from ..system.orphans import is_crowded, kill_children
from ..system.scratch import sweep
from ..system.supervisor import children
from . import launch, worker
from .death import FROM_OUTSIDE
from .journal import Journal
from .protocol import (
    VERSION,
    Death,
    Died,
    Ended,
    Failed,
    Forked,
    Heartbeat,
    Job,
    Ready,
    Reply,
    Submit,
    UnknownJob,
    decode_request,
    encode,
)
from .worker import MEGABYTE, Handlers

WATCH = 0.05
"""Seconds between two checks of memory; the fastest writer fills about 200 MB in between."""
DELAYED = 1.0
"""Seconds between two checks above which the zygote itself was delayed, by the machine or by a
driver that does not read its replies."""
LEEWAY_MB = 64
"""Megabytes of growth over the limit to tolerate. Pages of files count as well, and a refusal of
memory by the kernel gives a better report than a kill."""
FULL = 0.9
"""Share of its memory limit above which a process's death is attributed to memory."""
HEARTBEAT = 0.5
STACK_SECONDS = 1.0
"""Seconds for a hanging process to write its stack before it is killed."""
STDERR_KEPT = 1 << 18
"""Bytes of stderr to keep: the end, which has the stack."""

LONG = 6.0
"""Multiple of its limit after which a process counts as hanging, whatever it waits for."""

SPUN = 0.5
"""Share of the limit in CPU time; a process that uses it in one step is in an endless loop."""

ASLEEP = 0.5
"""Seconds of sleep of a process and all its children that count as waiting for ever."""

_WAITING = (psutil.STATUS_SLEEPING, psutil.STATUS_IDLE, psutil.STATUS_ZOMBIE)

_DEATHS = {
    signal.SIGSEGV: Death.SEGFAULT,
    signal.SIGBUS: Death.SEGFAULT,
    signal.SIGFPE: Death.ARITHMETIC,
    signal.SIGABRT: Death.ABORT,
}


class HangDetector:
    """Watches the time that a process takes for each step."""

    def __init__(self, process: psutil.Process) -> None:
        self._process = process
        self.progress(time.monotonic())

    def progress(self, now: float) -> None:
        """Note that the process has started another step."""
        self.since = now
        self._used: float | None = None
        self._asleep: float | None = None

    def hangs(self, now: float, limit: float) -> bool:
        """Return whether the process hangs. Call it several times within the limit.

        Args:
            limit: seconds that a step may take on an idle machine.

        Raises:
            psutil.Error: the process has ended.
        """
        elapsed = now - self.since
        if elapsed < limit / 4:
            return False
        used = sum(self._process.cpu_times()[:2])
        if self._used is None:
            self._used = used
        if elapsed <= limit:
            return False
        if elapsed > LONG * limit or used - self._used >= SPUN * limit:
            return True
        if not self._sleeps():
            self._asleep = None
        elif self._asleep is None:
            self._asleep = now
        return self._asleep is not None and now - self._asleep >= ASLEEP

    def _sleeps(self) -> bool:
        family = [self._process, *self._process.children(recursive=True)]
        return all(_status(each) in _WAITING for each in family)


def _status(process: psutil.Process) -> str:
    try:
        return str(process.status())
    except psutil.NoSuchProcess:
        return str(psutil.STATUS_ZOMBIE)


@dataclass(slots=True, eq=False)
class Child:
    """A forked process, as the zygote sees it."""

    submit: Submit
    pid: int
    slot: int
    journal: Journal
    channel: Channel
    signals: int
    """A pipe; a byte in it announces that the channel has data. A pass may close the pipe, so the
    channel is also read at each check."""
    err: int
    process: psutil.Process
    peak: int = 0
    """The largest RSS; known once the process has ended."""
    buffer: bytes = b""
    stderr: bytes = b""
    steps: int = 0
    hang: HangDetector = field(init=False)
    heartbeat: float = field(default_factory=time.monotonic)
    killed_for: Death | None = None
    """Reason for which the zygote killed it."""
    cancelled: bool = False
    deadline: float = math.inf
    """Time at which it is killed unless it has written its stack."""

    def __post_init__(self) -> None:
        self.hang = HangDetector(self.process)


@dataclass(frozen=True, slots=True)
class JobHost:
    """The part of a zygote that knows the jobs."""

    handlers: Handlers
    """The function for each kind of job that a child does."""
    warm_up: Callable[[], None]
    """Fills the caches that all children share, at the start, without running a kernel."""
    prepare: Callable[[Job[Any]], None]
    """Imports, before each fork, everything that a child with such a job would import by itself."""


class Zygote:
    """The event loop: requests, output of children, their ends, and the clock."""

    def __init__(self, requests: int, replies: int, journals: int, host: JobHost) -> None:
        self._host = host
        self._requests = requests
        self._journals = journals
        self._replies = replies
        self._children: dict[int, Child] = {}  # by process id
        self._selector = selectors.DefaultSelector()
        self._selector.register(requests, selectors.EVENT_READ, self._read_requests)
        self._pending = bytearray()
        self._wakeup, waker = os.pipe()
        os.set_blocking(self._wakeup, False)
        os.set_blocking(waker, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(waker)
        self._selector.register(self._wakeup, selectors.EVENT_READ, self._reap)
        self._open = True
        self._shown = _shown()
        self._looked = time.monotonic()

    def run(self) -> None:
        """Serve until the driver closes the requests."""
        self._reply(Ready(VERSION, os.getpid(), tvm_version()))
        while self._open:
            for key, _ in self._selector.select(WATCH if self._children else None):
                # A callback served earlier may have reaped a child and closed its pipes.
                if self._selector.get_map().get(key.fd) is key:
                    key.data()
            self._watch()
        for child in self._children.values():
            _kill(child)
        self._reap(wait=True)

    def _read_requests(self) -> None:
        data = os.read(self._requests, MEGABYTE)
        self._open = bool(data)
        self._pending += data  # in place, since a module of 100 MB arrives in thousands of pieces
        if b"\n" not in data:
            return
        *lines, self._pending = self._pending.split(b"\n")
        for line in lines:
            self._handle(bytes(line))

    def _handle(self, line: bytes) -> None:
        try:
            request = decode_request(line, self._host.handlers)
        except UnknownJob as error:
            self._reply(Failed(error.id, str(error)))
            self._reply(Ended(error.id))
            return
        if isinstance(request, Submit):
            self._fork(request)
        else:
            for child in self._children.values():
                if child.submit.id == request.id:
                    child.cancelled = True
                    _kill(child)

    def _fork(self, submit: Submit) -> None:
        self._host.prepare(submit.job)
        used = {child.slot for child in self._children.values()}
        slot = min(set(range(len(used) + 1)) - used)
        journal, channel = Journal(submit.id, self._journals, slot), Channel()
        signals, child_signals = os.pipe()
        err, child_err = os.pipe()
        os.set_blocking(child_signals, False)
        zygote = os.getpid()
        to_close = [self._replies, self._journals, signals, err]
        to_close += [key.fd for key in self._selector.get_map().values()]
        pid = os.fork()
        if pid == 0:
            worker.main(
                *(submit, journal, channel, zygote, child_signals, child_err, to_close),
                self._host.handlers,
            )
        os.close(child_signals)
        os.close(child_err)
        for end in (signals, err):
            os.set_blocking(end, False)
        child = Child(submit, pid, slot, journal, channel, signals, err, psutil.Process(pid))
        self._children[pid] = child
        self._selector.register(signals, selectors.EVENT_READ, lambda: self._signalled(child))
        self._selector.register(err, selectors.EVENT_READ, lambda: self._read_err(child))
        self._reply(Forked(submit.id, pid))

    def _signalled(self, child: Child) -> None:
        self._read(child.signals)
        self._forward(child)

    def _forward(self, child: Child) -> None:
        # Only complete lines count, since a child may die in the middle of one.
        *lines, child.buffer = (child.buffer + child.channel.read()).split(b"\n")
        if lines:
            self._send(b"\n".join(lines) + b"\n")

    def _read_err(self, child: Child) -> None:
        self._add_err(child, self._read(child.err))

    def _add_err(self, child: Child, data: bytes) -> None:
        child.stderr = (child.stderr + data)[-STDERR_KEPT:]
        if self._shown is not None:
            with contextlib.suppress(OSError):  # nobody reads the driver's stderr any more
                _write(self._shown, data)

    def _read(self, end: int) -> bytes:
        try:
            data = os.read(end, MEGABYTE)
        except BlockingIOError:
            return b""
        if not data and end in self._selector.get_map():
            self._selector.unregister(end)
        return data

    def _reap(self, wait: bool = False) -> None:
        if not wait:
            os.read(self._wakeup, 4096)
        options = os.WEXITED | os.WNOWAIT | (0 if wait else os.WNOHANG)
        while True:
            kill_children(except_for=self._children)
            try:
                ended = os.waitid(os.P_ALL, 0, options)
            except ChildProcessError:
                return
            if ended is None:
                return
            child = self._children.pop(ended.si_pid, None)
            if child is not None:  # otherwise a grandchild that a pass left behind
                _kill(child)  # kill its whole group before the process id is free again
            _, status, usage = os.wait4(ended.si_pid, 0)
            if child is not None:
                child.peak = usage.ru_maxrss * 1024
                self._report_end(child, os.waitstatus_to_exitcode(status))

    def _report_end(self, child: Child, code: int) -> None:
        self._forward(child)
        while data := self._read(child.err):
            self._add_err(child, data)
        for end in (child.signals, child.err):
            if end in self._selector.get_map():
                self._selector.unregister(end)
            os.close(end)
        id = child.submit.id
        if child.cancelled or (child.journal.finished and code == 0):
            self._reply(Ended(id))
        else:
            stderr = child.stderr.decode(errors="replace")
            self._reply(Died(id, _death(child, code, stderr), code, child.journal.last(), stderr))
        shutil.rmtree(worker.folder(child.pid), ignore_errors=True)
        child.journal.close()
        child.channel.close()

    def _watch(self) -> None:
        now = time.monotonic()
        delay, self._looked = now - self._looked, now
        orphans = self._orphans()
        if len(orphans.get(0, ())) > PROCESSES:
            kill_children(except_for=self._children)
        for child in self._children.values():
            self._forward(child)
            if delay > DELAYED:  # the child may have waited for us for the same time
                child.hang.since = min(now, child.hang.since + delay)
            limits = child.submit.limits
            steps = child.journal.steps
            if steps != child.steps:
                child.steps = steps
                child.hang.progress(now)
            if child.killed_for is not None or child.cancelled:
                if now > child.deadline:
                    _kill(child)
                continue
            try:
                hangs = child.hang.hangs(now, limits.step_seconds)
                grown = _growth(child, child.process.memory_info().rss)
            except psutil.Error:  # it has ended, and is reaped next
                continue
            if hangs:
                child.killed_for = Death.HANG
                child.deadline = now + STACK_SECONDS
                os.kill(child.pid, signal.SIGSEGV)  # its handlers write the stack
                continue
            if grown > (limits.memory_mb + LEEWAY_MB) * MEGABYTE:
                child.killed_for = Death.OUT_OF_MEMORY
                _kill(child)
            elif is_crowded(child.pid, *orphans.get(child.pid, ())):
                child.killed_for = Death.PROCESSES
                _kill(child)
            elif now - child.heartbeat > HEARTBEAT and (position := child.journal.last()):
                child.heartbeat = now
                self._reply(Heartbeat(child.submit.id, position))

    def _orphans(self) -> dict[int, list[int]]:
        """Processes that children have left behind, by child; 0 if the child is not known."""
        found: dict[int, list[int]] = {}
        only = next(iter(self._children), 0) if len(self._children) == 1 else 0
        for pid in children(os.getpid()):
            if pid not in self._children:
                with contextlib.suppress(ProcessLookupError):
                    session = os.getsid(pid)  # a child is the leader of one
                    owner = session if session in self._children else only
                    found.setdefault(owner, []).append(pid)
        return found

    def _reply(self, reply: Reply) -> None:
        self._send(encode(reply))

    def _send(self, data: bytes) -> None:
        try:
            _write(self._replies, data)
        except BrokenPipeError:  # the driver was killed: end as if it had closed the requests
            self._open = False


def _death(child: Child, code: int, stderr: str) -> Death:
    if child.killed_for is not None:
        return child.killed_for
    if child.journal.death is not None:
        return child.journal.death
    if code < 0 and "std::bad_alloc" in stderr:
        return Death.OUT_OF_MEMORY
    if code < 0 and _growth(child, child.peak) > FULL * child.submit.limits.memory_mb * MEGABYTE:
        return Death.OUT_OF_MEMORY  # the allocator ends a process that gets no more memory
    if code >= 0:
        return Death.EXIT
    if -code in FROM_OUTSIDE:
        return Death.KILLED
    if "Fatal Python error: Segmentation fault" in stderr:
        return Death.SEGFAULT  # TVM's handler aborts if the heap is broken
    return _DEATHS.get(signal.Signals(-code), Death.SIGNAL)


def _growth(child: Child, rss: int) -> int:
    """The growth of a child's resident memory, now `rss`, since before its job, in bytes."""
    # The zygote cannot measure the memory before: when its turn comes, the child may have advanced
    # far.
    before = child.journal.rss
    return 0 if before is None else rss - before


def _kill(child: Child) -> None:
    for kill in (os.killpg, os.kill):  # the group exists only once the child has created it
        try:
            kill(child.pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
        except PermissionError:
            # On macOS: a group whose only member is a zombie.
            continue


def _write(end: int, data: bytes) -> None:
    while data:
        data = data[os.write(end, data) :]


def _line(end: int) -> str:
    """Read exactly one line, and no byte more; empty at the end of the file."""
    line = b""
    while (byte := os.read(end, 1)) not in (b"", b"\n"):
        line += byte
    return line.decode() if byte else ""


def _shown() -> int | None:
    """The descriptor for the output of children; None: nothing is shown."""
    value = os.environ.get(launch.SHOW)
    return int(value) if value else None


def serve(host: JobHost) -> None:
    """Fork children until stdin ends.

    The protocol owns stdin and stdout. All other code gets /dev/null, or the driver's stderr if its
    output is to be shown.
    """
    requests, replies = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null if (shown := _shown()) is None else shown, 1)
    os.close(null)
    if shown is not None:
        sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]  # of this process
    adopt_orphans()
    if not (line := _line(requests)):
        return  # the driver has ended meanwhile
    os.environ[availability.VARIABLE] = line
    if folder := _line(requests):
        os.environ[weights.VARIABLE] = folder
        weights.install()
    host.warm_up()
    gc.collect()
    gc.freeze()  # otherwise a collection in a child would touch, and so copy, every page
    Zygote(requests, replies, int(sys.argv[1]), host).run()
    sweep(Path(tempfile.gettempdir()).parent)  # the driver's folder, if the driver was killed
