"""`check_pass`, as a user's tests call it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import tvm
from tvm import relax

import relaxfuzz
from relaxfuzz import PassContract, PassViolation, check_pass
from relaxfuzz.oracles.contract import Exemption, NormalForm
from relaxfuzz.oracles.passcall import BadSpelling

USER = Path(__file__).parents[1] / "user_passes.py"
CRASHING = Path(__file__).parents[1] / "passes.py"
sys.path.insert(0, str(USER.parent))
import user_passes  # noqa: E402  # found beside this file

NOT_IDEMPOTENT = PassContract(
    name="marks",
    variants=lambda choices, mod: None,
    exemptions=(Exemption("idempotent", "it counts its runs", "its docstring"),),
)


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


def journals() -> list[Path]:
    return list(Path(".relaxfuzz").glob("*.json"))


def test_the_public_names_are_there() -> None:
    assert set(relaxfuzz.__all__) <= set(dir(relaxfuzz))
    for name in relaxfuzz.__all__:
        assert getattr(relaxfuzz, name) is not None
    with pytest.raises(AttributeError, match="check_pas"):
        relaxfuzz.check_pas  # noqa: B018  # the lookup is the test


def test_importing_relaxfuzz_does_not_import_tvm() -> None:
    code = "import sys, relaxfuzz; assert not {'tvm', 'hypothesis'} & set(sys.modules)"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)


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


def test_the_reproducer_of_a_named_pass_runs(tmp_path: Path) -> None:
    with pytest.raises(PassViolation) as raised:
        check_pass(f"{USER}:raises_on_exp", chain("exp"))
    path = tmp_path / "reproducer.py"
    path.write_text(raised.value.reproducer)
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True)
    assert done.returncode == 1
    assert 'raise KeyError("relax.exp")' in done.stderr


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


@pytest.mark.parametrize("isolated", [False, True])
def test_a_contract_exempts(isolated: bool) -> None:
    pass_ = f"{USER}:marks" if isolated else user_passes.marks()
    with pytest.raises(PassViolation, match="idempotent"):
        check_pass(pass_, chain("exp"), oracles=["idempotent"])
    check_pass(pass_, chain("exp"), oracles=["idempotent"], contract=NOT_IDEMPOTENT)


def test_a_second_run_that_changes_the_result_fails_where_a_normal_form_is_promised() -> None:
    check_pass(user_passes.marks(), chain("exp"))
    contract = PassContract(name="marks", normal_form=NormalForm("its docstring"))
    with pytest.raises(PassViolation, match="a second run changes the result"):
        check_pass(user_passes.marks(), chain("exp"), contract=contract)
    with pytest.raises(ValueError, match="has normal_form of its own"):
        check_pass(f"{USER}:marks", chain("exp"), contract=contract)


@pytest.mark.parametrize("isolated", [False, True])
def test_a_promise_that_the_pass_does_not_make(isolated: bool) -> None:
    pass_ = f"{USER}:marks" if isolated else user_passes.marks()
    check_pass(pass_, chain("abs"), oracles=["idempotent"], exempt=["idempotent"])
    with pytest.raises(PassViolation):
        check_pass(pass_, chain("abs"), oracles=["idempotent"], exempt=["values"])
    with pytest.raises(ValueError, match="but got 'idempotence'"):
        check_pass(pass_, chain("abs"), exempt=["idempotence"])


def test_only_the_oracles_asked_for() -> None:
    check_pass(user_passes.marks(), chain("exp"), oracles=["crash", "well-formed"])
    with pytest.raises(PassViolation):
        check_pass(user_passes.marks(), chain("exp"), oracles=["idempotent"])


def test_a_catalogue_pass_by_name() -> None:
    check_pass("DeadCodeElimination", chain("exp", "sin"))


def test_a_crash_of_an_isolated_pass_is_a_violation(sums: str) -> None:
    with pytest.raises(PassViolation) as raised:
        check_pass(f"{CRASHING}:segfault", tvm.ir.load_json(sums))
    assert raised.value.violation.oracle == "segfault"


@pytest.mark.session
def test_after_a_crash_in_process_the_next_run_names_the_module(sums: str) -> None:
    Path("module.json").write_text(sums)
    script = (
        "import sys, tvm\n"
        "from pathlib import Path\n"
        f"sys.path.insert(0, {str(CRASHING.parent)!r})\n"
        "import passes\n"
        "from relaxfuzz import check_pass\n"
        "check_pass(passes.segfault(), tvm.ir.load_json(Path('module.json').read_text()))\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-c", script]
    first = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert first.returncode < 0
    second = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert second.returncode == 1, second.stderr
    assert "PassViolation: segfault: took the process with it" in second.stderr
    assert "R.add(x, x)" in second.stderr
    assert "with a gap for the pass" in second.stderr
    assert journals() == []


def test_no_journal_stays_behind() -> None:
    check_pass(user_passes.correct(), chain("exp"))
    with pytest.raises(PassViolation):
        check_pass(user_passes.raises_on_exp(), chain("exp"))
    assert journals() == []


def test_somebody_elses_journal_is_left_alone() -> None:
    Path(".relaxfuzz").mkdir()
    other = Path(".relaxfuzz/check_pass-1.json")
    other.write_text(json.dumps({"pid": 2**22 + 1, "identity": "another", "module": "{}"}))
    check_pass(user_passes.correct(), chain("exp"))
    assert other.exists()


def test_mistakes_are_named() -> None:
    mod = chain("exp")
    with pytest.raises(BadSpelling, match="FuseOps"):
        check_pass("FuseOp", mod)
    with pytest.raises(ValueError, match="idempotency"):
        check_pass("FuseOps", mod, oracles=["idempotency"])
    with pytest.raises(ValueError, match="pass object"):
        check_pass(user_passes.correct(), mod, isolate=True)
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
