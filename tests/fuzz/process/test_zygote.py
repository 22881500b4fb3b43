"""The zygote and its children: one thread, and no process left behind, whichever of them dies."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import time
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from relaxfuzz.fuzz.jobs import asking
from relaxfuzz.fuzz.jobs.jobs import Check
from relaxfuzz.fuzz.process import executor, local_pool
from relaxfuzz.fuzz.process.executor import ExecutorError, JobFailed
from relaxfuzz.fuzz.process.local_pool import LocalPool
from relaxfuzz.fuzz.process.protocol import (
    Death,
    Died,
    Ended,
    Failed,
    Forked,
    Heartbeat,
    Job,
    Limits,
    Reply,
)
from relaxfuzz.oracles.passcall import PassCall

PATIENT = Limits(step_seconds=60)


def eventually(condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 30
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.02)
    return condition()


class Replies:
    """A sink that keeps what it receives."""

    def __init__(self) -> None:
        self._queue: queue.SimpleQueue[Reply | None] = queue.SimpleQueue()
        self.replies: list[Reply | None] = []

    def __call__(self, reply: Reply | None) -> None:
        self._queue.put(reply)

    def until(self, kind: type | types.UnionType) -> Reply | None:
        while True:
            reply = self._queue.get(timeout=30)
            self.replies.append(reply)
            if isinstance(reply, kind):
                return reply


@pytest.fixture(scope="module")
def own_pool() -> Iterator[LocalPool]:
    """One worker, for jobs that are killed from outside; other jobs are not disturbed."""
    with LocalPool(1) as pool:
        yield pool


def running(pool: LocalPool, job: Check) -> tuple[Replies, int, psutil.Process]:
    """Submit a job, and wait until its child is there."""
    replies = Replies()
    id = pool.submit(job, replies, limits=PATIENT)
    forked = replies.until(Forked)
    assert isinstance(forked, Forked)
    return replies, id, psutil.Process(forked.pid)


@pytest.fixture
def hanging(faulty: Callable[[str], PassCall], sums: str) -> Check:
    return Check(module=sums, calls=(faulty("hang"),))


def test_the_zygote_has_one_thread(pool: LocalPool) -> None:
    assert psutil.Process(pool.zygote).num_threads() == 1


@dataclass(frozen=True, slots=True)
class Unhandled(Job[str]):
    """A job that no child can do."""


def test_a_job_without_a_handler_fails_alone(
    own_pool: LocalPool, sums: str, faulty: Callable[[str], PassCall]
) -> None:
    zygote = own_pool.zygote
    with pytest.raises(JobFailed, match="but got 'Unhandled'"):
        executor.ask(own_pool, Unhandled())
    assert asking.check(own_pool, Check(module=sums, calls=(faulty("innocent"),))) == []
    assert own_pool.zygote == zygote


def test_a_killed_zygote_is_replaced_and_its_jobs_are_repeated(
    own_pool: LocalPool, hanging: Check, faulty: Callable[[str], PassCall]
) -> None:
    replies, id, child = running(own_pool, hanging)
    before = own_pool.zygote
    os.kill(before, signal.SIGKILL)
    assert replies.until(type(None)) is None
    replies.until(Forked)
    assert own_pool.zygote != before
    assert eventually(lambda: not child.is_running())
    own_pool.cancel(id)
    replies.until(Ended)
    assert asking.check(own_pool, Check(module=hanging.module, calls=(faulty("innocent"),))) == []


def test_a_job_killed_from_outside_is_repeated_but_not_for_ever(
    own_pool: LocalPool, hanging: Check
) -> None:
    replies, _, child = running(own_pool, hanging)
    reply: Reply | None = None
    for _ in range(local_pool.RETRIES + 1):
        child.kill()
        reply = replies.until(types.NoneType | Failed | Died)
        if reply is not None:
            break
        forked = replies.until(Forked)
        assert isinstance(forked, Forked)
        child = psutil.Process(forked.pid)
    # A job that is killed at the same position each time is at fault, else nobody is.
    if isinstance(reply, Failed):
        assert "after 3 retries: its process was killed with signal 9" in reply.traceback
    else:
        assert isinstance(reply, Died)
        assert reply.death is Death.KILLED


def test_a_job_that_is_always_killed_at_the_same_position_is_at_fault(
    own_pool: LocalPool, hanging: Check
) -> None:
    replies, _, child = running(own_pool, hanging)
    replies.until(Heartbeat)
    child.kill()
    for _ in range(local_pool.BLAMED - 1):
        assert replies.until(type(None)) is None
        forked = replies.until(Forked)
        assert isinstance(forked, Forked)
        replies.until(Heartbeat)
        psutil.Process(forked.pid).kill()
    died = replies.until(Died)
    assert isinstance(died, Died)
    assert (died.death, died.position and died.position.step) == (Death.KILLED, "direct")


def test_a_cancelled_job_ends(own_pool: LocalPool, hanging: Check) -> None:
    replies, id, child = running(own_pool, hanging)
    waiting = Replies()
    other = own_pool.submit(hanging, waiting)
    own_pool.cancel(other)
    waiting.until(Ended)
    own_pool.cancel(id)
    replies.until(Ended)
    assert eventually(lambda: not child.is_running())


def test_closing_leaves_no_process(hanging: Check) -> None:
    pool = LocalPool(1)
    replies, _, child = running(pool, hanging)
    zygote = psutil.Process(pool.zygote)
    pool.close()
    replies.until(Ended)
    assert not zygote.is_running()
    assert not child.is_running()
    with pytest.raises(ExecutorError, match="closed"):
        pool.submit(hanging, replies)


DRIVER = """
import sys, time
from relaxfuzz.fuzz.process.local_pool import LocalPool
from relaxfuzz.fuzz.jobs.jobs import Check
from relaxfuzz.fuzz.process.protocol import Forked, Limits
from relaxfuzz.oracles.passcall import PassCall
pool = LocalPool(1)
def sink(reply):
    if isinstance(reply, Forked):
        print(pool.zygote, reply.pid, flush=True)
call = PassCall("hang()", factory=sys.argv[1])
pool.submit(Check(module=sys.stdin.read(), calls=(call,)), sink, limits=Limits(step_seconds=600))
time.sleep(600)
"""


def test_a_killed_driver_leaves_no_process(hanging: Check) -> None:
    factory = hanging.calls[0].factory
    assert factory is not None
    driver = subprocess.Popen(
        [sys.executable, "-c", DRIVER, factory],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        text=True,
    )
    assert driver.stdin is not None
    assert driver.stdout is not None
    driver.stdin.write(hanging.module)
    driver.stdin.close()
    zygote, child = (psutil.Process(int(pid)) for pid in driver.stdout.readline().split())
    driver.kill()
    driver.wait()
    driver.stdout.close()
    assert eventually(lambda: not zygote.is_running() and not child.is_running())


def test_the_error_of_a_zygote_that_does_not_start_has_its_stderr(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "tvm.py").write_text("raise ImportError('no TVM on this machine')")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ExecutorError, match="no TVM on this machine"):
        LocalPool(1)
