"""Whatever a pass does to its process is a violation of that pass and does no other harm."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from relaxfuzz.fuzz.jobs import asking
from relaxfuzz.fuzz.jobs.jobs import Check
from relaxfuzz.fuzz.process import death, executor
from relaxfuzz.fuzz.process.local_pool import LocalPool
from relaxfuzz.fuzz.process.protocol import Death, Died, Limits, Position
from relaxfuzz.fuzz.system.environment import Environment
from relaxfuzz.fuzz.system.errors import UserError
from relaxfuzz.generators.stages import Stage
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.violation import Violation

SMALL = Limits(step_seconds=20, memory_mb=300)
IMPATIENT = Limits(step_seconds=2)

Check_ = Callable[[str], list[Violation]]


def eventually(condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 30
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.02)
    return condition()


@pytest.fixture
def check(pool: LocalPool, faulty: Callable[[str], PassCall], sums: str) -> Check_:
    return lambda name: asking.check(
        pool,
        Check(module=sums, calls=(faulty(name),)),
        limits=IMPATIENT if name in ("hang", "spin") else SMALL,
    )


@pytest.mark.parametrize(
    ("name", "oracle", "key", "title"),
    [
        (
            "segfault",
            "segfault",
            ("__init__.py:string_at",),
            "segmentation fault in __init__.py:string_at",
        ),
        (
            "recurse",
            "segfault",
            ("tvm::relax::FreeVars",),
            "segmentation fault in tvm::relax::FreeVars",
        ),
        (
            "raise_surrogate",
            "segfault",
            ("tvm_ffi.core.TVMFFICyErrorSetRaisedFromPyError",),
            "segmentation fault in tvm_ffi.core.TVMFFICyErrorSetRaisedFromPyError",
        ),
        ("division", "arithmetic-signal", ("passes.py:<lambda>",), "(SIGFPE) in passes.py"),
        ("abort", "abort", ("passes.py:transform",), "aborted the process"),
        ("hang", "hang", (), "no progress within the time limit"),
        ("spin", "hang", (), "no progress within the time limit"),
        ("eat", "out-of-memory", (), "stopped by MemoryError"),
        ("nibble", "out-of-memory", (), "memory grew beyond the limit"),
        ("storm", "processes", (), "started more than 256 processes"),
        ("leave", "exit", (), "exit code 0"),
        ("kill_itself", "killed", (), "killed the process with SIGKILL"),
        ("kill_parent", "killed-parent", (), "killed the process that had started its own"),
        ("close_all", "side-effect", ("the standard streams",), "the standard streams changed"),
        ("move", "side-effect", ("the working directory",), "the working directory changed"),
    ],
)
def test_a_death_is_a_violation(
    check: Check_, name: str, oracle: str, key: tuple[str, ...], title: str
) -> None:
    (violation,) = check(name)
    assert (violation.oracle, violation.pass_name) == (oracle, name)
    assert title in violation.title
    assert violation.key == key


LATE = """
import os, time
fork = os.fork
def fork_and_sleep():
    if pid := fork():
        time.sleep(0.3)
    return pid
os.fork = fork_and_sleep
"""


@pytest.fixture(scope="module")
def late_pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalPool]:
    """A zygote that goes on only after its child has done a lot, as on a busy machine."""
    folder = tmp_path_factory.mktemp("late")
    (folder / "sitecustomize.py").write_text(LATE)
    with LocalPool(2, environment=Environment(path=(folder,))) as pool:
        yield pool


@pytest.mark.session
@pytest.mark.parametrize(
    ("name", "oracles"),
    [
        ("nibble", ["out-of-memory"]),
        ("kill_itself", ["killed"]),
        ("kill_parent", ["killed-parent"]),
        ("leave_child", []),
    ],
)
def test_a_zygote_that_is_late_reports_the_same(
    late_pool: LocalPool,
    faulty: Callable[[str], PassCall],
    sums: str,
    name: str,
    oracles: list[str],
) -> None:
    job = Check(module=sums, calls=(faulty(name),))
    violations = asking.check(late_pool, job, limits=SMALL)
    assert [violation.oracle for violation in violations] == oracles


@pytest.mark.session
def test_a_killed_parent_is_reported_whatever_step_comes_next(
    faulty: Callable[[str], PassCall], sums: str, tmp_path: Path
) -> None:
    """The zygote takes some milliseconds to die, and its child goes on meanwhile."""
    job = Check(module=sums, calls=(faulty("kill_parent_late"),))
    with LocalPool(1, environment=Environment(folder=tmp_path)) as pool:
        (violation,) = asking.check(pool, job, limits=SMALL)
    assert (violation.oracle, violation.pass_name) == ("killed-parent", "kill_parent_late")
    assert len(list(tmp_path.iterdir())) == 3


def test_processes_that_have_left_the_session_count(
    pool: LocalPool, faulty: Callable[[str], PassCall], sums: str
) -> None:
    job = Check(module=sums, calls=(faulty("storm_apart"),), oracles=("crash",))
    (violation,) = asking.check(pool, job, limits=SMALL)
    assert (violation.oracle, violation.pass_name) == ("processes", "storm_apart")
    assert eventually(lambda: psutil.Process(pool.zygote).children(recursive=True) == [])


def test_a_query_of_a_type_is_not_the_cause_of_a_segfault() -> None:
    """On stack overflow it is the innermost function with a name by accident."""
    frames = "".join(
        f'  File "<unknown>", line 0, in {name}\n'
        for name in ("tvm::Type::Missing()", "tvm::Type::IsMissing() const")
    )
    call = PassCall("RunCodegen()")
    position = Position(0, Stage.RAW, 0, calls=(call,), step="RunCodegen")
    died = Died(0, Death.SEGFAULT, -signal.SIGSEGV, position, f"Segfault encountered\n{frames}")
    assert death.violation(died).key == ()


def test_the_report_of_a_hang_has_the_stack(check: Check_) -> None:
    (violation,) = check("hang")
    assert "passes.py" in violation.detail
    assert "in forever" in violation.detail


@pytest.mark.parametrize(
    "name", ["fork", "leave_child", "daemonize", "chatter", "speak", "innocent"]
)
def test_what_does_no_harm_is_no_violation(check: Check_, pool: LocalPool, name: str) -> None:
    assert check(name) == []
    # What a pass has forked is killed before the answer, and reaped soon after.
    assert eventually(lambda: psutil.Process(pool.zygote).children(recursive=True) == [])


def test_the_text_of_an_exception_is_made_printable(check: Check_) -> None:
    violation = check("swear")[0]
    assert violation.oracle == "crash"
    assert len(violation.detail) < 1_000_000
    assert all(char.isprintable() or char == "\n" for char in violation.title + violation.detail)


def test_a_pass_that_cannot_be_loaded_any_more_is_the_users_mistake(
    pool: LocalPool, sums: str, tmp_path: Path
) -> None:
    gone = PassCall("make()", factory=f"{tmp_path / 'gone.py'}:make")
    with pytest.raises(UserError, match=r"gone\.py:make cannot be loaded") as raised:
        asking.check(pool, Check(module=sums, calls=(gone,)))
    assert "\n" not in str(raised.value)


def test_a_defect_of_the_harness_is_no_violation(pool: LocalPool) -> None:
    job = Check(module="this is no module", calls=(PassCall("FuseOps()"),))
    with pytest.raises(executor.ExecutorError, match="Traceback"):
        asking.check(pool, job)
