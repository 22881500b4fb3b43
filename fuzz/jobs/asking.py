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

    A check that kills its process is repeated in a fresh one; only a death there is a violation.

    Raises:
        ExecutorError: see `ask`.
    """
    limits = LIMITS.for_module(job.module)
    while job.checks:
        replies: queue.SimpleQueue[Reply | None] = queue.SimpleQueue()
        executor.submit(job, replies.put, limits=limits)
        done = here = 0  # answers that the caller has, and answers of the current process
        end: Died | Ended | None = None
        while end is None:
            answer: CheckResult | JobFailed
            match reply := replies.get():
                case None:
                    here = 0
                    continue
                case Result(value=value):
                    answer = value
                case Failed() as failed:
                    answer = fault(failed)
                case Broken(reason=reason):
                    raise ExecutorError(reason)
                case Died() | Ended():
                    end = reply
                    continue
                case _:
                    continue
            here += 1
            if here > done:
                done = here
                yield answer
        if done == 0 and isinstance(end, Ended):
            raise closed_during(job)
        if done == 0 and isinstance(end, Died):
            yield died(job.one(job.checks[0]), end)
            done = 1
        job = replace(job, checks=job.checks[done:])


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
