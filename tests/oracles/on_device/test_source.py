"""Source code for devices: what is generated is left alone, what is not is found."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import tvm

from relaxfuzz.generators.prim_funcs.kernels import KINDS, TARGETS
from relaxfuzz.oracles.check import check
from relaxfuzz.oracles.on_device import source
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.silence.log import answers
from relaxfuzz.oracles.tiers import ORACLES
from relaxfuzz.oracles.violation import Case, Violation
from tests.oracles.device_faults import Scheduled

from ..snippets import load_faults, run_snippet

NAME = source.ORACLE.name
FILE = Path(__file__).with_name("code_faults.py")

faults = load_faults(FILE)


def case(mod: tvm.IRModule, factory: str = "marks") -> Case:
    return Case(mod, (PassCall(f"{factory}()", factory=f"{FILE}:{factory}"),))


def bound(kind: str) -> tvm.IRModule:
    target = tvm.target.Target(TARGETS[kind], host="llvm")
    return tvm.tirx.transform.BindTarget(target)(Scheduled)


def found(case: Case) -> tuple[list[Violation], str | None]:
    """The violations, and why there is nothing to compare."""
    with answers() as given:
        violations = check(case, oracles=[NAME])
    return violations, given[NAME].silent


@contextmanager
def generating(kind: str, generate: Callable[[tvm.IRModule, Any], Any]) -> Iterator[None]:
    """Another generator of code meanwhile."""
    name = f"target.build.{kind}"
    before = tvm.get_global_func(name)
    tvm.register_global_func(name, generate, override=True)
    try:
        yield
    finally:
        tvm.register_global_func(name, before, override=True)


def fails(mod: tvm.IRModule, target: Any) -> Any:
    raise ValueError("nothing stands for this expression")


GENERATED = [kind for kind in KINDS if kind not in source.LEFT_OUT]


@pytest.mark.parametrize("kind", GENERATED)
def test_a_generator_that_fails_is_found(kind: str) -> None:
    wrong = case(bound(kind))
    with generating(kind, fails):
        (violation,), _ = found(wrong)
        (brief,) = ORACLES[NAME].checks(wrong, violation, brief=True)
        with pytest.raises(ValueError, match="nothing stands for this expression"):
            exec(brief, {"tvm": tvm, "mod": wrong.mod, "the_pass": wrong.calls[0].build()})
    assert violation.full_key == (
        *(NAME, f"tirx.build for {kind}", f"no code for {kind} is generated"),
        *("ValueError", "nothing stands for this expression"),
    )


@pytest.mark.parametrize("kind", GENERATED)
def test_a_kernel_with_code_is_left_alone(kind: str) -> None:
    assert found(case(bound(kind))) == ([], None)


def test_code_for_the_cpu_is_c() -> None:
    assert found(case(faults.Sums)) == ([], None)
    run_snippet(NAME, case(faults.Sums))
    with generating("c", fails):
        (violation,), _ = found(case(faults.Sums))
    assert violation.pass_name == "tirx.build for c"


def test_a_generator_that_dies_is_found() -> None:
    with generating("opencl", lambda mod, target: os.abort()):
        (violation,), _ = found(case(bound("opencl")))
    assert violation.full_key[:3] == (
        *(NAME, "tirx.build for opencl"),
        "no code for opencl is generated",
    )


def test_a_pass_of_the_build_is_to_blame_itself() -> None:
    violations, silent = found(case(faults.Steps))
    assert violations == []
    assert silent is None or "Steps" not in silent


def test_what_the_pass_gets_wrong_is_its_fault() -> None:
    with generating("c", fails):
        assert found(case(faults.Sums, "subtracts"))[0] == []


@pytest.mark.parametrize("kind", source.LEFT_OUT)
def test_what_is_left_out_has_a_reason(kind: str) -> None:
    violations, silent = found(case(bound(kind)))
    assert violations == []
    assert silent == f"code for {kind} is left out: {source.LEFT_OUT[kind]}"
