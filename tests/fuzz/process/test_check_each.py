"""Many passes in one process are checked as each is in a process of its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from relaxfuzz.fuzz.process import executor
from relaxfuzz.fuzz.process.executor import JobFailed
from relaxfuzz.fuzz.process.jobs import Check, CheckEach
from relaxfuzz.fuzz.process.local_pool import LocalPool
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.violation import Violation

PASSES = """
import tvm

def made(transform):
    return tvm.transform.module_pass(transform, opt_level=0, name="made")

def adds_in_place():
    def transform(mod, context):
        mod["other"] = mod["main"].with_attr("global_symbol", "other")
        return mod
    return made(transform)

def wants_one_function():
    def transform(mod, context):
        assert len(mod.functions) == 1
        return mod
    return made(transform)
"""


def oracles(answer: list[Violation] | JobFailed) -> list[str]:
    assert not isinstance(answer, JobFailed), answer
    return [violation.oracle for violation in answer]


def test_each_pass_is_given_the_module_as_it_was(
    pool: LocalPool, sums: str, tmp_path: Path
) -> None:
    file = tmp_path / "passes.py"
    file.write_text(PASSES)
    names = ("wants_one_function", "adds_in_place", "wants_one_function")
    calls = tuple(PassCall(f"{name}()", factory=f"{file}:{name}") for name in names)
    answers = list(executor.check_each(pool, CheckEach(module=sums, calls=calls)))
    assert list(map(oracles, answers)) == [[], ["mutation"], []]


def test_a_death_is_that_of_one_pass(
    pool: LocalPool, faulty: Callable[[str], PassCall], sums: str
) -> None:
    names = ("innocent", "segfault", "segfault", "innocent")
    calls = tuple(map(faulty, names))
    answers = list(executor.check_each(pool, CheckEach(module=sums, calls=calls)))
    assert list(map(oracles, answers)) == [[], ["segfault"], ["segfault"], []]
    alone = executor.check(pool, Check(module=sums, calls=(calls[1],)))
    assert answers[1] == alone


def test_a_fault_of_the_harness_costs_one_answer(
    pool: LocalPool, faulty: Callable[[str], PassCall], sums: str
) -> None:
    gone = PassCall("gone()", factory="nowhere.py:gone")
    calls = (faulty("innocent"), gone, faulty("innocent"))
    first, second, third = executor.check_each(pool, CheckEach(module=sums, calls=calls))
    assert oracles(first) == oracles(third) == []
    assert isinstance(second, JobFailed)
