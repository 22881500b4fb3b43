"""A Dask cluster of separate processes on this machine, which belong to a campaign."""

from __future__ import annotations

import itertools
import json
import random
import subprocess
import sys
import time

import psutil

from .campaigns import Campaign, kill

START = 120.0
"""Seconds that a scheduler has to come up on a busy machine."""


class Dask:
    """A scheduler and workers of one thread each: half of them with a nanny, which starts a new
    worker where one dies."""

    def __init__(self, campaign: Campaign, workers: int = 2) -> None:
        self._campaign = campaign
        self.file = campaign.folder / "scheduler.json"
        self._number = itertools.count()
        self.scheduler = self._scheduler("0")
        self.workers: list[subprocess.Popen[bytes]] = []
        for _ in range(workers):
            self.join()

    @property
    def address(self) -> str:
        return str(json.loads(self.file.read_text())["address"])

    def join(self) -> str:
        """One more worker."""
        number = next(self._number)
        local = self._campaign.folder / f"worker-{number}"
        local.mkdir()
        words = ["worker", self.address, "--no-dashboard", "--nthreads", "1", "--nworkers", "1"]
        words += ["--local-directory", str(local), "--death-timeout", "60"]
        if number % 2:
            words.append("--no-nanny")
        self.workers.append(self._start(words))
        return f"worker-{number}"

    def tend(self) -> None:
        """Whoever looks after the cluster sees that two workers are there."""
        self.workers = [each for each in self.workers if each.poll() is None]
        if self.scheduler.poll() is None:
            while len(self.workers) < 2:
                self.join()

    def replace_scheduler(self) -> None:
        """Kill it; another one takes its address, and new workers come."""
        port = self.address.rpartition(":")[2]
        self.scheduler.kill()
        self.scheduler.wait()
        self.scheduler = self._scheduler(port)

    def close(self) -> None:
        """End all of it, as an administrator does."""
        for process in (*self.workers, self.scheduler):
            process.terminate()
        for process in (*self.workers, self.scheduler):
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def parts(self) -> dict[str, list[psutil.Process]]:
        """Workers with and without nannies, and nannies."""
        parts: dict[str, list[psutil.Process]] = {}
        for each in self.workers:
            if each.poll() is None:
                process = psutil.Process(each.pid)
                words = process.cmdline()
                kind = "worker" if "--no-nanny" in words else "nanny"
                parts.setdefault(kind, []).append(process)
                if kind == "nanny":
                    below = [c for c in process.children() if "spawn_main" in " ".join(c.cmdline())]
                    parts.setdefault("nannied", []).extend(below)
        return parts

    def hit(self, kind: str, chance: random.Random) -> str | None:
        """SIGKILL for one of this kind."""
        found = self.parts().get(kind, [])
        if not found:
            return None
        process = chance.choice(found)
        kill(process)
        return f"{kind} {process.pid}"

    def _scheduler(self, port: str) -> subprocess.Popen[bytes]:
        self.file.unlink(missing_ok=True)
        asked = ["--host", "127.0.0.1", "--port", port, "--scheduler-file", str(self.file)]
        process = self._start(["scheduler", "--no-dashboard", *asked])
        until = time.monotonic() + START
        while not self.file.exists():
            assert process.poll() is None, "the scheduler has ended"
            assert time.monotonic() < until, "the scheduler does not come up"
            time.sleep(0.1)
        return process

    def _start(self, arguments: list[str]) -> subprocess.Popen[bytes]:
        with (self._campaign.folder / "dask.log").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "dask", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                cwd=self._campaign.folder,
                env=self._campaign.environment,
            )
