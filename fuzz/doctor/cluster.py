"""The workers of a Dask cluster, each of which is asked about its own machine."""

from __future__ import annotations

import dataclasses
import functools
import tempfile
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from ..cli.app import cores
from ..cluster import fitness
from ..cluster.connection import wait_for
from ..output.terminal import counted
from . import limits, machine
from .line import Line, Verdict, ok, problem, warning
from .ward import examine

if TYPE_CHECKING:
    from distributed import Client

PART = "cluster"
START = "start some with `dask worker ADDRESS`, in an environment like this one"
SECONDS = 120.0
"""For all workers to answer, which takes one a few seconds."""
ALIKE = "install there what is installed here; it would be left out of a campaign"


def lines(client: Client) -> Iterator[Line]:
    """One for each worker, and one for all."""
    workers = client.scheduler_info(n_workers=-1)["workers"]
    # Before all else that it has to do.
    ask = functools.partial(client.submit, about_worker, pure=False, priority=1000)
    answers = {address: ask(workers=[address]) for address in workers}
    wait_for(lambda: all(future.done() for future in answers.values()), SECONDS)
    fit = 0
    for address, future in answers.items():
        threads = int(workers[address]["nthreads"])
        answer: object = TimeoutError(f"no answer for {SECONDS:.0f} s: it may be busy")
        if future.done():
            answer = future.exception() or future.result()
        line = judged(str(workers[address]["name"]), threads, answer)
        fit += threads if line.verdict is not Verdict.PROBLEM else 0
        yield line
    value = f"{counted(len(answers), 'worker')}, {counted(fit, 'job')} at the same time"
    yield ok(PART, value) if fit else problem(PART, f"{value}: none is fit", START)


def about_worker() -> tuple[Mapping[str, str], list[dict[str, str]]]:
    """Asked on each worker: its versions, and what it has to complain about."""
    from distributed import get_worker

    threads = get_worker().state.nthreads
    said = [
        *machine.lines(threads, cores()),
        *limits.lines(threads),
        *examine("isolation", str(threads)),
        *examine("folders", tempfile.gettempdir()),
        *examine("toolchain"),
    ]
    complaints = [dataclasses.asdict(line) for line in said if line.verdict is not Verdict.OK]
    return fitness.about(), complaints


def judged(name: str, threads: int, answer: object) -> Line:
    """
    Args:
        answer: of `about_worker`, or the exception that it ended with there.
    """
    part = f"worker {name}"
    if isinstance(answer, BaseException):
        said = (str(answer).strip().splitlines() or [repr(answer)])[-1]
        return problem(part, f"{type(answer).__name__}: {said}", ALIKE)
    assert isinstance(answer, tuple), answer
    about, complaints = answer
    if differ := fitness.differences(fitness.about(), about):
        return problem(part, ", ".join(differ), ALIKE)
    if not complaints:
        return ok(part, f"{threads} threads, the same as here")
    value = "; ".join(f"{each['part']}: {each['value']}" for each in complaints)
    advice = "; ".join(each["advice"] for each in complaints)
    if any(each["verdict"] == Verdict.PROBLEM for each in complaints):
        return problem(part, value, advice)
    return warning(part, value, advice)
