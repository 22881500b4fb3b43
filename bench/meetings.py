"""Print the reports of a campaign as they come: `meetings.py SECONDS [SEED]`.

Each line is one JSON object. Nothing is confirmed or reduced, and no module is left out because of
a known bug: the campaign treats all bugs as unknown. To compare with another commit, run this file
with the Python of its checkout. `--without LEARNER` switches off one thing that a campaign learns,
and `--cpu` ends the campaign after SECONDS of CPU time.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from relaxfuzz.compat.release import versions
from relaxfuzz.corpus.knowns import fields_of
from relaxfuzz.fuzz.campaign import named
from relaxfuzz.fuzz.campaign.block import StageDone
from relaxfuzz.fuzz.campaign.campaign import CampaignConfig, run
from relaxfuzz.fuzz.campaign.events import Finished
from relaxfuzz.fuzz.findings.finding import UnconfirmedFinding
from relaxfuzz.fuzz.findings.known import Choice
from relaxfuzz.fuzz.loading.targets import targets
from relaxfuzz.fuzz.process.local_pool import LocalPool
from relaxfuzz.fuzz.process.protocol import Result
from relaxfuzz.fuzz.user_input.settings import Relaxations

TICKS = os.sysconf("SC_CLK_TCK")

ENDLESS = 1e9
"""Wall-clock seconds of a campaign that ends by its CPU time."""

LEARNERS: Mapping[str, Callable[[], None]] = MappingProxyType(
    {
        "named": lambda: setattr(named, "SHARE", 0.0),
    }
)
"""Switches for things that a campaign learns or knows of passes: the names in a pass's code. Each
plans blocks in this process, as a switch would not reach the workers."""


class Timed(LocalPool):
    """One worker that records the checks and seconds of each stage."""

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


def main(seconds: float, seed: int, *, by_cpu: bool = False) -> None:
    """Fuzz all passes of the default family.

    Args:
        by_cpu: the seconds are of CPU time.
    """
    expected = Choice().load(versions()["tvm"])
    emit("start", budget=seconds, knowns=[known.name for known in expected.knowns])
    most = ENDLESS if by_cpu else seconds
    config = CampaignConfig(seed=seed, targets=targets((), Relaxations()), seconds=most)
    pool = Timed()
    began, spent = time.monotonic(), cpu_seconds()

    def now() -> dict[str, float]:
        return {"seconds": time.monotonic() - began, "cpu": cpu_seconds() - spent}

    try:
        for event in run(config, pool):
            if by_cpu and cpu_seconds() - spent > seconds:
                emit("end", **now())
                break
            match event:
                case UnconfirmedFinding(calls=calls, pipeline=pipeline, origin=origin):
                    finding = event.finding(versions(), ())
                    emit(
                        "met",
                        **now(),
                        oracle=finding.oracle,
                        identity=fields_of(finding.identity),
                        made_of=finding.made_of,
                        names=[known.name for known in expected.of(finding)],
                        item=pipeline or (calls[0].name if len(calls) == 1 else "sequence"),
                        stage=origin.stage,
                    )
                case Finished(state=state):
                    stats = {name: dataclasses.asdict(each) for name, each in state.stats.items()}
                    stages = {each: (n, pool.seconds[each]) for each, n in pool.checks.items()}
                    work = {"modules": state.modules, "checks": state.checks}
                    emit("end", **now(), **work, stats=stats, stages=stages)
    finally:
        pool.close()


def emit(event: str, **fields: object) -> None:
    """Print one line."""
    print(json.dumps({"event": event, **fields}), flush=True)


def cpu_seconds() -> float:
    """CPU seconds of this process and all its descendants, including ended ones."""
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
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seconds", type=float)
    parser.add_argument("seed", type=int, nargs="?", default=1)
    parser.add_argument("--cpu", action="store_true")
    parser.add_argument("--without", choices=LEARNERS)
    options = parser.parse_args()
    if options.without is not None:
        LEARNERS[options.without]()
    main(options.seconds, options.seed, by_cpu=options.cpu)
