"""Checks and reproducers that a driver requests of an executor; deaths return as violations."""

from __future__ import annotations

import queue
from collections.abc import Iterator
from dataclasses import replace

from ...oracles.violation import Violation
from ..process import death
from ..process.executor import (
    Executor,
    ExecutorError,
    JobFailed,
    ask,
    closed_during,
    collect,
    fault,
)
from ..process.protocol import LIMITS, Broken, Died, Ended, Failed, Limits, Reply, Result
from .jobs import Check, CheckEach, CheckResult, died
from .reproducers import RunReproducer, ShownViolation


def checked(executor: Executor, job: Check, *, limits: Limits = LIMITS) -> CheckResult:
    """Run one check in a fresh process, and return its outcome; a death counts as a violation.

    Raises:
        UserError, ExecutorError: see `ask`.
    """
    answer = ask(executor, job, limits=limits)
    return died(job, answer) if isinstance(answer, Died) else answer


def check(executor: Executor, job: Check, *, limits: Limits = LIMITS) -> list[Violation]:
    """The violations of one module; see `checked`."""
    return list(checked(executor, job, limits=limits).violations)


def check_each(executor: Executor, job: CheckEach) -> Iterator[CheckResult | JobFailed]:
    """Yield the outcome of each check as it arrives, or the fault that prevented the check.

    Raises:
        ExecutorError: see `check_some`.
    """
    return (answer for _, answer in check_some(executor, job))


def check_some(executor: Executor, job: CheckEach) -> Iterator[tuple[int, CheckResult | JobFailed]]:
    """Yield the outcomes of the checks that this process makes, each with the check's number.

    A check that kills its process is repeated in a fresh one; only a death there is a violation.

    Raises:
        ExecutorError: see `ask`.
    """
    seen: set[int] = set()
    while True:
        replies: queue.SimpleQueue[Reply | None] = queue.SimpleQueue()
        executor.submit(job, replies.put, limits=LIMITS.for_module(job.module))
        is_fresh = True
        end: Died | Ended | None = None
        while end is None:
            answer: CheckResult | JobFailed
            match reply := replies.get():
                case Result(value=value):
                    number, answer = value.number, value
                case Failed(position=position) as failed if position is not None:
                    number, answer = position.ordinal, fault(failed)
                case Failed() as failed:
                    raise fault(failed)
                case Broken(reason=reason):
                    raise ExecutorError(reason)
                case Died() | Ended():
                    end = reply
                    continue
                case _:  # the job starts again
                    continue
            is_fresh = False
            if number not in seen:
                seen.add(number)
                yield number, answer
        if isinstance(end, Ended):
            if job.claims is None and len(seen) < len(job.checks):
                raise closed_during(job)
            return
        number = job.first if end.position is None else end.position.ordinal
        alone = job.one(number)
        seen.add(number)
        yield number, died(alone, end) if is_fresh else checked(executor, alone)
        job = replace(job, first=number + 1)
        if job.first == len(job.checks):
            return


def run_reproducer(executor: Executor, job: RunReproducer) -> tuple[str, list[ShownViolation]]:
    """Return the module of a reproducer, or an empty text, and the violations that it shows. The
    death of its process is one of them.

    Raises:
        ExecutorError: see `ask`.
    """
    found, end = collect(executor, job)
    module = found[0].module if found else ""
    shown = [each for each in found if each.violation is not None]
    if end is not None:
        position = end.position
        calls = () if position is None else position.calls
        pipeline = None if position is None else position.pipeline
        shown.append(ShownViolation(death.violation(end), module, calls, pipeline))
    return module, shown
