"""The interface to the processes that do jobs: the local pool, or a cluster."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol, TypeVar

from ...oracles.violation import Violation
from ..user_input.errors import RelaxfuzzError, UserError
from . import death
from .jobs import Check, CheckEach, Checked
from .protocol import LIMITS, Broken, Died, Ended, Failed, Job, Limits, Reply, Result
from .reproducers import RunReproducer, Shown

R = TypeVar("R")

Sink = Callable[[Reply | None], None]
"""Receives the replies about a job, the last being `Ended`, `Died` or `Broken`; None: the job
starts again, and the replies so far are void. Called in a thread of the executor: do not block."""


class ExecutorError(RelaxfuzzError):
    """The workers cannot be started or kept alive, or the harness failed in one; says why."""


class JobFailed(ExecutorError):
    """The harness raised an exception in one job: its fault, or that of what it was given."""


class Lacking(JobFailed):
    """The installed TVM lacks what a job asked of it; the message is one sentence."""


@dataclass(frozen=True, slots=True)
class Member:
    """One worker of a cluster, and what it has done for this driver."""

    name: str
    """Its address, or the name it was started with."""
    slots: int
    """Jobs that it runs at the same time."""
    blocks: int = 0
    """Done."""
    checks: int = 0
    """In blocks that are done or running."""
    seconds: float = 0.0
    """Since it joined."""
    current: tuple[str, ...] = ()
    """The passes (or "sequence", or pipelines) that it checks now."""


@dataclass(frozen=True, slots=True)
class News:
    """Something happened to the workers of a cluster."""

    kind: Literal["joined", "left", "left-out", "scheduler-gone", "scheduler-back"]
    text: str
    """A sentence for people."""
    worker: str | None = None
    """Its name."""


class Executor(Protocol):
    """Runs each job in a process of its own, and survives its death."""

    @property
    def workers(self) -> int:
        """Jobs that run at the same time, at least 1; more or fewer as workers join and leave."""

    def members(self) -> tuple[Member, ...]:
        """The workers of a cluster; none where the jobs run on this machine alone."""

    def submit(self, job: Job[Any], sink: Sink, *, limits: Limits = LIMITS) -> int:
        """Run a job as soon as a worker is free; short jobs do not wait for long ones.

        Returns its id.

        Raises:
            ExecutorError: the executor is closed or broken.
        """

    def cancel(self, id: int) -> None:
        """End a job now; its last reply is `Ended`, after the results that it had sent before."""

    def close(self) -> None:
        """Kill all running jobs; no process is left behind."""


class Stoppable:
    """The jobs that one command gives to an executor, which can be ended together."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self._stopped = False
        self._ids: list[int] = []
        self._lock = threading.Lock()

    @property
    def workers(self) -> int:
        """See `Executor`."""
        return self._executor.workers

    def members(self) -> tuple[Member, ...]:
        """See `Executor`."""
        return self._executor.members()

    def submit(self, job: Job[Any], sink: Sink, *, limits: Limits = LIMITS) -> int:
        """See `Executor`."""
        with self._lock:
            if self._stopped:
                raise ExecutorError("the jobs of this command have been ended")
            self._ids.append(self._executor.submit(job, sink, limits=limits))
            return self._ids[-1]

    def cancel(self, id: int) -> None:
        """See `Executor`."""
        self._executor.cancel(id)

    def close(self) -> None:
        """End all jobs, and take no more; the executor stays."""
        with self._lock:
            self._stopped = True
            for id in self._ids:
                self._executor.cancel(id)


def ask(executor: Executor, job: Job[R], *, limits: Limits = LIMITS) -> R | Died:
    """The result of a job that has one; or how its process died.

    Raises:
        UserError: the user's own pass cannot be loaded any more.
        JobFailed: the harness failed in this job.
        ExecutorError: the executor is broken or closed.
    """
    limits = limits.for_module(getattr(job, "module", ""))
    results, died = collect(executor, job, limits)
    if died is not None:
        return died
    if not results:
        raise _closed_during(job)
    return results[-1]


def collect(
    executor: Executor, job: Job[R], limits: Limits = LIMITS
) -> tuple[list[R], Died | None]:
    """All results of a job, and how its process died, if it did.

    Raises:
        UserError, JobFailed, ExecutorError: see `ask`.
    """
    replies: queue.SimpleQueue[Reply | None] = queue.SimpleQueue()
    executor.submit(job, replies.put, limits=limits)
    results: list[R] = []
    while True:
        match replies.get():
            case None:
                results.clear()
            case Result(value=value):
                results.append(value)
            case Died() as died:
                return results, died
            case Failed(traceback=text, user_error=True):
                raise UserError(text)
            case Failed() as failed:
                raise _fault(failed)
            case Broken(reason=reason):
                raise ExecutorError(reason)
            case Ended():
                return results, None


def _fault(failed: Failed) -> JobFailed:
    return Lacking(failed.traceback) if failed.drift else JobFailed(failed.traceback)


def _closed_during(job: Job[Any]) -> ExecutorError:
    return ExecutorError(f"The executor was closed during a {type(job).__name__} job")


def checked(executor: Executor, job: Check, *, limits: Limits = LIMITS) -> Checked:
    """What one check gives, in a fresh process; its death is a violation, too.

    Raises:
        UserError, ExecutorError: see `ask`.
    """
    answer = ask(executor, job, limits=limits)
    return Checked((death.violation(answer),)) if isinstance(answer, Died) else answer


def check(executor: Executor, job: Check, *, limits: Limits = LIMITS) -> list[Violation]:
    """The violations of one module; see `checked`."""
    return list(checked(executor, job, limits=limits).violations)


def check_each(
    executor: Executor, job: CheckEach, *, limits: Limits = LIMITS
) -> Iterator[Checked | JobFailed]:
    """What each check gives, as it comes, or why the harness could not find it out.

    A check that kills its process is repeated in a fresh one: only there the death is a violation.

    Raises:
        ExecutorError: see `ask`.
    """
    limits = limits.for_module(job.module)
    while job.pipelines or job.calls:
        replies: queue.SimpleQueue[Reply | None] = queue.SimpleQueue()
        executor.submit(job, replies.put, limits=limits)
        done = here = 0  # answers that the caller has, and those of the process that runs now
        end: Died | Ended | None = None
        while end is None:
            answer: Checked | JobFailed
            match reply := replies.get():
                case None:
                    here = 0
                    continue
                case Result(value=value):
                    answer = value
                case Failed() as failed:
                    answer = _fault(failed)
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
            raise _closed_during(job)
        if done == 0 and isinstance(end, Died):
            yield Checked((death.violation(end),))
            done = 1
        skipped = max(0, done - len(job.pipelines))
        job = replace(job, pipelines=job.pipelines[done:], calls=job.calls[skipped:])


def run_reproducer(executor: Executor, job: RunReproducer) -> tuple[str, list[Shown]]:
    """The module of a reproducer, or an empty text, and what it shows; also how its process dies.

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
        shown.append(Shown(death.violation(end), module, calls, pipeline))
    return module, shown
