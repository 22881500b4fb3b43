"""Programs that are run to their end, or killed when the user stops the command."""

from __future__ import annotations

import contextlib
import math
import os
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from .sandbox import HUNG
from .scratch import scratch

POLL_SECONDS = 0.1


class Stopped(Exception):
    """The user has stopped the command."""


@dataclass(frozen=True, slots=True)
class Ended:
    """The exit code and the output of a program."""

    code: int
    """Its exit code, negative for a signal; `HUNG` where it was killed for taking too long."""
    stdout: str
    stderr: str


class Subprocesses:
    """Runs programs in any thread; when the event is set, they are killed."""

    def __init__(self, stop: threading.Event) -> None:
        self._stop = stop

    def run(
        self,
        command: Sequence[str | Path],
        *,
        seconds: float = math.inf,
        variables: Mapping[str, str] | None = None,
        report: Callable[[str], None] = lambda line: None,
    ) -> Ended:
        """Run a program in an empty folder, which is removed.

        Args:
            seconds: after that it is killed.
            variables: its environment; None: ours.
            report: called with the last line of its output, when there is a new one.

        Raises:
            Stopped: the event was set; the program is dead.
        """
        with (
            tempfile.TemporaryDirectory(dir=scratch()) as folder,
            tempfile.TemporaryFile() as stdout,
            tempfile.TemporaryFile() as stderr,
        ):
            try:
                # In a session of its own it gets no Ctrl-C, and its children can be killed with it.
                process = subprocess.Popen(
                    list(map(str, command)),
                    stdin=subprocess.DEVNULL,
                    stdout=stdout,
                    stderr=stderr,
                    env=variables,
                    cwd=folder,
                    start_new_session=True,
                )
            except OSError as error:
                return Ended(127, "", f"{command[0]}: {error.strerror or error}")
            with process:
                try:
                    code = self._wait(process, time.monotonic() + seconds, stdout.fileno(), report)
                finally:
                    with contextlib.suppress(ProcessLookupError, PermissionError):
                        os.killpg(process.pid, signal.SIGKILL)
            return Ended(code, _text(stdout), _text(stderr))

    def pause(self, seconds: float) -> None:
        """Wait.

        Raises:
            Stopped: the event was set.
        """
        if self._stop.wait(seconds):
            raise Stopped

    def _wait(
        self,
        process: subprocess.Popen[bytes],
        deadline: float,
        output: int,
        report: Callable[[str], None],
    ) -> int:
        latest = ""
        while True:
            with contextlib.suppress(subprocess.TimeoutExpired):
                return process.wait(POLL_SECONDS)
            if self._stop.is_set():
                raise Stopped
            if time.monotonic() > deadline:
                return HUNG
            # Not by `seek`: the program shares the position in the file.
            size = os.fstat(output).st_size
            tail = os.pread(output, 1000, max(0, size - 1000)).decode("utf-8", errors="replace")
            line = next((line.strip() for line in reversed(tail.splitlines()) if line.strip()), "")
            if line not in ("", latest):
                latest = line
                report(line)


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode("utf-8", errors="replace")
