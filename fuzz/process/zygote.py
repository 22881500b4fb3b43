"""The zygote: one process that imports everything once, and forks a child for each job.

Run as `python -m relaxfuzz.fuzz.process.zygote JOURNALS`, with requests on stdin, replies on stdout
(see `protocol`) and the descriptor of a file for journals. It has one thread and never runs a
kernel, because a fork after either may hang. It watches its children's journals and memory, reaps
them and reports how they ended. It ends with its driver, when stdin does, and its children end with
it.
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import gc
import math
import mmap
import os
import resource
import selectors
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

import psutil
import tvm

from ..system import strays
from ..system.prctl import adopt_orphans, die_with_parent
from ..system.rlimit import lower
from ..system.scratch import sweep
from . import worker
from .channel import Channel
from .death import FROM_OUTSIDE, RAISED
from .hang import Standstill
from .journal import Journal
from .protocol import (
    VERSION,
    Beat,
    Cancel,
    Death,
    Died,
    Ended,
    Forked,
    Limits,
    Ready,
    Reply,
    Request,
    Submit,
    decode,
    encode,
)

WATCH = 0.05
"""Seconds between two looks at memory: the fastest writer fills about 200 MB meanwhile."""
HELD = 1.0
"""Seconds between two looks, from which on it is we who were held up: by whoever does not read what
we say, as a driver that is stopped, or by the machine."""
LEEWAY_MB = 64
"""What a child may grow beyond its limit: pages of files count as well, and what the kernel refuses
says more than what we kill."""
FULL = 0.9
"""Share of the memory limit that a dead process must have used to have died of it."""
BEAT = 0.5
LAST_WORDS = 1.0
"""Seconds that a process that hangs has to write where."""
STDERR_KEPT = 65_536
MEGABYTE = 1 << 20

_TEMPORARY = tempfile.gettempdir()
"""That of the zygote, which has its kernels there."""

_DEATHS = {
    signal.SIGSEGV: Death.SEGFAULT,
    signal.SIGBUS: Death.SEGFAULT,
    signal.SIGFPE: Death.ARITHMETIC,
    signal.SIGABRT: Death.ABORT,
}


@dataclass(slots=True, eq=False)
class Child:
    """One forked process and what the zygote knows of it."""

    submit: Submit
    pid: int
    slot: int
    journal: Journal
    channel: Channel
    bell: int
    """Rings when there is something in the channel; one that a pass has closed is not missed."""
    err: int
    process: psutil.Process
    rss: int
    """At the fork."""
    peak: int = 0
    """The largest it ever was, known when it has ended."""
    buffer: bytes = b""
    stderr: bytes = b""
    steps: int = 0
    standstill: Standstill = field(init=False)
    beat: float = field(default_factory=time.monotonic)
    verdict: Death | None = None
    """Why the zygote killed it."""
    cancelled: bool = False
    deadline: float = math.inf
    """For its last words."""

    def __post_init__(self) -> None:
        self.standstill = Standstill(self.process)


class Zygote:
    """The loop over requests, children's output, their ends, and the clock."""

    def __init__(self, requests: int, replies: int, journals: int) -> None:
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
        self._looked = time.monotonic()

    def run(self) -> None:
        """Serve until the driver closes the requests."""
        self._say(Ready(VERSION, os.getpid(), tvm.__version__))
        while self._open:
            for key, _ in self._selector.select(WATCH if self._children else None):
                key.data()
            self._watch()
        for child in self._children.values():
            _kill(child)
        self._reap(wait=True)

    def _read_requests(self) -> None:
        data = os.read(self._requests, MEGABYTE)
        self._open = bool(data)
        self._pending += data  # in place: a module of 100 MB comes in thousands of pieces
        if b"\n" not in data:
            return
        *lines, self._pending = self._pending.split(b"\n")
        for line in lines:
            self._obey(decode(bytes(line)))  # type: ignore[arg-type]  # the driver sends requests only

    def _obey(self, request: Request) -> None:
        if isinstance(request, Submit):
            self._fork(request)
        elif isinstance(request, Cancel):
            for child in self._children.values():
                if child.submit.id == request.id:
                    child.cancelled = True
                    _kill(child)

    def _fork(self, submit: Submit) -> None:
        used = {child.slot for child in self._children.values()}
        slot = min(set(range(len(used) + 1)) - used)
        journal, channel = Journal(self._journals, slot), Channel()
        bell, child_bell = os.pipe()
        err, child_err = os.pipe()
        os.set_blocking(child_bell, False)
        zygote = os.getpid()
        foreign = [self._replies, self._journals, bell, err]
        foreign += [key.fd for key in self._selector.get_map().values()]
        pid = os.fork()
        if pid == 0:
            _child(submit, journal, channel, zygote, child_bell, child_err, foreign)
        os.close(child_bell)
        os.close(child_err)
        for end in (bell, err):
            os.set_blocking(end, False)
        process = psutil.Process(pid)
        rss = process.memory_info().rss
        child = Child(submit, pid, slot, journal, channel, bell, err, process, rss)
        self._children[pid] = child
        self._selector.register(bell, selectors.EVENT_READ, lambda: self._answer(child))
        self._selector.register(err, selectors.EVENT_READ, lambda: self._read_err(child))
        self._say(Forked(submit.id, pid, slot))

    def _answer(self, child: Child) -> None:
        self._read(child.bell)
        self._pass_on(child)

    def _pass_on(self, child: Child) -> None:
        # Only whole lines go on: a child may die in the middle of one.
        *lines, child.buffer = (child.buffer + child.channel.read()).split(b"\n")
        if lines:
            self._tell(b"\n".join(lines) + b"\n")

    def _read_err(self, child: Child) -> None:
        child.stderr = (child.stderr + self._read(child.err))[-STDERR_KEPT:]

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
            strays.kill(known=self._children)
            try:
                ended = os.waitid(os.P_ALL, 0, options)
            except ChildProcessError:
                return
            if ended is None:
                return
            child = self._children.pop(ended.si_pid, None)
            if child is not None:  # else a grandchild that a pass left behind
                _kill(child)  # its whole group, before the process id is free again
            _, status, usage = os.wait4(ended.si_pid, 0)
            if child is not None:
                child.peak = usage.ru_maxrss * 1024
                self._bury(child, os.waitstatus_to_exitcode(status))

    def _bury(self, child: Child, code: int) -> None:
        self._pass_on(child)
        while data := self._read(child.err):
            child.stderr = (child.stderr + data)[-STDERR_KEPT:]
        for end in (child.bell, child.err):
            if end in self._selector.get_map():
                self._selector.unregister(end)
            os.close(end)
        id = child.submit.id
        if child.cancelled or (child.journal.finished and code == 0):
            self._say(Ended(id))
        else:
            stderr = child.stderr.decode(errors="replace")
            death = _death(child, code, stderr)
            self._say(Died(id, death, code, child.journal.last(), stderr))
        shutil.rmtree(_folder(child.pid), ignore_errors=True)
        child.journal.close()
        child.channel.close()

    def _watch(self) -> None:
        now = time.monotonic()
        held, self._looked = now - self._looked, now
        for child in self._children.values():
            self._pass_on(child)
            if held > HELD:  # then so was a child that had something to say
                child.standstill.since = min(now, child.standstill.since + held)
            limits = child.submit.limits
            steps = child.journal.steps
            if steps != child.steps:
                child.steps = steps
                child.standstill.moved(now)
            if child.verdict is not None or child.cancelled:
                if now > child.deadline:
                    _kill(child)
                continue
            try:
                hangs = child.standstill.lasts(now, limits.step_seconds)
                grown = child.process.memory_info().rss - child.rss
            except psutil.Error:  # it has ended, and is to be reaped
                continue
            if hangs:
                child.verdict = Death.HANG
                child.deadline = now + LAST_WORDS
                os.kill(child.pid, signal.SIGSEGV)  # the handlers say where it hangs
                continue
            if grown > (limits.memory_mb + LEEWAY_MB) * MEGABYTE:
                child.verdict = Death.OUT_OF_MEMORY
                _kill(child)
            elif now - child.beat > BEAT and (place := child.journal.last()) is not None:
                child.beat = now
                self._say(Beat(child.submit.id, place))

    def _say(self, reply: Reply) -> None:
        self._tell(encode(reply))

    def _tell(self, data: bytes) -> None:
        try:
            _write(self._replies, data)
        except BrokenPipeError:  # our driver was killed: we end as where it closes the requests
            self._open = False


def _death(child: Child, code: int, stderr: str) -> Death:
    if child.verdict is not None:
        return child.verdict
    if child.journal.refused_memory or (code < 0 and "std::bad_alloc" in stderr):
        return Death.OUT_OF_MEMORY
    if child.journal.left_changed:
        return Death.CHANGED
    if code < 0 and child.peak - child.rss > FULL * child.submit.limits.memory_mb * MEGABYTE:
        return Death.OUT_OF_MEMORY  # what takes memory ends itself when it gets no more
    if code >= 0:
        return Death.EXIT
    if -code in FROM_OUTSIDE:
        return Death.KILLED
    if "Fatal Python error: Segmentation fault" in stderr:
        return Death.SEGFAULT  # with so broken a heap that TVM's handler aborted
    return _DEATHS.get(signal.Signals(-code), Death.SIGNAL)


def _folder(pid: int) -> str:
    """For temporary files of one child, which may do there what it likes."""
    return os.path.join(_TEMPORARY, f"child-{pid}")


def _kill(child: Child) -> None:
    for kill in (os.killpg, os.kill):  # the group is there only once the child has made it
        try:
            kill(child.pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
        except PermissionError:
            # macOS says so of a group whose only member is a zombie.
            continue


def _write(end: int, data: bytes) -> None:
    while data:
        data = data[os.write(end, data) :]


def _child(
    submit: Submit,
    journal: Journal,
    channel: Channel,
    zygote: int,
    bell: int,
    err: int,
    foreign: Sequence[int],
) -> NoReturn:
    """The forked process, to its end."""
    code, done = 1, False

    def say(reply: Reply) -> None:
        journal.guard()
        channel.write(encode(reply))
        with contextlib.suppress(OSError):  # it rings already, or a pass has closed it
            os.write(bell, b"\0")

    try:
        _isolate(submit.limits, zygote, err, foreign)
        journal.adopt()
        worker.run(submit.id, submit.job, journal, say)
        code, done = 0, True
    except SystemExit as exit:  # a pass said so: as silent an end as `os._exit`
        code = 0 if exit.code is None else exit.code if isinstance(exit.code, int) else 1
    except MemoryError:
        journal.out_of_memory()
    except Exception as error:
        say(worker.failed(submit.id, error, journal))
        code, done = 0, True
    except BaseException as error:  # only a pass raises what no `except Exception` catches
        code = 130 if isinstance(error, KeyboardInterrupt) else 1
        os.write(2, f"\n{RAISED}{type(error).__name__}\n{traceback.format_exc()}".encode())
    finally:
        if done:
            journal.finish()
        os._exit(code)


def _isolate(limits: Limits, zygote: int, err: int, foreign: Sequence[int]) -> None:
    os.setsid()
    die_with_parent()
    if os.getppid() != zygote:  # it died before we asked to die with it
        os._exit(1)
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for end in foreign:
        os.close(end)
    tempfile.tempdir = os.environ["TMPDIR"] = _folder(os.getpid())
    os.makedirs(tempfile.tempdir, mode=0o700)
    os.dup2(err, 2)
    faulthandler.enable(2, all_threads=False)  # then TVM's own handler adds the C++ backtrace
    _widen_signal_stack()
    lower(resource.RLIMIT_CORE, 0)
    if sys.platform == "linux":
        data = psutil.Process().memory_info().data
        lower(resource.RLIMIT_DATA, data + limits.memory_mb * MEGABYTE)


class _Stack(ctypes.Structure):
    """`stack_t` of Linux."""

    _fields_ = (("start", ctypes.c_void_p), ("flags", ctypes.c_int), ("size", ctypes.c_size_t))


def _widen_signal_stack() -> None:
    """Make room for both handlers of a segfault.

    `faulthandler` puts a few KB aside, on the heap; TVM's handler would need more, and write over
    what lies beside them.
    """
    if sys.platform == "linux":
        memory = mmap.mmap(-1, MEGABYTE)
        start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        _SIGNAL_STACKS.append(memory)
        ctypes.CDLL(None).sigaltstack(ctypes.byref(_Stack(start, 0, MEGABYTE)), None)


_SIGNAL_STACKS: list[mmap.mmap] = []
"""Kept mapped."""


def main() -> None:
    """Take stdin and stdout for the protocol, and leave /dev/null to everybody else."""
    requests, replies = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    os.close(null)
    adopt_orphans()
    worker.warm_up()
    gc.collect()
    gc.freeze()  # a collection in a child would otherwise touch, and so copy, every page
    Zygote(requests, replies, int(sys.argv[1])).run()
    sweep(Path(tempfile.gettempdir()).parent)  # of our driver, if that was killed


if __name__ == "__main__":
    main()
