"""A Dask scheduler and workers on this machine, in separate processes as on a real cluster.

Benchmarks and tests start them here, and may kill any.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import psutil

from relaxfuzz.fuzz.process.launch import ONE_THREAD

SECONDS = 120.0
"""Seconds for the scheduler to start, on a busy machine."""

END = 30.0
"""Seconds for a process to end after the request."""


class Processes:
    """A scheduler and the added workers; all their files are in one folder."""

    def __init__(self, folder: Path, environment: Mapping[str, str] = {}) -> None:
        """Wait until the scheduler is running.

        Raises:
            RuntimeError: it does not start; the message has its log.
        """
        self.folder = folder
        self.file = folder / "scheduler.json"
        """The scheduler file."""
        self.log = folder / "dask.log"
        self.workers: list[subprocess.Popen[bytes]] = []
        """The added workers, or their nannies if they have one."""
        self._environment = environment
        self._homes: dict[Path, subprocess.Popen[bytes]] = {}
        self.scheduler = self._scheduler("0")

    def __enter__(self) -> Processes:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    @property
    def address(self) -> str:
        """The scheduler's address."""
        return str(json.loads(self.file.read_text())["address"])

    def add(
        self, environment: Mapping[str, str] = {}, *, threads: int = 1, nanny: bool = False
    ) -> subprocess.Popen[bytes]:
        """Start one more worker, in the folder of an ended worker if there is one.

        Args:
            nanny: a nanny starts the worker, and another one if it dies.
        """
        homes = (self.folder / f"worker-{number}" for number in itertools.count())
        home = next(h for h in homes if h not in self._homes or self._homes[h].poll() is not None)
        words = ["--nthreads", str(threads), "--nworkers", "1", "--local-directory", str(home)]
        if not nanny:
            words.append("--no-nanny")
        worker = self._start(["worker", self.address, "--no-dashboard", *words], environment)
        self._homes[home] = worker
        self.workers.append(worker)
        return worker

    def restart(self) -> None:
        """Kill the scheduler; a new one may take its address. Workers end with the old one."""
        port = self.address.rpartition(":")[2]
        self.scheduler.kill()
        self.scheduler.wait()
        self.scheduler = self._scheduler(port)

    def cpu(self) -> float:
        """CPU seconds of the scheduler so far."""
        times = psutil.Process(self.scheduler.pid).cpu_times()
        return times.user + times.system

    def end(self) -> None:
        """Request all to end, workers first, as an administrator does."""
        for processes in (self.workers, [self.scheduler]):
            for process in processes:
                process.terminate()
            for process in processes:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(END)
        self.close()

    def close(self) -> None:
        """Kill all that remain."""
        for process in (*self.workers, self.scheduler):
            if process.poll() is None:  # otherwise another process may have the number by now
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()

    def _scheduler(self, port: str) -> subprocess.Popen[bytes]:
        self.file.unlink(missing_ok=True)
        words = ["--host", "127.0.0.1", "--port", port, "--scheduler-file", str(self.file)]
        process = self._start(["scheduler", "--no-dashboard", *words], {})
        until = time.monotonic() + SECONDS
        while not self._is_written():
            if process.poll() is not None or time.monotonic() > until:
                process.kill()
                process.wait()
                log = self.log.read_text(errors="replace")
                raise RuntimeError(f"No scheduler started:\n{log}")
            time.sleep(0.1)
        return process

    def _is_written(self) -> bool:
        """True if the scheduler file is complete."""
        try:
            return bool(self.address)
        except (OSError, ValueError):
            return False

    def _start(
        self, arguments: list[str], environment: Mapping[str, str]
    ) -> subprocess.Popen[bytes]:
        with self.log.open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "dask", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.folder,
                env={**os.environ, **ONE_THREAD, **self._environment, **environment},
                start_new_session=True,
            )
