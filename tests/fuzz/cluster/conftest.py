"""A Dask cluster of separate processes on this machine, of which any may be killed."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

START = 60.0
"""Seconds that a scheduler has to come up."""


class Processes:
    """A scheduler, and workers of one thread each, without nannies."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.workers: list[subprocess.Popen[bytes]] = []
        self.scheduler = self._scheduler()

    @property
    def address(self) -> str:
        """The scheduler's."""
        return str(json.loads((self.folder / "scheduler.json").read_text())["address"])

    def add(self, environment: Mapping[str, str] = {}) -> subprocess.Popen[bytes]:
        """One more worker."""
        local = self.folder / f"worker-{len(self.workers)}"
        command = ["worker", self.address, "--no-nanny", "--no-dashboard", "--nthreads", "1"]
        worker = self._start([*command, "--local-directory", str(local)], environment)
        self.workers.append(worker)
        return worker

    def restart(self) -> None:
        """Kill the scheduler; another one takes its address. Workers end with the first."""
        port = self.address.rpartition(":")[2]
        self.scheduler.kill()
        self.scheduler.wait()
        self.scheduler = self._scheduler(port)

    def close(self) -> None:
        for process in (*self.workers, self.scheduler):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def _scheduler(self, port: str = "0") -> subprocess.Popen[bytes]:
        file = self.folder / "scheduler.json"
        file.unlink(missing_ok=True)
        asked = ["--host", "127.0.0.1", "--port", port, "--scheduler-file", str(file)]
        process = self._start(["scheduler", "--no-dashboard", *asked], {})
        until = time.monotonic() + START
        while not file.exists():
            assert process.poll() is None, "the scheduler has ended"
            assert time.monotonic() < until, "the scheduler does not come up"
            time.sleep(0.1)
        return process

    def _start(self, arguments: list[str], env: Mapping[str, str]) -> subprocess.Popen[bytes]:
        with (self.folder / "log").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "dask", *arguments],
                stdout=log,
                stderr=log,
                start_new_session=True,
                env={**os.environ, **env},
            )


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Processes]:
    """A scheduler of this test's own, without workers."""
    processes = Processes(tmp_path)
    try:
        yield processes
    finally:
        processes.close()


@pytest.fixture
def eventually() -> Callable[[Callable[[], bool]], None]:
    """Wait for what takes its time."""

    def wait(condition: Callable[[], bool]) -> None:
        until = time.monotonic() + START
        while not condition():
            assert time.monotonic() < until, "it did not come true"
            time.sleep(0.1)

    return wait
