"""A Dask scheduler and workers on this machine, in processes of their own as on a real cluster."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from ..local_pool import ONE_THREAD

SECONDS = 120.0
"""For the scheduler to come up, on a busy machine."""

IDLE = 5.0
"""Seconds in which nothing runs, to see what is spent then."""


@dataclass(frozen=True, slots=True)
class Processes:
    """A cluster whose scheduler can be asked what it costs."""

    file: Path
    """The scheduler file."""
    scheduler: psutil.Process
    alone: float
    """The share of a core that it used before a worker was there."""

    def cpu(self) -> float:
        """CPU seconds of the scheduler so far."""
        return _cpu(self.scheduler)


def _cpu(process: psutil.Process) -> float:
    times = process.cpu_times()
    return times.user + times.system


@contextmanager
def dask(workers: int) -> Iterator[Processes]:
    """Start them, with one thread each; afterwards none is left.

    Raises:
        RuntimeError: the scheduler does not come up; with what it said.
    """
    with tempfile.TemporaryDirectory(prefix="relaxfuzz-bench-") as name:
        folder = Path(name)
        file, log = folder / "scheduler.json", folder / "log"
        started: list[subprocess.Popen[bytes]] = []

        def start(*arguments: str) -> None:
            with log.open("ab") as said:
                started.append(
                    subprocess.Popen(
                        [sys.executable, "-m", "dask", *arguments, "--scheduler-file", str(file)],
                        stdout=said,
                        stderr=said,
                        env={**os.environ, **ONE_THREAD},
                        start_new_session=True,
                    )
                )

        try:
            start("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard")
            until = time.monotonic() + SECONDS
            while not file.exists():
                if started[0].poll() is not None or time.monotonic() > until:
                    raise RuntimeError(f"No scheduler came up:\n{log.read_text(errors='replace')}")
                time.sleep(0.1)
            scheduler = psutil.Process(started[0].pid)
            time.sleep(1.0)  # what its start takes is over
            began, alone = time.monotonic(), _cpu(scheduler)
            time.sleep(IDLE)
            alone = (_cpu(scheduler) - alone) / (time.monotonic() - began)
            for number in range(workers):
                local = ("--local-directory", str(folder / str(number)))
                start("worker", "--nthreads", "1", "--no-dashboard", "--no-nanny", *local)
            yield Processes(file, scheduler, alone)
        finally:
            for process in reversed(started):
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
