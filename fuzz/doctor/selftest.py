"""The proof: a real campaign on passes with known faults, which must be found.

An exam (see `ward`), with TVM: it goes on where the toolchain is fit.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from . import toolchain
from .line import Line, Step, Verdict, ok, problem, warning

if TYPE_CHECKING:
    from ..campaign.zoo import Detection
    from ..cluster.where import Where
    from ..process.executor import Executor

PART = "self-test"
SEE = "see the problems and warnings above; where there are none, report it"

SEED = 0
SECONDS = 60.0
"""For each fault, on a busy machine; an idle one takes two to find it, and one or two more."""

MODULES = 200
"""Far more than either takes; where nothing is found in fewer, the machine is slow, no more."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A pass of the zoo, and what it must be found by."""

    specimen: str
    oracle: str
    what: str

    @property
    def part(self) -> str:
        """The name of its line."""
        return f"{PART}: {self.what}"


FAULTS = (
    Fault("counts_in_place", "segfault", "crash"),
    Fault("merges_twins", "evaluated", "values"),
)
"""Both are found and reduced in seconds. One needs isolation, the other the evaluator."""


def lines(workers: str, scheduler: str = "", kind: str = "") -> Iterator[Line | Step]:
    """The toolchain, the zygote, the cluster, the faults.

    Args:
        scheduler, kind: of the cluster; none: the self-test runs here.
    """
    for message in toolchain.lines():
        yield message
        if isinstance(message, Line) and message.verdict is Verdict.PROBLEM:
            return
    yield Step("zygote", "run `python -m relaxfuzz.fuzz.process.zygote </dev/null`, which says why")
    with tempfile.TemporaryDirectory(prefix="relaxfuzz-doctor-") as folder:
        os.chdir(folder)  # Hypothesis makes a folder where it is
        yield from _proved(int(workers), scheduler, kind)
        os.chdir("/")


def _proved(workers: int, scheduler: str, kind: str) -> Iterator[Line | Step]:
    from ..process.executor import ExecutorError
    from ..process.local_pool import LocalPool

    began = time.monotonic()
    try:
        pool = LocalPool(min(workers, len(FAULTS)))
    except ExecutorError as error:
        *_, last = str(error).splitlines()
        yield problem("zygote", last, "see the problems above; else report it")
        return
    with pool:
        yield zygote(pool.zygote, time.monotonic() - began)
        if not scheduler and not kind:
            yield Step(PART, SEE)
            yield from hunts(FAULTS, pool)
    if scheduler or kind:
        from ..cluster.where import Where

        yield from _on_cluster(Where(scheduler or None, kind or None), workers)


def _on_cluster(where: Where, workers: int) -> Iterator[Line | Step]:
    from ..cluster.connection import connect
    from ..user_input.mistake import Mistake
    from . import cluster

    yield Step(cluster.PART, cluster.START)
    try:
        with contextlib.ExitStack() as stack:
            connection = stack.enter_context(connect(where, workers))
            from ..cluster.executor import ClusterExecutor

            verdict = Verdict.PROBLEM
            for line in cluster.lines(connection.client):
                yield line
                verdict = line.verdict  # the last is about all of them
            if verdict is Verdict.PROBLEM:
                return
            executor = stack.enter_context(ClusterExecutor(connection))
            yield Step(PART, SEE)
            yield from hunts(FAULTS, executor)
    except Mistake as error:
        yield problem(cluster.PART, str(error), cluster.START)


def zygote(pid: int, seconds: float) -> Line:
    """The zygote is up."""
    import psutil

    rss = psutil.Process(pid).memory_info().rss
    return ok("zygote", f"up in {seconds:.1f} s, {rss >> 20} MB")


def hunts(
    faults: tuple[Fault, ...], executor: Executor, *, seconds: float = SECONDS
) -> Iterator[Line]:
    """Look for the faults, both at the same time."""
    from ...corpus.zoo import ZOO
    from ..campaign.zoo import Budget, hunt
    from ..findings.store import Store

    stop = threading.Event()
    budget = Budget(seed=SEED, seconds=seconds)
    with (
        tempfile.TemporaryDirectory(prefix="relaxfuzz-doctor-") as folder,
        Store(Path(folder) / "out") as store,
        ThreadPoolExecutor(len(faults)) as threads,
    ):
        found = [
            threads.submit(hunt, ZOO[fault.specimen], budget, executor, store, stop)
            for fault in faults
        ]
        try:
            for fault, future in zip(faults, found, strict=True):
                yield judged(fault, future.result())
        finally:
            stop.set()


def judged(fault: Fault, detection: Detection) -> Line:
    """What a hunt says of the environment."""
    finding = detection.finding
    tried = f"{detection.modules} modules, {detection.seconds:.1f} s"
    if finding is None:
        value = f"not found in {tried}"
        if detection.unconfirmed:
            value += f"; did not come out again: {detection.unconfirmed[0]}"
        if detection.faults:
            *_, last = detection.faults[0].strip().splitlines()
            value += f"; fault of relaxfuzz: {last}"
        if detection.modules < MODULES and not detection.unconfirmed and not detection.faults:
            slow = "wait until the machine is less busy: the self-test did not come far enough"
            return problem("speed", f"{fault.what}: {value}", slow)
        return problem(fault.part, value, SEE)
    if finding.oracle != fault.oracle:
        return problem(
            fault.part,
            f"expected {fault.oracle} but found {finding.oracle}: {finding.title}",
            SEE,
        )
    if detection.faults:
        *_, last = detection.faults[0].strip().splitlines()
        return problem(fault.part, f"found; fault of relaxfuzz: {last}", SEE)
    if detection.reproducer is None:
        return problem(fault.part, f"found in {tried}, but no reproducer of it fails", SEE)
    if not finding.reduced:
        return warning(
            fault.part,
            f"found in {tried}, but not reduced in time",
            "wait until the machine is less busy",
        )
    return ok(
        fault.part,
        f"found in {tried}, confirmed, reduced to {detection.bindings} binding"
        f"{'s' * (detection.bindings != 1)}, its reproducer fails",
    )
