"""A reproducer fails like its finding, or is rejected."""

from __future__ import annotations

import dataclasses
import runpy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import tvm

from relaxfuzz.fuzz import reproducer
from relaxfuzz.fuzz.findings.confirm import again
from relaxfuzz.fuzz.findings.finding import Finding
from relaxfuzz.fuzz.jobs.asking import check
from relaxfuzz.fuzz.jobs.jobs import Check
from relaxfuzz.fuzz.process.local_pool import LocalPool
from relaxfuzz.fuzz.process.protocol import Limits
from relaxfuzz.fuzz.reproducer import Form, checks
from relaxfuzz.fuzz.reproducer.replay import ReplayStatus, items, replay
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.text.frames import Trace
from tests.fuzz.changed import changed

USER = Path(__file__).parents[1] / "user_passes.py"
LIMITS = Limits(step_seconds=20.0, memory_mb=512)
SHORT = Limits(step_seconds=2.0, memory_mb=512)
"""For a pass that hangs."""


def finding_of(
    pool: LocalPool,
    module: str,
    call: PassCall,
    oracles: tuple[str, ...] | None = None,
    limits: Limits = LIMITS,
) -> Finding:
    job = Check(module=module, calls=(call,), oracles=oracles)
    violation = check(pool, job, limits=limits)[0]
    return Finding(
        violation=violation,
        module=module,
        source=reproducer.source_of(module),
        calls=(call,),
        versions={"tvm": tvm.__version__},
    )


@pytest.mark.parametrize("name", ["segfault", "division", "abort", "leave", "recurse", "close_all"])
def test_a_death_is_repeated(
    pool: LocalPool, faulty: Callable[[str], PassCall], sums: str, name: str
) -> None:
    finding = finding_of(pool, sums, faulty(name))
    text = next(reproducer.texts(finding))
    assert reproducer.fails(text, finding)


@pytest.mark.session
def test_a_hang_is_cut_short(
    pool: LocalPool,
    faulty: Callable[[str], PassCall],
    sums: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(checks, "HANG_SECONDS", 3)
    finding = finding_of(pool, sums, faulty("hang"), limits=SHORT)
    assert reproducer.fails(next(reproducer.texts(finding)), finding)


def user(name: str) -> PassCall:
    return PassCall(f"{name}()", factory=f"{USER}:{name}")


def test_it_needs_tvm_and_the_pass_only(pool: LocalPool, sums: str, tmp_path: Path) -> None:
    finding = finding_of(pool, sums, user("marks"))
    text = next(reproducer.texts(finding))
    assert "import relaxfuzz" not in text
    assert "from relaxfuzz" not in text
    assert finding.id in text
    path = tmp_path / "reproducer.py"
    path.write_text(text)
    done = subprocess.run(
        [sys.executable, "-W", "error", str(path)], capture_output=True, text=True, env={}
    )
    assert done.returncode == 1
    assert "StructuralEqual check failed" in done.stderr
    assert reproducer.fails(text, finding)


def test_it_sets_the_options_of_the_context(pool: LocalPool, sums: str) -> None:
    config = {"relax.FuseOps.max_depth": 1 << 30, "relax.backend.use_cuda_graph": True}
    finding = finding_of(pool, sums, dataclasses.replace(user("marks"), config=config))
    text = next(reproducer.texts(finding))
    for key, value in config.items():
        assert repr(key) in text.replace('"', "'")
        assert str(value) in text
    assert reproducer.fails(text, finding)


def test_a_fixed_pass_makes_it_pass(pool: LocalPool, sums: str) -> None:
    finding = finding_of(pool, sums, user("marks"))
    text = next(reproducer.texts(finding)).replace("marks']()", "correct']()")
    assert "correct']()" in text
    assert not reproducer.fails(text, finding)


def test_without_source_the_module_travels_as_json(pool: LocalPool, sums: str) -> None:
    finding = dataclasses.replace(finding_of(pool, sums, user("marks")), source="")
    text = next(reproducer.texts(finding, Form.SOURCE))
    assert "load_json" in text
    assert reproducer.fails(text, finding)


def test_confirmation_wants_the_same_identity(pool: LocalPool, sums: str) -> None:
    finding = finding_of(pool, sums, user("raises_always"), ("crash",))
    assert again(pool, finding, sums) is not None
    # The rest of a key is for people.
    assert again(pool, changed(finding, key=("other",)), sums) is not None
    trace = finding.violation.trace
    elsewhere = Trace(("user_passes.py:elsewhere",), trace.condition)
    assert again(pool, changed(finding, trace=elsewhere), sums) is None
    otherwise = Trace(trace.functions, "raise ValueError()")
    assert again(pool, changed(finding, trace=otherwise), sums) is None


HIDDEN = Path(__file__).parents[2] / "oracles" / "values" / "sanitized_faults.py"


@pytest.mark.session
@pytest.mark.parametrize(
    ("name", "oracle", "raised"),
    [
        ("races", "sanitized", "AssertionError"),
        ("picks_outside", "evaluated", "Undefined"),
        ("jumps", "evaluated", "Undefined"),
    ],
)
def test_what_compiled_code_hides_needs_relaxfuzz(
    pool: LocalPool, tmp_path: Path, name: str, oracle: str, raised: str
) -> None:
    module = tvm.ir.save_json(runpy.run_path(str(HIDDEN))["Module"])
    call = PassCall(f"{name}()", factory=f"{HIDDEN}:{name}")
    finding = finding_of(pool, module, call, (oracle,))
    text = next(reproducer.texts(finding))
    assert "\n# It needs relaxfuzz, besides TVM and NumPy" in text
    path = tmp_path / "reproducer.py"
    path.write_text(text)
    assert raised in reproducer.run(path)[1]
    (item,) = items(path)
    assert replay(item, pool).status is ReplayStatus.FAILS
    fixed = text.replace(f"{name}']()", "goes_backwards']()")
    assert fixed != text
    assert not reproducer.fails(fixed, finding)


def test_memory_that_cpp_is_refused_has_a_reproducer(
    pool: LocalPool, sums: str, faulty: Callable[[str], PassCall]
) -> None:
    """It ends the process by a signal, without a traceback."""
    found = finding_of(pool, sums, faulty("run_out_in_cpp"), ("crash",))
    found = dataclasses.replace(found, source=reproducer.source_of(sums))
    assert found.oracle == "out-of-memory"
    assert reproducer.failing(found, executor=pool) is not None
