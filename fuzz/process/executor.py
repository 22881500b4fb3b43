"""Where jobs run: an interface, behind which the local pool stands, or a cluster."""

from __future__ import annotations

import queue
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from ...oracles.explain.trouble import Explanation
from ...oracles.text.exhibit import Exhibit
from ...oracles.violation import Violation
from ..findings.evidence import Evidence
from ..user_input.mistake import Mistake, Told
from . import death
from .protocol import (
    LIMITS,
    Check,
    Checked,
    Died,
    Ended,
    Examine,
    Examined,
    Execute,
    Executed,
    Explain,
    Explained,
    Failed,
    Job,
    Limits,
    Lost,
    Narrow,
    Narrowed,
    Origin,
    Read,
    Regenerate,
    Regenerated,
    Reply,
    Show,
    Shown,
    WasRead,
)

Sink = Callable[[Reply | None], None]
"""Gets what is said about a job, the last being `Ended`, `Died` or `Lost`; None: all that was said
is void, the job starts again. Called in a thread of the executor: hand over, do not work."""


class ExecutorError(Told):
    """The workers cannot be started or kept alive, or the harness failed in one; says why."""


class JobFailed(ExecutorError):
    """The harness raised an exception in one job: its fault, or that of what it was given."""


@dataclass(frozen=True, slots=True)
class Member:
    """One worker of a cluster, and what it has done for us."""

    name: str
    """Its address, or what it was called when it was started."""
    slots: int
    """Jobs that it runs at the same time."""
    blocks: int = 0
    """Done."""
    checks: int = 0
    """In blocks that are done, or under way."""
    seconds: float = 0.0
    """Since it joined."""
    current: tuple[str, ...] = ()
    """The passes (or "sequence", or pipelines) that it is at."""


@dataclass(frozen=True, slots=True)
class News:
    """Something happened to the workers of a cluster."""

    kind: Literal["joined", "left", "left-out", "scheduler-gone", "scheduler-back"]
    text: str
    """A sentence for people."""
    worker: str | None = None
    """Its name."""


class Executor(Protocol):
    """Runs each job in a process of its own, and survives whatever happens there."""

    @property
    def workers(self) -> int:
        """Jobs that run at the same time, at least 1; more or fewer as workers join and leave."""

    def members(self) -> tuple[Member, ...]:
        """The workers of a cluster; none where the jobs run on this machine alone."""

    def submit(self, job: Job, sink: Sink, *, limits: Limits = LIMITS) -> int:
        """Run a job as soon as a worker is free; checks do not wait for blocks. Returns its id.

        Raises:
            ExecutorError: the executor is closed or broken.
        """

    def cancel(self, id: int) -> None:
        """End a job now; its last message is `Ended`, after what it had said before."""

    def close(self) -> None:
        """Kill all that runs; no process is left behind."""


def check(executor: Executor, job: Check, *, limits: Limits = LIMITS) -> list[Violation]:
    """What the oracles say of one module, in a fresh process; its death is a violation too.

    Raises:
        Mistake: the user's pass cannot be had any more.
        ExecutorError: the harness failed at this check.
    """
    answer = _ask(executor, job, limits)
    if isinstance(answer, Died):
        return [death.violation(answer)]
    assert isinstance(answer, Checked), answer
    return list(answer.violations)


def regenerate(executor: Executor, origin: Origin, *, limits: Limits = LIMITS) -> str:
    """TVM JSON of a generated module, made again in a fresh process.

    Raises:
        ExecutorError: it cannot be made again.
    """
    answer = _ask(executor, Regenerate(origin), limits)
    if not isinstance(answer, Regenerated):
        raise ExecutorError(f"Expected the module of {origin} but got {answer}")
    return answer.module


def explain(executor: Executor, job: Explain, *, limits: Limits = LIMITS) -> Explanation | Died:
    """Why a module cannot be built, found in a fresh process; or how that died.

    Raises:
        ExecutorError: the harness failed.
    """
    answer = _ask(executor, job, limits)
    if isinstance(answer, Died):
        return answer
    assert isinstance(answer, Explained), answer
    return answer.explanation


def narrow(executor: Executor, job: Narrow, *, limits: Limits = LIMITS) -> Narrowed:
    """The one pass of several that shows a violation, found in a fresh process.

    Raises:
        ExecutorError: the harness failed.
    """
    answer = _ask(executor, job, limits)
    if isinstance(answer, Died):  # of something else than the violation
        return Narrowed(answer.id, job.module, job.calls, job.pipeline)
    assert isinstance(answer, Narrowed), answer
    return answer


def show(executor: Executor, job: Show, *, limits: Limits = LIMITS) -> Exhibit | Died:
    """What an oracle compared, run again in a fresh process; or how that died.

    Raises:
        ExecutorError: the harness failed.
    """
    answer = _ask(executor, job, limits)
    if isinstance(answer, Died):
        return answer
    assert isinstance(answer, Shown), answer
    return answer.exhibit


def examine(executor: Executor, job: Examine, *, limits: Limits = LIMITS) -> Evidence | Died:
    """The evidence of a module, taken in a fresh process; or how that died.

    Raises:
        ExecutorError: the harness failed.
    """
    answer = _ask(executor, job, limits)
    if isinstance(answer, Died):
        return answer
    assert isinstance(answer, Examined), answer
    return answer.evidence


def read(executor: Executor, job: Read, *, limits: Limits = LIMITS) -> WasRead | Died:
    """What came of reading a file in a fresh process; or how that died.

    Raises:
        ExecutorError: the harness failed.
    """
    answer = _ask(executor, job, limits)
    if isinstance(answer, Died):
        return answer
    assert isinstance(answer, WasRead), answer
    return answer


def execute(executor: Executor, script: Path, seconds: float) -> tuple[int, str]:
    """Exit code and stderr of a Python file, executed by a worker of a cluster.

    Raises:
        ExecutorError: the harness failed.
    """
    answer = _ask(executor, Execute(str(script), seconds), LIMITS)
    assert isinstance(answer, Executed), answer
    return answer.code, answer.stderr


_ANSWERS = (Checked, Regenerated, Explained, Narrowed, Shown, Examined, WasRead, Executed)


def _ask(
    executor: Executor,
    job: Check | Regenerate | Explain | Narrow | Show | Examine | Read | Execute,
    limits: Limits,
) -> Reply:
    replies: queue.SimpleQueue[Reply | None] = queue.SimpleQueue()
    executor.submit(job, replies.put, limits=limits)
    answer: Reply | None = None
    while not isinstance(reply := replies.get(), Ended):
        if isinstance(reply, Died):
            return reply
        if isinstance(reply, Failed) and reply.mistake:
            raise Mistake(reply.traceback)
        if isinstance(reply, Failed):
            raise JobFailed(reply.traceback)
        if isinstance(reply, Lost):
            raise ExecutorError(reply.why)
        if isinstance(reply, _ANSWERS) or reply is None:
            answer = reply
    if answer is None:
        raise ExecutorError(f"The executor was closed before it answered {type(job).__name__}")
    return answer
