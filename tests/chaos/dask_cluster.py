"""A Dask cluster that belongs to a campaign, and what may happen to it."""

from __future__ import annotations

import itertools
import random
import signal

import psutil

from bench.dask_processes import Processes
from relaxfuzz.fuzz.system.scratch import sweep

from .campaigns import Campaign, kill


class Dask(Processes):
    """A scheduler and workers of one thread each: half of them with a nanny, which starts a new
    worker where one dies."""

    def __init__(self, campaign: Campaign, workers: int = 2) -> None:
        super().__init__(campaign.folder, campaign.environment)
        self._temporary = campaign.tmp
        self._nanny = itertools.cycle((True, False))
        for _ in range(workers):
            self.join()

    def join(self) -> str:
        """One more worker."""
        return f"worker {self.add(nanny=next(self._nanny)).pid}"

    def tend(self) -> None:
        """Whoever looks after the cluster sees that two workers are there."""
        self.workers = [each for each in self.workers if each.poll() is None]
        if self.scheduler.poll() is None:
            while len(self.workers) < 2:
                self.join()

    def replace_scheduler(self) -> str:
        """Kill it; another one takes its address, and new workers come."""
        self.restart()
        return f"scheduler, now {self.scheduler.pid}"

    def leave(self, chance: random.Random) -> str | None:
        """A worker is asked to end, unless it is the last one."""
        found = [each for each in self.workers if each.poll() is None]
        if len(found) < 2:
            return None
        chosen = chance.choice(found)
        chosen.terminate()
        return f"worker {chosen.pid}"

    def end(self) -> None:
        """See `Processes`. A nanny kills a worker that does not end soon; what that leaves goes, as
        it does when the next process of relaxfuzz begins on the same machine."""
        super().end()
        sweep(self._temporary)

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
        kill(process, signal.SIGKILL)
        return f"{kind} {process.pid}"
