"""Executes Python files as `python FILE` would, without the cost of importing TVM each time.

A runner is a process that has imported NumPy, TVM and TVMScript, but nothing of ours. It forks a
child for each file, see `sandbox`. Run as `python -m relaxfuzz.fuzz.system.script_runner`: each
line on stdin is JSON with the file, the file for its stderr, and seconds; each line on stdout is an
exit code.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import inspect
import json
import os
import queue
import runpy
import selectors
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import IO

from .environment import HERE
from .sandbox import ForkLimits, run_in_fork
from .scratch import scratch

START_SECONDS = 120.0
END_SECONDS = 5.0

STDERR_KEPT = 1 << 20
"""Bytes of a file's stderr that are kept, half of them from its end."""

_MEMORY = 16 << 30
"""Bytes of address space for a file beyond the runner's own: enough for a build."""
_FILE = 1 << 30
"""Bytes of the largest file that may be written."""

RETRIES = 3
"""Repetitions of a file after its runner was killed from outside."""


class RunnerDied(Exception):
    """The runner ended before it answered; the argument is its exit code."""


class Runner:
    """One runner, as seen from its parent."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**HERE.all_variables(), "TMPDIR": str(scratch())},
            start_new_session=True,  # Ctrl-C goes to the driver only
        )
        self._answer(START_SECONDS)

    def run(self, path: Path, stderr: Path, seconds: float) -> int:
        """Execute a file; return its exit code, negative for a signal, `HUNG` if it takes longer.

        Raises:
            RunnerDied: the runner has ended and cannot be used any more.
        """
        assert self._process.stdin is not None
        try:
            request = json.dumps([str(path.absolute()), str(stderr), seconds])
            self._process.stdin.write(request + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise RunnerDied(self._process.wait()) from None
        return self._answer(seconds + END_SECONDS)

    def close(self) -> None:
        """End the runner, the file that it executes, and all processes of that file."""
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
                self._process.kill()
        if not (answer := self._process.stdout.readline()):
            raise RunnerDied(self._process.wait())
        return int(answer)


class Runners:
    """A pool with as many runners as are in use at the same time."""

    def __init__(self) -> None:
        self._closed = False
        self._idle: queue.SimpleQueue[Runner] = queue.SimpleQueue()

    def run(self, path: Path, seconds: float) -> tuple[int, str]:
        """Execute a Python file; return its exit code (see `Runner.run`) and stderr.

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
            runner = Runner()
        with tempfile.NamedTemporaryFile(dir=scratch()) as file:
            try:
                code = runner.run(path, Path(file.name), seconds)
            except BaseException:
                runner.close()
                raise
            if self._closed:
                runner.close()
            else:
                self._idle.put(runner)
            return code, _both_ends(file).decode("utf-8", errors="replace")

    def close(self) -> None:
        """End the idle runners now, and each of the others as soon as its file has ended."""
        self._closed = True
        with contextlib.suppress(queue.Empty):
            while True:
                self._idle.get_nowait().close()


def _both_ends(file: IO[bytes]) -> bytes:
    """The beginning, where a traceback names its source, and the end, which has the exception."""
    half = STDERR_KEPT // 2
    begin = file.read(half)
    file.seek(max(half, os.fstat(file.fileno()).st_size - half))
    return begin + file.read(half)


def _execute(path: str, stderr: str) -> int:
    """Execute the file as a script, in the forked process; return its exit code."""
    code = 1
    try:
        os.setsid()  # so that a signal to its group does not reach the runner
        os.dup2(os.open(stderr, os.O_WRONLY | os.O_APPEND), 2)
        sys.argv = [path]
        sys.path[0] = os.path.dirname(path)
        runpy.run_path(path, run_name="__main__")
        code = 0
    except SystemExit as exit:
        code = exit.code & 0xFF if isinstance(exit.code, int) else int(exit.code is not None)
    except BaseException:
        with contextlib.suppress(BaseException):  # printing an exception may raise another
            sys.excepthook(*sys.exc_info())
    with contextlib.suppress(BaseException):
        sys.stderr.flush()
    return code


def main() -> None:
    """Serve until stdin ends, which also kills a file that is being executed."""
    requests, replies = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    import numpy  # noqa: F401  # every reproducer imports it
    from tvm.script import relax  # noqa: F401

    inspect.stack()  # TVMScript's decorators call it, and the first call scans all modules
    gc.freeze()
    print(0, file=replies, flush=True)
    temporary = Path(tempfile.gettempdir())
    for line in requests:
        path, stderr, seconds = json.loads(line)
        code = run_in_fork(
            functools.partial(_execute, path, stderr),
            ForkLimits(seconds, _MEMORY, _FILE),
            temporary,
            stop=requests.fileno(),  # the parent has died, as it sends nothing before our answer
        )
        with contextlib.suppress(BrokenPipeError):
            print(code, file=replies, flush=True)


if __name__ == "__main__":
    main()
