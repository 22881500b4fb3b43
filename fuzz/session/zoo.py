"""The passes of the zoo, hunted one after the other, and the table of detections."""

from __future__ import annotations

import contextlib
import json
import queue
import statistics
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ...corpus.zoo import ZOO, Family, Specimen
from ..findings.store import Store
from ..output.terminal import display, duration
from ..process.local_pool import LocalPool
from ..user_input.errors import UserError, near
from .hunt import Budget, Detection, hunt
from .interrupt import Interrupt


def hunt_all(
    names: Sequence[str], budget: Budget, *, workers: int, out: Path, as_json: bool
) -> int:
    """Hunt each specimen on one core; 0 if every verdict was right, else 1.

    Raises:
        UserError: there is no such specimen, or the folder cannot serve as a store.
        ExecutorError: the workers cannot be kept alive.
    """
    chosen = _chosen(names)
    interrupt = Interrupt()
    detections: list[Detection] = []
    with interrupt.caught(), contextlib.closing(display(Console(stderr=True))) as shown:
        for detection in _hunts(chosen, budget, min(workers, len(chosen)), out, interrupt.stop):
            if detection.stopped:
                continue
            detections.append(detection)
            if as_json:
                print(json.dumps(_event(detection)), flush=True)
            shown.line(f"{len(detections)} of {len(chosen)}  {_sentence(detection)}")
            for fault in detection.faults:
                shown.line(f"fault of relaxfuzz: {fault}", style="bold red")
    if as_json:
        print(json.dumps({"event": "summary", **_totals(detections)}))
    else:
        ordered = sorted(detections, key=lambda d: list(ZOO).index(d.specimen.name))
        _print(ordered, rows=budget.whole)
    if any(detection.faults for detection in detections):
        return 3
    complete = len(detections) == len(chosen)
    return 0 if complete and all(detection.right for detection in detections) else 1


def _chosen(names: Sequence[str]) -> list[Specimen]:
    for name in names:
        if name not in ZOO:
            raise UserError(f"no specimen {name!r} in the zoo{near(name, ZOO)}")
    return [ZOO[name] for name in names or ZOO]


def _hunts(
    chosen: Sequence[Specimen], budget: Budget, workers: int, out: Path, stop: threading.Event
) -> Iterator[Detection]:
    """As they end; each has a zygote and one core to itself."""
    pools: queue.SimpleQueue[LocalPool] = queue.SimpleQueue()

    def task(specimen: Specimen) -> Detection:
        pool = pools.get()
        try:
            return hunt(specimen, budget, pool, store, stop)
        finally:
            pools.put(pool)

    with contextlib.ExitStack() as stack:
        store = stack.enter_context(Store(out))
        for _ in range(workers):
            pools.put(stack.enter_context(LocalPool(1)))
        threads = stack.enter_context(ThreadPoolExecutor(workers))
        try:
            for future in as_completed([threads.submit(task, each) for each in chosen]):
                yield future.result()
        finally:
            stop.set()
            threads.shutdown(cancel_futures=True)


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
        "rows": detection.rows,
        "reproducer": None if detection.reproducer is None else str(detection.reproducer),
        "unconfirmed": list(detection.unconfirmed),
    }


def _totals(detections: Sequence[Detection]) -> dict[str, object]:
    faulty = [d for d in detections if d.specimen.family is not Family.CORRECT]
    correct = [d for d in detections if d.specimen.family is Family.CORRECT]
    found = [d for d in faulty if d.right]
    seconds = sorted(d.seconds for d in found)
    return {
        "faulty": len(faulty),
        "found": len(found),
        "median_modules": statistics.median([d.modules for d in found]) if found else None,
        "median_seconds": round(statistics.median(seconds), 2) if found else None,
        "p90_seconds": round(seconds[9 * len(found) // 10], 2) if found else None,
        "rows": round(statistics.mean([d.rows for d in found]), 2) if found else None,
        "most_rows": max((d.rows for d in found), default=None),
        "correct": len(correct),
        "false_alarms": sum(not d.right for d in correct),
    }


def _print(detections: Sequence[Detection], *, rows: bool) -> None:
    """The detection table; it is valid Markdown, so that it can be pasted.

    Args:
        rows: with the number of bugs that were reported of each.
    """
    table = Table(box=box.MARKDOWN)
    table.add_column("pass", no_wrap=True)
    table.add_column("modelled on", overflow="fold")
    table.add_column("found by", no_wrap=True)
    for title in ("modules", "seconds", "bindings", "rows")[: 4 if rows else 3]:
        table.add_column(title, justify="right", no_wrap=True)
    for family in Family:
        mine = [d for d in detections if d.specimen.family is family]
        if mine:
            right = sum(d.right for d in mine)
            table.add_row(f"**{family}**", f"{right} of {len(mine)} right")
        for detection in mine:
            table.add_row(*map(Text, _cells(detection, rows=rows)))
    # A folded row is no Markdown any more.
    Console(width=None if sys.stdout.isatty() else 200).print(table)
    totals = _totals(detections)
    each = f" in {totals['rows']} rows each, at most {totals['most_rows']}" if rows else ""
    if totals["found"]:
        each += f", half of them in {totals['median_seconds']}s, 90 % in {totals['p90_seconds']}s"
    print(
        f"{totals['found']} of {totals['faulty']} faults found{each}; "
        f"{totals['false_alarms']} false alarms on {totals['correct']} correct passes"
    )


def _cells(detection: Detection, *, rows: bool) -> tuple[str, ...]:
    finding = detection.finding
    nothing = "" if detection.right else "**not found**"
    return (
        f"`{detection.specimen.name}`",
        detection.specimen.models,
        nothing if finding is None else finding.oracle,
        str(detection.modules),
        f"{detection.seconds:.1f}",
        "" if detection.bindings is None else str(detection.bindings),
        *([str(detection.rows or "")] if rows else []),
    )
