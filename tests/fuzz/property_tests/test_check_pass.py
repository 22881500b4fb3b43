"""`check_pass`, as a user's tests call it."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
import tvm
from tvm import relax

from relaxfuzz import PassContract, PassViolation, check_pass
from relaxfuzz.oracles.contract import NormalForm
from relaxfuzz.oracles.passcall import BadSpelling

USER = Path(__file__).parents[1] / "user_passes.py"
CRASHING = Path(__file__).parents[1] / "passes.py"
sys.path.insert(0, str(USER.parent))
import user_passes  # noqa: E402  # found beside this file


@pytest.fixture(autouse=True)
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def chain(*ops: str) -> tvm.IRModule:
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((2, 3), "float32"))
    with builder.function("main", [x]):
        value: relax.Expr = x
        with builder.dataflow():
            for op in ops:
                value = builder.emit(getattr(relax.op, op)(value))
            value = builder.emit_output(value)
        builder.emit_func_output(value)
    return builder.get()


@pytest.mark.parametrize("isolated", [False, True])
def test_a_correct_pass_is_left_alone(isolated: bool) -> None:
    check_pass(f"{USER}:correct" if isolated else user_passes.correct(), chain("exp", "sin"))


@pytest.mark.parametrize("isolated", [False, True])
def test_a_violation_is_raised_with_its_reproducer(isolated: bool) -> None:
    pass_ = f"{USER}:raises_on_exp" if isolated else user_passes.raises_on_exp()
    with pytest.raises(AssertionError) as raised:
        check_pass(pass_, chain("sin", "exp"))
    violation = raised.value
    assert isinstance(violation, PassViolation)
    assert violation.violation.oracle == "crash"
    assert violation.violation.pass_name == "raises_on_exp"
    assert "relax.exp" in str(violation)
    assert "raises_on_exp" in violation.reproducer
    compile(violation.reproducer, "reproducer", "exec")


def test_known_bugs_that_break_the_module_stand_first() -> None:
    builder = relax.BlockBuilder()
    n = relax.Var("n", relax.TensorType((2, 3), "int32"))
    x = relax.Var("x", relax.TensorType((2, 3), "float32"))
    with builder.function("main", [n, x]):
        raised = builder.emit(relax.op.power(n, n))
        builder.emit_func_output(relax.Tuple([raised, builder.emit(relax.op.exp(x))]))
    with pytest.raises(PassViolation) as violation:
        check_pass(f"{USER}:raises_on_exp", builder.get())
    known, _, rest = str(violation.value).partition("raises_on_exp")
    assert known.startswith("Known bugs of TVM break the build with the pipeline 'default':")
    assert "instead: cast to float32" in known
    assert "relax.exp" in rest


def test_a_pass_object_that_a_module_has_is_looked_into_elsewhere() -> None:
    with pytest.raises(PassViolation) as raised:
        check_pass(user_passes.REFUSES_EXP, chain("sin", "exp", "cos"))
    text = str(raised.value)
    assert "from user_passes import REFUSES_EXP" in raised.value.reproducer
    assert re.search(r"R\.exp\(", text)
    assert not re.search(r"R\.(sin|cos)\(", text), "minimized"
    (path,) = Path(".relaxfuzz").glob("*.py")
    assert f"relaxfuzz replay .relaxfuzz/{path.name}" in text
    assert path.read_text() == raised.value.reproducer


def test_what_a_pass_mutates_is_shown_as_it_was() -> None:
    def grow(mod: tvm.IRModule, context: object) -> tvm.IRModule:
        mod["again"] = mod["main"].without_attr("global_symbol")
        return mod

    mutates = tvm.transform.module_pass(grow, opt_level=0, name="Grows")
    with pytest.raises(PassViolation) as raised:
        check_pass(mutates, chain("exp"), oracles=["mutation"])
    _, _, module = str(raised.value).partition("The module:")
    assert "def main" in module
    assert "def again" not in module


def test_a_second_run_that_changes_the_result_fails_where_a_normal_form_is_promised() -> None:
    check_pass(user_passes.marks(), chain("exp"))
    contract = PassContract(name="marks", normal_form=NormalForm("its docstring"))
    with pytest.raises(PassViolation, match="a second run changes the result"):
        check_pass(user_passes.marks(), chain("exp"), contract=contract)
    with pytest.raises(ValueError, match="has normal_form of its own"):
        check_pass(f"{USER}:marks", chain("exp"), contract=contract)


def test_a_crash_of_an_isolated_pass_is_a_violation(sums: str) -> None:
    with pytest.raises(PassViolation) as raised:
        check_pass(f"{CRASHING}:segfault", tvm.ir.load_json(sums))
    assert raised.value.violation.oracle == "segfault"


def test_mistakes_are_named() -> None:
    mod = chain("exp")
    with pytest.raises(BadSpelling, match="FuseOps"):
        check_pass("FuseOp", mod)
    with pytest.raises(ValueError, match="idempotency"):
        check_pass("FuseOps", mod, oracles=["idempotency"])
    with pytest.raises(ValueError, match="post"):
        check_pass(
            f"{USER}:correct",
            mod,
            contract=PassContract(
                name="correct",
                variants=lambda choices, mod: None,
                post=lambda before, after, call: None,
            ),
        )


def takes_the_sine(mod: tvm.IRModule, context: object) -> tvm.IRModule:
    return chain("sin")


def test_wrong_values_are_found() -> None:
    wrong = tvm.transform.module_pass(takes_the_sine, opt_level=0, name="TakesTheSine")
    with pytest.raises(PassViolation) as info:
        check_pass(wrong, chain("cos"))
    assert info.value.violation.oracle == "evaluated"
    assert info.value.violation.key == ("values", "relax.cos")
    check_pass(wrong, chain("sin"))
