"""`relaxfuzz zoo`: how good is the harness? It is let loose on passes with known faults."""

from __future__ import annotations

import contextlib
import json as jsonlib
import queue
import statistics
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ...corpus.zoo import ZOO, Family, Specimen
from ..campaign.zoo import Budget, Detection, hunt
from ..findings.store import Store
from ..output.terminal import display, duration
from ..process.local_pool import LocalPool
from ..session.interrupt import Interrupt
from ..user_input.mistake import Mistake, near


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """The command line of `zoo`."""

    names: tuple[str, ...]
    budget: Budget
    workers: int
    out: Path
    json: bool


def run(request: Request) -> int:
    """Hunt each specimen on one core; 0 if every verdict was right, else 1.

    Raises:
        Mistake: a name is no specimen's, or the folder cannot serve as a store.
        ExecutorError: the workers cannot be kept alive.
    """
    chosen = _chosen(request.names)
    interrupt = Interrupt()
    detections: list[Detection] = []
    with interrupt.caught(), contextlib.closing(display(Console(stderr=True))) as shown:
        for detection in _hunts(chosen, request, interrupt):
            if detection.stopped:
                continue
            detections.append(detection)
            if request.json:
                print(jsonlib.dumps(_event(detection)), flush=True)
            shown.line(f"{len(detections)} of {len(chosen)}  {_sentence(detection)}")
            for fault in detection.faults:
                shown.line(f"fault of relaxfuzz: {fault}", style="bold red")
    if request.json:
        print(jsonlib.dumps({"event": "summary", **_totals(detections)}))
    else:
        _print(sorted(detections, key=lambda d: list(ZOO).index(d.specimen.name)))
    if any(detection.faults for detection in detections):
        return 3
    complete = len(detections) == len(chosen)
    return 0 if complete and all(detection.right for detection in detections) else 1


def _chosen(names: Sequence[str]) -> list[Specimen]:
    for name in names:
        if name not in ZOO:
            raise Mistake(f"no specimen {name!r} in the zoo{near(name, ZOO)}")
    return [ZOO[name] for name in names or ZOO]


def _hunts(
    chosen: Sequence[Specimen], request: Request, interrupt: Interrupt
) -> Iterator[Detection]:
    """As they end; each has a zygote and one core to itself."""
    pools: queue.SimpleQueue[LocalPool] = queue.SimpleQueue()

    def task(specimen: Specimen) -> Detection:
        pool = pools.get()
        try:
            return hunt(specimen, request.budget, pool, store, interrupt.stop)
        finally:
            pools.put(pool)

    workers = min(request.workers, len(chosen))
    with Store(request.out) as store, ThreadPoolExecutor(workers) as threads:
        made = [LocalPool(1) for _ in range(workers)]
        try:
            for pool in made:
                pools.put(pool)
            for future in as_completed([threads.submit(task, each) for each in chosen]):
                yield future.result()
        finally:
            interrupt.stop.set()
            threads.shutdown(cancel_futures=True)
            for pool in made:
                pool.close()


def _sentence(detection: Detection) -> str:
    specimen, finding = detection.specimen, detection.finding
    after = f"{detection.modules} modules, {duration(detection.seconds)}"
    if finding is None:
        verdict = "nothing found" if detection.right else "NOT FOUND"
        return f"{specimen.name}: {verdict} in {after}"
    verdict = "found" if detection.right else "FALSE ALARM"
    return f"{specimen.name}: {verdict} by {finding.oracle} after {after}: {finding.title}"


def _event(detection: Detection) -> dict[str, object]:
    specimen, finding = detection.specimen, detection.finding
    return {
        "event": "detection",
        "name": specimen.name,
        "family": str(specimen.family),
        "what": specimen.what,
        "models": specimen.models,
        "needs": list(specimen.needs),
        "right": detection.right,
        "oracle": None if finding is None else finding.oracle,
        "title": None if finding is None else finding.title,
        "modules": detection.modules,
        "seconds": round(detection.seconds, 2),
        "bindings": detection.bindings,
        "reproducer": None if detection.reproducer is None else str(detection.reproducer),
        "unconfirmed": list(detection.unconfirmed),
    }


def _totals(detections: Sequence[Detection]) -> dict[str, object]:
    faulty = [d for d in detections if d.specimen.family is not Family.CORRECT]
    correct = [d for d in detections if d.specimen.family is Family.CORRECT]
    found = [d for d in faulty if d.right]
    return {
        "faulty": len(faulty),
        "found": len(found),
        "median_modules": statistics.median([d.modules for d in found]) if found else None,
        "median_seconds": round(statistics.median([d.seconds for d in found]), 2)
        if found
        else None,
        "correct": len(correct),
        "false_alarms": sum(not d.right for d in correct),
    }


def _print(detections: Sequence[Detection]) -> None:
    """The detection table; it is valid Markdown, so that it can be pasted."""
    table = Table(box=box.MARKDOWN)
    table.add_column("pass", no_wrap=True)
    table.add_column("modelled on", overflow="fold")
    table.add_column("found by", no_wrap=True)
    for title in ("modules", "seconds", "bindings"):
        table.add_column(title, justify="right", no_wrap=True)
    for family in Family:
        mine = [d for d in detections if d.specimen.family is family]
        if mine:
            right = sum(d.right for d in mine)
            table.add_row(f"**{family}**", f"{right} of {len(mine)} right", "", "", "", "")
        for detection in mine:
            table.add_row(*map(Text, _cells(detection)))
    # A folded row is no Markdown any more.
    Console(width=None if sys.stdout.isatty() else 200).print(table)
    totals = _totals(detections)
    print(
        f"{totals['found']} of {totals['faulty']} faults found, "
        f"{totals['false_alarms']} false alarms on {totals['correct']} correct passes"
    )


def _cells(detection: Detection) -> tuple[str, ...]:
    finding = detection.finding
    nothing = "" if detection.right else "**not found**"
    return (
        f"`{detection.specimen.name}`",
        detection.specimen.models,
        nothing if finding is None else finding.oracle,
        str(detection.modules),
        f"{detection.seconds:.1f}",
        "" if detection.bindings is None else str(detection.bindings),
    )
