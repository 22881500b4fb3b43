"""A check goes on behind a violation, with a module without the part that shows it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import tvm
from tvm import relax

from relaxfuzz.compat.serialization import load_json, save_json
from relaxfuzz.fuzz.campaign.block import Block, Violated, WentOn
from relaxfuzz.fuzz.campaign.campaign import CampaignConfig, run
from relaxfuzz.fuzz.campaign.events import Finished
from relaxfuzz.fuzz.campaign.seeds import Seeds
from relaxfuzz.fuzz.findings.finding import UnconfirmedFinding
from relaxfuzz.fuzz.jobs.asking import checked
from relaxfuzz.fuzz.jobs.behind import ROUNDS, cut, go_on
from relaxfuzz.fuzz.jobs.jobs import Check
from relaxfuzz.fuzz.process.executor import collect
from relaxfuzz.fuzz.process.local_pool import LocalPool
from relaxfuzz.fuzz.process.protocol import Death
from relaxfuzz.fuzz.process.targets import Target
from relaxfuzz.generators.seeds import Whole
from relaxfuzz.generators.stages import Stage
from relaxfuzz.oracles.checkers import input_flaw
from relaxfuzz.oracles.inspect import bindings_of, ops_used
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.violation import Violation

TWO_FAULTS = """
import os

import tvm
from tvm import relax


def two_faults():
    def transform(mod, context):
        text = mod.script()
        if "R.tan(" in text:
            raise ValueError("the first fault")
        if "R.sinh(" in text:
            raise KeyError("the second fault")
        if "R.asinh(" in text:
            os.abort()
        return mod

    return tvm.transform.module_pass(transform, opt_level=0, name="two_faults")
"""


def chain(builder: relax.BlockBuilder, name: str, *operators: Any) -> None:
    x = relax.Var("x", relax.TensorType((2, 3), "float32"))
    with builder.function(name, [x]):
        value: relax.Expr = x
        for operator in operators:
            value = builder.emit(operator(value))
        builder.emit_func_output(value)


def made(*functions: tuple[Any, ...]) -> tvm.IRModule:
    builder = relax.BlockBuilder()
    for number, operators in enumerate(functions):
        chain(builder, f"f{number}", *operators)
    return builder.finalize()


op = relax.op
HIDING = made((op.exp, op.tan, op.sinh, op.cos, op.tan, op.sin))


def has(name: str, mod: tvm.IRModule) -> bool:
    return f"relax.{name}" in ops_used(mod)


def test_one_binding_goes_where_that_is_enough() -> None:
    mod = made((op.exp, op.tan, op.sinh, op.cos))
    rest = load_json(cut(mod, lambda each: has("tan", each)))
    assert ops_used(rest) == {"relax.exp", "relax.sinh", "relax.cos"}
    assert input_flaw(rest) is None


def test_all_bindings_of_a_kind_go_where_each_shows_it() -> None:
    rest = load_json(cut(HIDING, lambda each: has("tan", each)))
    assert ops_used(rest) == {"relax.exp", "relax.sinh", "relax.cos", "relax.sin"}


def test_a_function_goes_where_most_of_the_module_is_left() -> None:
    mod = made((op.tan,), (op.exp, op.sin), (op.cos,))
    rest = load_json(cut(mod, lambda each: has("tan", each)))
    assert [gvar.name_hint for gvar in rest.functions] == ["f1", "f2"]


def test_a_fault_that_takes_two_functions() -> None:
    mod = made((op.tan, op.exp, op.exp), (op.sinh, op.cos))
    rest = load_json(cut(mod, lambda each: has("tan", each) and has("sinh", each)))
    assert len(list(bindings_of(rest))) == 4


def test_what_every_module_shows_has_no_part_that_shows_it() -> None:
    assert cut(HIDING, lambda mod: True) == ""


def test_it_goes_on_until_nothing_is_hidden() -> None:
    """Each round has the violation of the one before; an oracle that hides nothing ends it."""
    wrong = Violation.titled("raises").blame("crash", "mine")
    other = Violation.titled("again").blame("idempotent", "mine")

    def rounds(*answers: list[Violation] | None) -> int:
        left = iter(answers)
        mod = made((op.tan, op.exp, op.sinh, op.exp, op.cos, op.exp, op.sin, op.exp))
        return go_on(mod, [wrong], lambda _, each: has("exp", each), lambda text: next(left))

    assert rounds([]) == 1
    assert rounds([other]) == 1
    assert rounds(None) == 0
    assert go_on(HIDING, [other], lambda _, each: True, lambda text: []) == 0
    assert ROUNDS >= 1


@pytest.fixture
def two_faults(tmp_path: Path) -> PassCall:
    file = tmp_path / "two_faults.py"
    file.write_text(TWO_FAULTS)
    return PassCall("two_faults()", factory=f"{file}:two_faults")


def test_a_campaign_finds_the_fault_behind_another(pool: LocalPool, two_faults: PassCall) -> None:
    """The second is reported with the module that shows it."""
    target = Target("two_faults", two_faults, (Stage.RAW,))
    whole = Whole("mine", save_json(HIDING), "")
    block = Block(seed=0, start=0, count=1, targets=(target,), wholes=(whole,), compositions=False)
    found, died = collect(pool, block)
    assert died is None
    reports = [each for each in found if isinstance(each, Violated) and each.module]
    kinds = [each.violation.raised.kind for each in reports if each.violation.raised]
    assert kinds[0] == "ValueError"
    assert "KeyError" in kinds
    behind = reports[kinds.index("KeyError")]
    assert behind.module is not None
    assert not has("tan", load_json(behind.module))
    assert any(isinstance(each, WentOn) for each in found)


def test_check_reports_both(pool: LocalPool, two_faults: PassCall) -> None:
    """On a module of the user's, the second has the part of the module that shows it."""
    answer = checked(pool, Check(module=save_json(HIDING), calls=(two_faults,), pieces=True))
    by_kind = {each.raised.kind: part for each, part in answer.located if each.raised is not None}
    assert by_kind.keys() == {"ValueError", "KeyError"}
    part = by_kind["KeyError"]
    assert part is not None
    assert not has("tan", load_json(part.module))


def test_a_death_behind_a_known_bug_has_its_own_module(
    pool: LocalPool, two_faults: PassCall
) -> None:
    """A check that went on has not ended in the known bug."""
    dying = made((op.exp, op.tan, op.asinh, op.cos), (op.sin, op.tan, op.exp, op.sinh))
    target = Target("two_faults", two_faults, (Stage.RAW,))

    def is_known(found: UnconfirmedFinding) -> bool:
        return found.violation.raised is not None

    config = CampaignConfig(
        seed=0,
        targets=(target,),
        modules=1,
        seeds=(Seeds((), 1.0, (Whole("mine", save_json(dying), ""),)),),
        is_known=is_known,
    )
    events = list(run(config, pool))
    (death,) = (
        each
        for each in events
        if isinstance(each, UnconfirmedFinding) and each.violation.oracle == Death.ABORT
    )
    mod = load_json(death.module)
    assert not has("tan", mod)
    assert not has("sinh", mod)
    assert has("asinh", mod)
    (end,) = (each for each in events if isinstance(each, Finished))
    assert end.known.get("two_faults()", 0) == 0
