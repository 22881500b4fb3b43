"""The interface to the processes that do jobs: the local pool, or a cluster."""

from __future__ import annotations

import dataclasses
import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeVar

from ..system.errors import RelaxfuzzError, UserError
from .protocol import LIMITS, Broken, Died, Ended, Failed, Job, Limits, Reply, Result

R = TypeVar("R")

Sink = Callable[[Reply | None], None]
"""Receives the replies about a job, the last being `Ended`, `Died` or `Broken`; None: the job
starts again, and earlier replies are void. Called in a thread of the executor, so do not block."""


class ExecutorError(RelaxfuzzError):
    """The workers cannot be started or kept alive, or the harness failed in one; see the text."""


class JobFailed(ExecutorError):
    """The harness raised an exception in one job; the fault is its own or in its input."""


class Lacking(JobFailed):
    """The installed TVM lacks something that a job needs; the message is one sentence."""


@dataclass(frozen=True, slots=True)
class News:
    """A change among the workers of a cluster."""

    kind: Literal["joined", "left", "left-out"]
    text: str
    """A sentence for people."""
    worker: str
    """Name of the worker."""


class Executor(Protocol):
    """Runs each job in a separate process, and survives the death of that process."""

    @property
    def workers(self) -> int:
        """Number of jobs that run at the same time, at least 1; it changes with the workers."""

    def submit(self, job: Job[Any], sink: Sink, *, limits: Limits = LIMITS) -> int:
        """Run a job as soon as a worker is free; short jobs do not wait for long ones.

        Returns its id.

        Raises:
            ExecutorError: the executor is closed or broken.
        """

    def cancel(self, id: int) -> None:
        """End a job now; its last reply is `Ended`, after the results that it has already sent."""

    def close(self) -> None:
        """Kill all running jobs; no process is left behind."""


class Forwarding:
    """An executor that delegates everything to another one; subclasses change a part."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor

    @property
    def workers(self) -> int:
        """See `Executor`."""
        return self._executor.workers

    def submit(self, job: Job[Any], sink: Sink, *, limits: Limits = LIMITS) -> int:
        """See `Executor`."""
        return self._executor.submit(job, sink, limits=limits)

    def cancel(self, id: int) -> None:
        """See `Executor`."""
        self._executor.cancel(id)

    def close(self) -> None:
        """See `Executor`."""
        self._executor.close()


class Stoppable(Forwarding):
    """The jobs that one command gives to an executor, which can be ended together."""

    def __init__(self, executor: Executor) -> None:
        super().__init__(executor)
        self._stopped = False
        self._ids: list[int] = []
        self._lock = threading.Lock()

    def submit(self, job: Job[Any], sink: Sink, *, limits: Limits = LIMITS) -> int:
        """See `Executor`."""
        with self._lock:
            if self._stopped:
                raise ExecutorError("the jobs of this command have been ended")
            self._ids.append(super().submit(job, sink, limits=limits))
            return self._ids[-1]

    def close(self) -> None:
        """End all jobs and accept no more; the executor stays open."""
        with self._lock:
            self._stopped = True
            for id in self._ids:
                self._executor.cancel(id)


def limited(executor: Executor, step_seconds: float | None) -> Executor:
    """The executor with this time limit for a step; the limits of slower jobs grow in proportion.

    Args:
        step_seconds: replaces the value in `LIMITS`; None keeps it.
    """
    return executor if step_seconds is None else _Limited(executor, step_seconds)


class _Limited(Forwarding):
    def __init__(self, executor: Executor, step_seconds: float) -> None:
        super().__init__(executor)
        self._factor = step_seconds / LIMITS.step_seconds

    def submit(self, job: Job[Any], sink: Sink, *, limits: Limits = LIMITS) -> int:
        limits = dataclasses.replace(limits, step_seconds=self._factor * limits.step_seconds)
        return super().submit(job, sink, limits=limits)


def ask(executor: Executor, job: Job[R], *, limits: Limits = LIMITS) -> R | Died:
    """Submit a job with one result, and return the result or the death of its process.

    Raises:
        UserError: the user's own pass can no longer be loaded.
        JobFailed: the harness failed in this job.
        ExecutorError: the executor is broken or closed.
    """
    limits = limits.for_module(getattr(job, "module", ""))
    results, died = collect(executor, job, limits)
    if died is not None:
        return died
    if not results:
        raise closed_during(job)
    return results[-1]


def collect(
    executor: Executor, job: Job[R], limits: Limits = LIMITS
) -> tuple[list[R], Died | None]:
    """Submit a job, and return all its results and, if its process died, that death.

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
                raise fault(failed)
            case Broken(reason=reason):
                raise ExecutorError(reason)
            case Ended():
                return results, None


def fault(failed: Failed) -> JobFailed:
    """The exception for a job in which the harness failed."""
    return Lacking(failed.traceback) if failed.drift else JobFailed(failed.traceback)


def closed_during(job: Job[Any]) -> ExecutorError:
    """The exception for a job that has ended without a result."""
    return ExecutorError(f"The executor was closed during a {type(job).__name__} job")
