"""The search in workers: deaths, other violations, workers that are killed, shares."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest
import tvm
from tvm import relax

from relaxfuzz.fuzz.findings.finding import Finding
from relaxfuzz.fuzz.jobs.asking import check
from relaxfuzz.fuzz.jobs.jobs import Check
from relaxfuzz.fuzz.minimize import parallel
from relaxfuzz.fuzz.minimize.findings import minimized
from relaxfuzz.fuzz.minimize.parallel import ParallelSearch, SearchState
from relaxfuzz.fuzz.process.local_pool import LocalPool
from relaxfuzz.fuzz.process.protocol import Limits
from relaxfuzz.oracles.inspect import bindings_of, ops_used
from relaxfuzz.oracles.passcall import PassCall

Faulty = Callable[[str], PassCall]


@pytest.fixture(scope="module")
def module() -> str:
    """`R.add`, and much that has nothing to do with it."""
    builder = relax.BlockBuilder()
    for name in ("main", "other"):
        x = relax.Var("x", relax.TensorType((2, 3), "float32"))
        y = relax.Var("y", relax.TensorType((2, 3), "float32"))
        with builder.function(name, [x, y]):
            value = builder.emit(relax.op.exp(x))
            if name == "main":
                value = builder.emit(relax.op.add(value, y))
            for op in (relax.op.sin, relax.op.cos, relax.op.tanh):
                value = builder.emit(op(value))
            builder.emit_func_output(value)
    return str(tvm.ir.save_json(builder.get()))


@pytest.fixture
def found(pool: LocalPool, module: str) -> Callable[[PassCall], Finding]:
    def found(call: PassCall) -> Finding:
        job = Check(module=module, calls=(call,))
        # A flaky one does not come out of every run.
        violation = next(seen[0] for _ in range(100) if (seen := check(pool, job)))
        return Finding(
            violation=violation, module=module, calls=(call,), versions={"tvm": tvm.__version__}
        )

    return found


Found = Callable[[PassCall], Finding]


def shrink(
    pool: LocalPool,
    finding: Finding,
    state: SearchState,
    *,
    over: Callable[[], bool],
    **options: Any,
) -> ParallelSearch:
    search = ParallelSearch(pool, finding, state, **options)
    search.run(over)
    return search


def shrunk(pool: LocalPool, finding: Finding, workers: int = 2) -> ParallelSearch:
    end = time.monotonic() + 120
    return shrink(
        pool,
        finding,
        SearchState(module=finding.module),
        workers=workers,
        over=lambda: time.monotonic() > end,
    )


def left(module: str) -> tuple[int, list[str]]:
    mod = tvm.ir.load_json(module)
    return len(bindings_of(mod)), sorted(ops_used(mod))


ONLY_ADD = (1, ["relax.add"])


@pytest.mark.parametrize("workers", [1, 2])
def test_deaths_are_followed(pool: LocalPool, faulty: Faulty, found: Found, workers: int) -> None:
    outcome = shrunk(pool, found(faulty("segfault")), workers)
    assert not outcome.faults
    assert outcome.state.ended
    assert left(outcome.state.module) == ONLY_ADD
    assert outcome.trail[-1] == outcome.state.module
    assert outcome.state.accepted == len(outcome.trail) <= outcome.state.tried


@pytest.mark.session
def test_a_hang_is_followed_without_much_patience(
    pool: LocalPool, faulty: Faulty, module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    impatient = Limits(step_seconds=1.0)
    monkeypatch.setattr(parallel, "HANG_LIMITS", impatient)
    call = faulty("hang")
    job = Check(module=module, calls=(call,), oracles=("crash",))
    (violation,) = check(pool, job, limits=impatient)
    finding = Finding(violation=violation, module=module, calls=(call,), versions={})
    states = [SearchState(module=module)]
    outcome = shrink(
        pool,
        finding,
        states[0],
        over=lambda: states[-1].accepted == 1,
        progress=states.append,
    )
    assert finding.oracle == "hang"
    assert not outcome.faults
    count, ops = left(outcome.state.module)
    assert count < left(module)[0]
    assert "relax.add" in ops


USER = '''
import ctypes
import time

import tvm
from tvm import relax


def _pass(name, transform):
    return tvm.transform.module_pass(transform, opt_level=0, name=name)


def two_faults():
    """Raises with `add`; without it, `exp` raises something else."""

    def transform(mod, context):
        text = mod.script()
        if "R.add" in text:
            raise ValueError("no add")
        if "R.exp" in text:
            raise KeyError("no exp")
        return mod

    return _pass("two_faults", transform)


def two_ends():
    """Raises with `add`; without it, it kills the process."""

    def transform(mod, context):
        if "R.add" in mod.script():
            raise ValueError("no add")
        return ctypes.string_at(0)

    return _pass("two_ends", transform)


def slow():
    """Takes its time before it raises with `add`."""

    def transform(mod, context):
        time.sleep(0.2)
        if "R.add" in mod.script():
            raise ValueError("no add")
        return mod

    return _pass("slow", transform)


def sometimes():
    """Raises with `add`, mostly."""

    def transform(mod, context):
        if "R.add" in mod.script() and time.time_ns() // 1000 % 5 != 0:
            raise ValueError("no add")
        return mod

    return _pass("sometimes", transform)
'''


@pytest.fixture
def user(tmp_path: Path) -> Callable[[str], PassCall]:
    (tmp_path / "user.py").write_text(USER)
    return lambda name: PassCall(f"{name}()", factory=f"{tmp_path / 'user.py'}:{name}")


@pytest.mark.parametrize("name", ["two_faults", "two_ends"])
def test_other_faults_are_not_followed(
    pool: LocalPool, user: Faulty, found: Found, name: str
) -> None:
    outcome = shrunk(pool, found(user(name)))
    assert left(outcome.state.module) == ONLY_ADD
    assert outcome.state.ended


@pytest.mark.session
def test_workers_that_are_killed_lose_nothing(pool: LocalPool, user: Faulty, found: Found) -> None:
    finding = found(user("slow"))
    stop = threading.Event()
    killed: list[int] = []

    def kill() -> None:
        while not stop.wait(0.7) and len(killed) < 4:
            for child in psutil.Process(pool.zygote).children():
                os.kill(child.pid, signal.SIGKILL)
                killed.append(child.pid)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        outcome = shrunk(pool, finding)
    finally:
        stop.set()
        killer.join()
    assert killed
    assert outcome.state.ended
    assert left(outcome.state.module) == ONLY_ADD


@pytest.mark.session
def test_a_search_goes_on_where_another_stopped(
    pool: LocalPool, user: Faulty, found: Found
) -> None:
    finding = found(user("slow"))
    states: list[SearchState] = []
    first = shrink(
        pool,
        finding,
        SearchState(module=finding.module),
        over=lambda: any(state.accepted == 2 for state in states),
        progress=states.append,
    )
    assert not first.state.ended
    second = shrink(pool, finding, first.state, over=lambda: False)
    assert second.state.ended
    assert second.state.accepted > first.state.accepted >= 2
    assert second.state.tried > first.state.tried
    assert left(second.state.module) == ONLY_ADD


def test_a_minimized_finding_was_confirmed(pool: LocalPool, user: Faulty, found: Found) -> None:
    finding = found(user("two_faults"))
    result = minimized(pool, finding, over=lambda: False)
    assert (result.flaky, result.finding.reduced) == (False, True)
    assert result.finding.id == finding.id
    assert left(result.finding.module) == ONLY_ADD
    assert "relax.op.add" in result.finding.source


def test_what_does_not_come_out_of_every_run_is_called_flaky(
    pool: LocalPool, user: Faulty, found: Found, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("relaxfuzz.fuzz.minimize.findings.ASKED", 40)
    result = minimized(pool, found(user("sometimes")), over=lambda: False)
    assert result.flaky
    assert not result.finding.reduced
    assert "relax.add" in left(result.finding.module)[1]
