"""Rules of silence: the inventory, the log of a check, and rules that are lifted."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from pathlib import Path

import pytest
from tvm.script import ir as I
from tvm.script import relax as R

from relaxfuzz.oracles.catalogue import contract_of
from relaxfuzz.oracles.check import VALUES, check
from relaxfuzz.oracles.contract import Exemption
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.silence import inventory, log
from relaxfuzz.oracles.silence.inventory import EXCUSES, RULES
from relaxfuzz.oracles.silence.rule import SilenceKind
from relaxfuzz.oracles.tiers import compared
from relaxfuzz.oracles.violation import Case


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_each_rule_says_what_it_excuses_and_why(rule: inventory.SilenceRule) -> None:
    assert rule.excuses
    assert rule.source
    assert rule.name == rule.name.lower().replace("_", "-").replace(" ", "-")


PAGE = Path(__file__).parents[2] / "docs" / "silence.md"


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_each_rule_stands_in_the_documentation(rule: inventory.SilenceRule) -> None:
    assert f"| `{rule.name}` | {rule.excuses} | {rule.source} |" in PAGE.read_text()


def test_the_log_has_the_report_that_a_rule_kept_back() -> None:
    with log.answers() as given:
        log.asking("evaluated")
        assert log.excused(inventory.OVERFLOW, "values: expected 1 but got 2")
        assert log.excused(inventory.OVERFLOW, "values: expected 1 but got 2")
        log.asking("effects")
        log.abstain(inventory.NO_EFFECTS)
    kept = log.Silence("overflow", "values: expected 1 but got 2")
    assert given["evaluated"].silences == (kept,), "each once"
    assert given["evaluated"].silent is None, "it compared something else"
    assert given["effects"].silent == inventory.NO_EFFECTS.excuses
    assert log.counted(given.values()) == {"overflow": 1}


def test_without_a_check_there_is_no_log() -> None:
    assert log.excused(inventory.OVERFLOW, "values")


def test_a_lifted_rule_excuses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log, "_loud", lambda: frozenset({"overflow"}))
    with log.answers() as given:
        log.asking("evaluated")
        assert not log.excused(inventory.OVERFLOW, "values")
        assert log.excused(inventory.ROUNDING, "values")
    assert given["evaluated"].lifted == ("overflow",)


def test_all_lifts_excuses_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log, "_loud", lambda: frozenset({log.ALL}))
    lifted = [rule.name for rule in RULES.values() if log.is_loud(rule)]
    assert lifted == list(EXCUSES)
    assert all(RULES[name].kind is SilenceKind.EXCUSE for name in lifted)


def test_the_environment_lifts_rules_in_a_process() -> None:
    code = (
        "from relaxfuzz.oracles.silence import inventory, log\n"
        "assert log.is_loud(inventory.OVERFLOW) and not log.is_loud(inventory.ROUNDING)"
    )
    environment = log.variables(("overflow",))
    subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        check=True,
        env={"PYTHONPATH": ":".join(sys.path), **environment},
    )


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        with R.dataflow():
            y = R.add(x, x)
            R.output(y)
        return y


def answers_of(expr: str) -> dict[str, log.Answer]:
    with log.answers() as given:
        assert not check(Case(Module, (PassCall(expr),)), besides=VALUES)
    return given


def test_a_pass_that_changes_nothing_compares_nothing() -> None:
    answers = answers_of("AdjustMatmulOrder()")
    assert answers["evaluated"].silent
    assert not compared(answers.values())


def test_a_pass_that_changes_something_is_compared() -> None:
    assert compared(answers_of("LegalizeOps()").values())


FAULTY = """
import tvm, tvm_ffi
from tvm import relax

@tvm.transform.module_pass(opt_level=0, name="Subtracts")
def make(mod, context):
    add = tvm.ir.Op.get("relax.add")
    def subtract(call):
        return relax.op.subtract(*call.args) if call.op.same_as(add) else call
    result = tvm.IRModule(mod.functions)
    for gvar, func in mod.functions_items():
        result[gvar] = tvm_ffi.structural_map(func, [(relax.Call, subtract)])
    return relax.transform.Normalize()(result)
"""


def test_an_oracle_that_reports_has_compared_something(tmp_path: Path) -> None:
    """Its search for the part of the pass to blame abstains where that part changes nothing."""
    file = tmp_path / "faulty.py"
    file.write_text(FAULTY)
    call = PassCall("make()", factory=f"{file}:make")
    with log.answers() as given:
        violations = check(Case(Module, (call,)), besides=VALUES)
    assert [violation.oracle for violation in violations] == ["evaluated"]
    assert given["evaluated"].silent is None
    assert given["evaluated"].rule is None


def test_who_asks_for_runs_alone_has_runs_compared() -> None:
    answers = answers_of("AdjustMatmulOrder()").values()
    assert compared(answers, ("crash", "json"))
    assert not compared(answers, ("crash", "evaluated"))


def test_an_exempt_oracle_is_asked_for_the_log_alone() -> None:
    call = PassCall("LegalizeOps()")
    exempt = dataclasses.replace(
        contract_of(call), exemptions=(Exemption("evaluated", "nothing is promised", "a test"),)
    )
    adds = dataclasses.replace(exempt, name="adds")
    with log.answers(curious=True) as given:
        assert not check(Case(Module, (call,)), contract=adds, besides=VALUES)
    assert given["evaluated"].silent == "exempt: nothing is promised"
    assert given["evaluated"].silences[0].rule == "exemption"
