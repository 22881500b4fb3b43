"""Many passes in one process are checked as each is in a process of its own."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import pytest
from tvm import relax

from relaxfuzz.compat.serialization import save_json
from relaxfuzz.fuzz.jobs import asking
from relaxfuzz.fuzz.jobs.jobs import Check, CheckEach, CheckOf, CheckResult
from relaxfuzz.fuzz.process.executor import JobFailed
from relaxfuzz.fuzz.process.local_pool import LocalPool
from relaxfuzz.oracles.check import VALUES
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.silence.inventory import DIED
from relaxfuzz.oracles.violation import mark_of

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

def subtracts():
    def transform(mod, context):
        return tvm.ir.load_json(tvm.ir.save_json(mod).replace("relax.add", "relax.subtract"))
    return made(transform)
"""


def each_of(calls: tuple[PassCall, ...]) -> tuple[CheckOf, ...]:
    return tuple(CheckOf(calls=(call,)) for call in calls)


def oracles(answer: CheckResult | JobFailed) -> list[str]:
    assert not isinstance(answer, JobFailed), answer
    return [violation.oracle for violation in answer.violations]


def test_each_pass_is_given_the_module_as_it_was(
    pool: LocalPool, sums: str, tmp_path: Path
) -> None:
    file = tmp_path / "passes.py"
    file.write_text(PASSES)
    names = ("wants_one_function", "adds_in_place", "wants_one_function")
    calls = tuple(PassCall(f"{name}()", factory=f"{file}:{name}") for name in names)
    answers = list(asking.check_each(pool, CheckEach(module=sums, checks=each_of(calls))))
    assert list(map(oracles, answers)) == [[], ["mutation"], []]


def test_a_death_is_that_of_one_pass(
    pool: LocalPool, faulty: Callable[[str], PassCall], sums: str
) -> None:
    names = ("innocent", "segfault", "segfault", "innocent")
    calls = tuple(map(faulty, names))
    answers = list(asking.check_each(pool, CheckEach(module=sums, checks=each_of(calls))))
    assert list(map(oracles, answers)) == [[], ["segfault"], ["segfault"], []]
    (alone,) = asking.check(pool, Check(module=sums, calls=(calls[1],)))
    assert isinstance(answers[1], CheckResult)
    assert mark_of(answers[1].violations[0]) == mark_of(alone)


@pytest.mark.parametrize("named", [False, True])
def test_each_oracle_that_a_death_kept_from_an_answer_says_so(
    pool: LocalPool, faulty: Callable[[str], PassCall], sums: str, named: bool
) -> None:
    job = CheckEach(module=sums, checks=each_of((faulty("segfault"),)), named=named)
    (found,) = asking.check_each(pool, job)
    assert isinstance(found, CheckResult)
    assert found.answers == asking.checked(pool, job.one(0)).answers
    names = [answer.oracle for answer in found.answers]
    assert names[0] == "crash"
    assert set(VALUES) <= set(names)
    assert ("executed" in names) == named
    assert {answer.silent for answer in found.answers} == {DIED.excuses}
    assert {answer.rule for answer in found.answers} == {DIED}


def test_a_fault_of_the_harness_costs_one_answer(
    pool: LocalPool, faulty: Callable[[str], PassCall], sums: str
) -> None:
    gone = PassCall("gone()", factory="nowhere.py:gone")
    calls = (faulty("innocent"), gone, faulty("innocent"))
    first, second, third = asking.check_each(pool, CheckEach(module=sums, checks=each_of(calls)))
    assert oracles(first) == oracles(third) == []
    assert isinstance(second, JobFailed)


@pytest.fixture
def large() -> str:
    """A module whose values take too long to compare."""
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((1 << 15, 1 << 15), "float32"))
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(relax.op.add(x, x)))
    return save_json(builder.get())


def test_what_is_too_large_to_be_compared_is_said_each_time(pool: LocalPool, large: str) -> None:
    calls = (PassCall("ConvertToDataflow(min_size=1)"), PassCall("Normalize()"))
    job = CheckEach(module=large, checks=each_of((calls[0], *calls)))
    answers = list(asking.check_each(pool, job))
    omitted = ((), ("values in NumPy",), 1)
    told = [(each.violations, each.omitted, each.pieces) for each in answers]
    assert told == [omitted, omitted, ((), (), 0)]  # the last one changes nothing


def test_values_of_a_large_module_are_compared_on_its_small_pieces(
    pool: LocalPool, large: str, tmp_path: Path
) -> None:
    file = tmp_path / "passes.py"
    file.write_text(PASSES)
    job = Check(module=large, calls=(PassCall("subtracts()", factory=f"{file}:subtracts"),))
    whole = asking.checked(pool, job)
    assert (whole.violations, whole.omitted) == ((), ("values in NumPy",))
    found = asking.checked(pool, dataclasses.replace(job, pieces=True))
    assert oracles(found) == ["evaluated"]
    (part,) = found.parts
    assert part is not None
    assert len(part.module) < 10_000
    (alone,) = asking.check(pool, Check(module=part.module, calls=job.calls))
    assert mark_of(alone) == mark_of(found.violations[0])
