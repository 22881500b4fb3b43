"""Prints what a campaign meets, as it meets it: `meetings.py SECONDS [SEED]`.

One JSON object a line. Nothing is confirmed or reduced, and no module is left out for a bug that is
known: the campaign goes on as if all were unknown. To compare with another commit, run this file
with the Python of its checkout.
"""

from __future__ import annotations

import dataclasses
import json
import os
import sys
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from relaxfuzz.compat.release import versions
from relaxfuzz.corpus.knowns import fields_of
from relaxfuzz.fuzz.campaign.campaign import CampaignConfig, run
from relaxfuzz.fuzz.campaign.events import Finished, Found
from relaxfuzz.fuzz.findings.known import Choice
from relaxfuzz.fuzz.process.block import StageDone
from relaxfuzz.fuzz.process.local_pool import LocalPool
from relaxfuzz.fuzz.process.protocol import Result
from relaxfuzz.fuzz.user_input.options import Relaxations
from relaxfuzz.fuzz.user_input.targets import targets

TICKS = os.sysconf("SC_CLK_TCK")


class Timed(LocalPool):
    """One worker, with the checks and seconds of each stage."""

    def __init__(self) -> None:
        super().__init__(1)
        self.checks: Counter[str] = Counter()
        self.seconds: defaultdict[str, float] = defaultdict(float)

    def submit(self, job: Any, sink: Any, **options: Any) -> int:
        """See `Executor`."""

        def listen(reply: Any) -> None:
            match reply:
                case Result(value=StageDone(stage=stage, stats=stats)):
                    self.checks[stage] += sum(each.checks for each in stats.values())
                    self.seconds[stage] += sum(each.seconds for each in stats.values())
            sink(reply)

        return super().submit(job, listen, **options)


def main(seconds: float, seed: int) -> None:
    """Fuzz all passes of the default family."""
    expected = Choice().load(versions()["tvm"])
    emit("start", budget=seconds, knowns=[known.name for known in expected.knowns])
    config = CampaignConfig(seed=seed, targets=targets((), Relaxations()), seconds=seconds)
    pool = Timed()
    began, spent = time.monotonic(), cpu_seconds()

    def now() -> dict[str, float]:
        return {"seconds": time.monotonic() - began, "cpu": cpu_seconds() - spent}

    try:
        for event in run(config, pool):
            match event:
                case Found(calls=calls, pipeline=pipeline):
                    finding = event.finding(versions(), ())
                    emit(
                        "met",
                        **now(),
                        oracle=finding.oracle,
                        identity=fields_of(finding.identity),
                        made_of=finding.made_of,
                        names=[known.name for known in expected.of(finding)],
                        item=pipeline or (calls[0].name if len(calls) == 1 else "sequence"),
                        stage=finding.stage,
                    )
                case Finished(modules=modules, checks=checks):
                    stats = {name: dataclasses.asdict(each) for name, each in event.stats.items()}
                    stages = {each: (n, pool.seconds[each]) for each, n in pool.checks.items()}
                    work = {"modules": modules, "checks": checks}
                    emit("end", **now(), **work, stats=stats, stages=stages)
    finally:
        pool.close()


def emit(event: str, **fields: object) -> None:
    """Print one line."""
    print(json.dumps({"event": event, **fields}), flush=True)


def cpu_seconds() -> float:
    """Of this process and all below it, with those that have ended."""
    parents: dict[int, int] = {}
    spent: dict[int, float] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        parents[int(entry.name)] = int(fields[1])
        spent[int(entry.name)] = sum(map(int, fields[11:15])) / TICKS
    below = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in below} - below:
        below |= more
    return sum(spent[pid] for pid in below)


if __name__ == "__main__":
    main(float(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1)
