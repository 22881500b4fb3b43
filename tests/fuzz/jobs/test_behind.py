"""A check goes on behind a violation, with a module without the part that shows it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import tvm
from tvm import relax, tirx

from relaxfuzz.compat.serialization import load_json, save_json
from relaxfuzz.fuzz.campaign.block import Block, Ends, WentOn
from relaxfuzz.fuzz.campaign.campaign import CampaignConfig, run
from relaxfuzz.fuzz.campaign.events import Finished
from relaxfuzz.fuzz.campaign.seeds import Seeds
from relaxfuzz.fuzz.findings.finding import UnconfirmedFinding
from relaxfuzz.fuzz.jobs.asking import checked
from relaxfuzz.fuzz.jobs.behind import ROUNDS, Outcome, Shows, Suit, cut, go_on
from relaxfuzz.fuzz.jobs.jobs import Check
from relaxfuzz.fuzz.process.executor import collect
from relaxfuzz.fuzz.process.local_pool import LocalPool
from relaxfuzz.fuzz.process.protocol import Death
from relaxfuzz.fuzz.process.targets import Target
from relaxfuzz.generators.rewrite.dropping import CUT, without
from relaxfuzz.generators.rewrite.scopes import sites_of
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


def rest_of(mod: tvm.IRModule, shows: Shows, way: str = "") -> tvm.IRModule:
    found = cut(mod, shows, way=way)
    assert found is not None
    return load_json(found[0])


def test_one_binding_goes_where_that_is_enough() -> None:
    mod = made((op.exp, op.tan, op.sinh, op.cos))
    rest = rest_of(mod, lambda each: has("tan", each))
    assert ops_used(rest) == {"relax.exp", "relax.sinh", "relax.cos"}
    assert input_flaw(rest) is None


def test_all_bindings_of_a_kind_go_where_each_shows_it() -> None:
    rest = rest_of(HIDING, lambda each: has("tan", each))
    assert ops_used(rest) == {"relax.exp", "relax.sinh", "relax.cos", "relax.sin"}


def test_a_function_goes_where_most_of_the_module_is_left() -> None:
    mod = made((op.tan,), (op.exp, op.sin), (op.cos,))
    rest = rest_of(mod, lambda each: has("tan", each))
    assert [gvar.name_hint for gvar in rest.functions] == ["f1", "f2"]


def test_a_fault_that_takes_two_functions() -> None:
    mod = made((op.tan, op.exp, op.exp), (op.sinh, op.cos))
    rest = rest_of(mod, lambda each: has("tan", each) and has("sinh", each))
    assert len(list(bindings_of(rest))) == 4


def test_what_every_module_shows_has_no_part_that_shows_it() -> None:
    assert cut(HIDING, lambda mod: True) is None


def test_it_goes_on_until_nothing_is_hidden() -> None:
    """Each round has the violation of the one before; an oracle that hides nothing ends it."""
    wrong = Violation.titled("raises").blame("crash", "mine")
    other = Violation.titled("again").blame("idempotent", "mine")

    def rounds(*answers: list[Violation] | None) -> Outcome:
        left = iter(answers)
        mod = made((op.tan, op.exp, op.sinh, op.exp, op.cos, op.exp, op.sin, op.exp))
        return go_on(mod, [wrong], lambda _, each: has("exp", each), lambda _: next(left))

    assert rounds([]) == Outcome(1, False)
    assert rounds([other]) == Outcome(1, False)
    assert rounds(None) == Outcome(0, True)
    assert go_on(HIDING, [other], lambda _, each: True, lambda _: []) == Outcome(0, False)
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
    reports = [each for each in found if isinstance(each, UnconfirmedFinding) and each.module]
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
    assert end.state.known_checks.get("two_faults()", 0) == 0


def two_functions(*, local: bool = False) -> tvm.IRModule:
    """A function that another one calls, with a symbolic dimension; perhaps a local function."""
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((tirx.Var("m", "int64"),), "float32"))
    with builder.function("f", [x], private=True):
        builder.emit_func_output(builder.emit(op.exp(builder.emit(op.sinh(x)))))
    f = builder.get().get_global_var("f")
    ty = relax.TensorType((tirx.Var("n", "int64"),), "float32")
    y = relax.Var("y", ty)
    with builder.function("main", [y]):
        value = builder.emit(op.cos(y))
        if local:
            z = relax.Var("z", ty)
            inner = relax.Function([z], relax.SeqExpr([], z), ty)
            value = builder.emit(relax.Call(builder.emit(inner), [value]))
        else:
            value = builder.emit(relax.Call(f, [value]))
        builder.emit_func_output(builder.emit(op.sin(builder.emit(op.tanh(value)))))
    return builder.finalize()


def test_the_calls_of_a_local_function_go_with_it() -> None:
    mod = two_functions(local=True)

    def shows(each: tvm.IRModule) -> bool:
        values = [binding.value for binding in bindings_of(each)]
        return any(isinstance(value, relax.Function) for value in values)

    rest = rest_of(mod, shows)
    assert not shows(rest)
    assert {"relax.tanh", "relax.sin", "relax.exp"} <= ops_used(rest)


def test_all_bindings_go_of_functions_that_call_one_another() -> None:
    """The new parameter of the callee, of a symbolic shape, needs nothing of the caller, whose call
    goes as well."""
    mod = two_functions()
    gone = [
        (name, site.key)
        for name in ("f", "main")
        for site in sites_of(mod[name])
        if site is not sites_of(mod["f"])[0]
    ]
    rest = without(mod, gone, CUT)
    assert rest is not None
    assert ops_used(rest) == {"relax.sinh"}


def attributed(mod: tvm.IRModule, **attrs: Any) -> tvm.IRModule:
    return tvm.IRModule({gvar: func.with_attrs(attrs) for gvar, func in mod.functions_items()})


def test_an_attribute_goes_where_no_binding_shows_it() -> None:
    mod = attributed(HIDING, num_input=1)
    rest = rest_of(mod, lambda each: any("num_input" in f.attrs for f in each.functions.values()))
    assert ops_used(rest) == ops_used(HIDING)
    assert input_flaw(rest) is None


def test_functions_become_impure_that_are_forced_to_be_pure() -> None:
    mod = attributed(HIDING, **{"relax.force_pure": True})
    rest = rest_of(mod, lambda each: any(f.is_pure for f in each.functions.values()))
    assert ops_used(rest) == ops_used(HIDING)
    assert input_flaw(rest) is None


def test_a_function_becomes_main() -> None:
    mod = made((op.exp, op.cos), (op.tan, op.sinh, op.sin))
    rest = rest_of(mod, lambda each: [gvar.name_hint for gvar in each.functions] != ["main"])
    assert ops_used(rest) == {"relax.tan", "relax.sinh", "relax.sin"}


def test_a_form_that_the_pass_ignores_is_the_last_choice() -> None:
    mod = attributed(HIDING, num_input=1)

    def shows(each: tvm.IRModule) -> bool:
        return any("num_input" in func.attrs for func in each.functions.values())

    found = cut(mod, shows, acts=lambda each: False)
    assert found is not None
    assert found[1] == ""


def test_a_cut_begins_with_the_way_of_an_earlier_one() -> None:
    asked: list[tvm.IRModule] = []

    def shows(each: tvm.IRModule) -> bool:
        asked.append(each)
        return has("tan", each)

    found = cut(HIDING, shows)
    assert found is not None
    assert found[1] == "relax.tan"
    searched = len(asked)
    asked.clear()
    again = cut(HIDING, shows, way=found[1])
    assert again is not None
    assert ops_used(load_json(again[0])) == ops_used(load_json(found[0]))
    assert len(asked) == 1 < searched


def test_what_suits_the_pass_better_stays() -> None:
    """The only operator that the pass looks for is not cut where another part does."""
    mod = made((op.exp, op.tan, op.sinh), (op.cos, op.sin, op.exp, op.sinh))

    def shows(each: tvm.IRModule) -> bool:
        return has("tan", each) and any("num_input" in f.attrs for f in each.functions.values())

    def suits(each: tvm.IRModule) -> Suit:
        return Suit.WELL if has("tan", each) else Suit.LITTLE

    found = cut(attributed(mod, num_input=1), shows, suits)
    assert found is not None
    assert has("tan", load_json(found[0]))
    none = cut(attributed(mod, num_input=1), shows, lambda each: Suit.NOT)
    assert none is None


def test_checks_go_on_where_too_many_end(pool: LocalPool, two_faults: PassCall) -> None:
    """This is decided by the counts of committed blocks, so that workers do not matter."""
    target = Target("two_faults", two_faults, (Stage.RAW,))
    whole = Whole("mine", save_json(HIDING), "")

    def ends(ends: Ends) -> list[int]:
        block = Block(
            seed=0,
            start=1,
            count=4,
            targets=(target,),
            wholes=(whole,) * 4,
            compositions=False,
            ends=ends,
        )
        found, died = collect(pool, block)
        assert died is None
        return [each.index for each in found if isinstance(each, WentOn)]

    assert set(ends(Ends({target.label: (50, 100)}))) == {1, 2, 3, 4}
    assert set(ends(Ends({target.label: (0, 1000)}))) == {3}


def test_a_pipeline_goes_on(pool: LocalPool) -> None:
    """A call that legalization refuses goes, and the rest of the module is checked."""
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((2, 3), "float32"))
    y = relax.Var("y", relax.TensorType((), "float32"))
    with builder.function("main", [x, y]):
        value = builder.emit(op.exp(builder.emit(op.cos(x))))
        refused = builder.emit(op.argmax(y))
        builder.emit_func_output(relax.Tuple([builder.emit(op.sin(value)), refused]))
    whole = Whole("mine", save_json(builder.finalize()), "")
    block = Block(seed=0, start=0, count=1, targets=(Target("Normalize"),), wholes=(whole,))
    found, died = collect(pool, block)
    assert died is None
    went_on = {each.item for each in found if isinstance(each, WentOn)}
    assert went_on & {"zero", "default", "cpu_generic"}


def test_bindings_of_several_kinds_go_where_each_shows_it() -> None:
    mod = made((op.exp, op.tan, op.cos, op.sinh, op.sin, op.exp, op.tanh, op.sin, op.cos, op.tan))
    rest = rest_of(mod, lambda each: has("tan", each) or has("sinh", each))
    assert len(list(bindings_of(rest))) == 7


def test_a_function_becomes_main_without_calls_of_others() -> None:
    mod = two_functions()
    rest = rest_of(mod, lambda each: len(each.functions) > 1 or not has("cos", each))
    assert ops_used(rest) == {"relax.cos", "relax.tanh", "relax.sin"}


def test_a_cut_begins_with_the_kinds_of_an_earlier_one() -> None:
    mod = made((op.exp, op.tan, op.cos, op.sinh, op.sin, op.exp, op.tanh, op.sin, op.cos, op.tan))
    asked: list[tvm.IRModule] = []

    def shows(each: tvm.IRModule) -> bool:
        asked.append(each)
        return has("tan", each) or has("sinh", each)

    found = cut(mod, shows)
    assert found is not None
    asked.clear()
    again = cut(mod, shows, way=found[1])
    assert again is not None
    assert len(asked) == 1
    assert not shows(load_json(again[0]))


def test_a_search_is_spared_where_the_way_of_an_earlier_cut_leaves_a_quarter() -> None:
    mod = made((op.tan, op.exp, op.tan, op.tan))
    asked: list[tvm.IRModule] = []

    def shows(each: tvm.IRModule) -> bool:
        asked.append(each)
        return has("tan", each)

    found = cut(mod, shows, way="relax.tan")
    assert found is not None
    assert ops_used(load_json(found[0])) == {"relax.exp"}
    assert len(asked) == 1


def test_a_result_becomes_a_variable() -> None:
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((2, 3), "float32"))
    with builder.function("main", [x]):
        builder.emit_func_output(relax.Tuple([builder.emit(op.exp(x)), x]))
    mod = builder.finalize()
    rest = rest_of(mod, lambda each: not isinstance(each["main"].body.body, relax.Var))
    assert ops_used(rest) == {"relax.exp"}
    assert len(list(bindings_of(rest))) == 2
