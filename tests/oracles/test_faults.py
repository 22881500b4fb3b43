"""Conformance of the oracles of tier 1: each catches its faults, and is silent otherwise."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import tvm

from relaxfuzz.oracles.check import ORACLES, check
from relaxfuzz.oracles.contract import PassContract
from relaxfuzz.oracles.oracle import Oracle
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.tiers import STRUCTURAL
from relaxfuzz.oracles.violation import Case, Violation

from .snippets import load_faults

FILE = Path(__file__).with_name("faults.py")


faults = load_faults(FILE)


def call_of(factory: str) -> PassCall:
    return PassCall(f"{factory}()", factory=f"{FILE}:{factory}")


FAULTY = [
    pytest.param(oracle, factory.__name__, id=f"{oracle}-{factory.__name__}")
    for oracle, factories in faults.FAULTS.items()
    for factory in factories
]


def never(before: tvm.IRModule, after: tvm.IRModule, call: PassCall) -> str | None:
    return "nothing is ever right"


def broken_promise(factory: str) -> PassContract:
    call = call_of(factory)
    return PassContract(name=factory, variants=lambda choices, mod: call, post=never)


OF_CONTRACTS = ["postcondition", "reference", "lowering-complete"]
"""What they ask stands in the contract: see below, and the tests of these oracles."""


def test_every_oracle_of_tier_1_has_a_fault() -> None:
    assert list(faults.FAULTS) == [oracle.name for oracle in STRUCTURAL]
    assert [name for name, passes in faults.FAULTS.items() if not passes] == OF_CONTRACTS


@pytest.mark.parametrize(("oracle", "factory"), FAULTY)
def test_the_fault_is_caught_and_only_by_its_oracle(oracle: str, factory: str) -> None:
    (violation,) = check(Case(faults.module(), (call_of(factory),)))
    assert (violation.oracle, violation.pass_name) == (oracle, factory)
    assert violation.title
    assert violation.detail
    assert violation.key


@pytest.mark.parametrize(("oracle", "factory"), FAULTY)
def test_of_a_pass_without_a_contract_only_universal_oracles_are_asked(
    oracle: str, factory: str
) -> None:
    contract = PassContract(name=factory, universal_only=True)
    violations = check(Case(faults.module(), (call_of(factory),)), contract=contract)
    assert [v.oracle for v in violations] == ([oracle] if ORACLES[oracle].universal else [])


def test_a_broken_postcondition_is_caught() -> None:
    contract = broken_promise("marks")
    (violation,) = check(Case(faults.module(), (call_of("marks"),)), contract=contract)
    assert (violation.oracle, violation.key) == ("postcondition", ("nothing is ever right",))


@pytest.mark.parametrize("factory", [factory.__name__ for factory in faults.CORRECT])
def test_every_oracle_is_silent_on_a_correct_pass(factory: str) -> None:
    case = Case(faults.module(), (call_of(factory),))
    assert check(case) == []
    assert check(case, oracles=[oracle.name for oracle in STRUCTURAL]) == []


@pytest.mark.parametrize(("oracle", "factory"), FAULTY)
def test_a_violation_recurs_with_its_oracle_alone(oracle: str, factory: str) -> None:
    def key(violations: list[Violation]) -> list[tuple[str, ...]]:
        return [(v.oracle, v.pass_name, *v.key) for v in violations]

    call = call_of(factory)
    text = tvm.ir.save_json(faults.module())
    everything = check(Case(tvm.ir.load_json(text), (call,)))
    alone = check(Case(tvm.ir.load_json(text), (call,)), oracles=[oracle])
    assert key(alone) == key(everything)


@pytest.mark.parametrize("oracle", STRUCTURAL, ids=lambda oracle: oracle.name)
def test_every_oracle_states_what_it_checks_and_who_promises_it(oracle: Oracle) -> None:
    assert oracle.tier == 1
    assert re.fullmatch(r"[a-z-]+", oracle.name)
    assert oracle.promise.endswith(".")
    assert oracle.source
