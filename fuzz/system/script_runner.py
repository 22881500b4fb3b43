"""Executes Python files as if by `python FILE`, without paying for the import of TVM each time.

A runner is a process that has imported NumPy and TVM and nothing of ours. For each file it forks a
child, which executes the file and dies as it likes. Run as
`python -m relaxfuzz.fuzz.system.script_runner`: a line on stdin names the file and the file for
stderr, in JSON; a line on stdout gives the exit code.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import queue
import resource
import runpy
import select
import selectors
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import IO

from .environment import HERE, Environment
from .limits import adopt_orphans, die_with_parent, lower
from .orphans import kill_descendants
from .scratch import scratch

HUNG = 124
"""Exit code given for a file that does not end; that of timeout(1)."""

START_SECONDS = 120.0
END_SECONDS = 5.0

STDERR_KEPT = 1 << 20
"""Bytes of the end of what a file writes there."""

_MEMORY = 16 << 30
"""Bytes of address space, over that of the runner."""
_FILE = 1 << 30
"""Bytes of one file that is written."""

RETRIES = 3
"""A file is executed so often again after its runner was killed from outside."""


class RunnerDied(Exception):
    """It has ended, with this exit code, before it answered."""


class Runner:
    """One such process, seen from outside."""

    def __init__(self, environment: Environment = HERE) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "relaxfuzz.fuzz.system.script_runner"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=environment.folder,
            env={**environment.all_variables(), "TMPDIR": str(scratch())},
            start_new_session=True,  # Ctrl-C is none of its business, and its children die with it
        )
        self._answer(START_SECONDS)

    def run(self, path: Path, stderr: Path, seconds: float) -> int:
        """The exit code of a file, negative for a signal; `HUNG` where it takes longer.

        Raises:
            RunnerDied: this one is of no more use.
        """
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps([str(path.absolute()), str(stderr)]) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise RunnerDied(self._process.wait()) from None
        return self._answer(seconds)

    def close(self) -> None:
        """End it, and what it is executing, with all that it left behind."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError, subprocess.TimeoutExpired):
            self._process.stdin.close()
            self._process.wait(END_SECONDS)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        with contextlib.suppress(BrokenPipeError), self._process:
            pass

    def _answer(self, seconds: float) -> int:
        assert self._process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            if not selector.select(seconds):
                return HUNG
        if not (answer := self._process.stdout.readline()):
            raise RunnerDied(self._process.wait())
        return int(answer)


class Runners:
    """As many runners as are in use at the same time."""

    def __init__(self, environment: Environment = HERE) -> None:
        self._environment = environment
        self._closed = False
        self._idle: queue.SimpleQueue[Runner] = queue.SimpleQueue()

    def run(self, path: Path, seconds: float) -> tuple[int, str]:
        """Exit code (see `Runner.run`) and stderr of a Python file.

        Raises:
            RunnerDied: each of several runners was killed.
        """
        for _ in range(RETRIES):
            with contextlib.suppress(RunnerDied):
                return self._run(path, seconds)
        return self._run(path, seconds)

    def _run(self, path: Path, seconds: float) -> tuple[int, str]:
        try:
            runner = self._idle.get_nowait()
        except queue.Empty:
            runner = Runner(self._environment)
        with tempfile.NamedTemporaryFile(dir=scratch()) as file:
            code = HUNG
            try:
                code = runner.run(path, Path(file.name), seconds)
            finally:
                # One that hangs, or has died, cannot be used again.
                if code == HUNG or self._closed:
                    runner.close()
                else:
                    self._idle.put(runner)
            return code, _both_ends(file).decode("utf-8", errors="replace")

    def close(self) -> None:
        """End those that are idle, and each of the others as soon as its file has ended."""
        self._closed = True
        with contextlib.suppress(queue.Empty):
            while True:
                self._idle.get_nowait().close()


def _both_ends(file: IO[bytes]) -> bytes:
    """A traceback begins with where it is from, and may end with an exception at any length."""
    half = STDERR_KEPT // 2
    begin = file.read(half)
    file.seek(max(half, os.fstat(file.fileno()).st_size - half))
    return begin + file.read(half)


def _execute(path: str, stderr: str) -> None:
    """In the child: the file as a script; never returns."""
    code = 1
    try:
        os.setsid()  # what it does to its group is its own affair
        die_with_parent()
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        _limit()
        os.dup2(os.open(stderr, os.O_WRONLY | os.O_APPEND), 2)
        sys.argv = [path]
        sys.path[0] = os.path.dirname(path)
        runpy.run_path(path, run_name="__main__")
        code = 0
    except SystemExit as exit:
        code = exit.code & 0xFF if isinstance(exit.code, int) else int(exit.code is not None)
    except BaseException:
        with contextlib.suppress(BaseException):  # what it raised may raise when it is shown
            sys.excepthook(*sys.exc_info())
    finally:
        try:
            sys.stderr.flush()
        finally:
            os._exit(code)


def _limit() -> None:
    """What a file on its own may take: enough for a build, too little for the machine to fall."""
    lower(resource.RLIMIT_CORE, 0)
    lower(resource.RLIMIT_FSIZE, _FILE)
    if sys.platform == "linux":
        with open("/proc/self/statm") as pages:
            used = int(pages.read().split()[0]) * resource.getpagesize()
        lower(resource.RLIMIT_AS, used + _MEMORY)


def _ended(pid: int, requests: int, wakeup: int) -> int:
    """The exit code of a child. Where whoever asked dies meanwhile, it dies, and so do we."""
    while True:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        ready, _, _ = select.select([requests, wakeup], [], [])
        if requests in ready:  # nobody asks before we answered: this is the end of the file
            kill_descendants()
            os.killpg(0, signal.SIGKILL)
        os.read(wakeup, 4096)


def main() -> None:
    """Serve until stdin ends."""
    requests, replies = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    import numpy  # noqa: F401  # what every reproducer imports
    import tvm  # noqa: F401

    adopt_orphans()
    gc.freeze()
    wakeup, waker = os.pipe()
    os.set_blocking(waker, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(waker)
    print(0, file=replies, flush=True)
    for line in requests:
        pid = os.fork()
        if pid == 0:
            _execute(*json.loads(line))
        code = _ended(pid, requests.fileno(), wakeup)
        kill_descendants()
        print(code, file=replies, flush=True)


if __name__ == "__main__":
    main()
