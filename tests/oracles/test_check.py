"""Which oracles a check asks."""

from __future__ import annotations

from pathlib import Path

import pytest
import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R

from relaxfuzz.oracles.check import UNCHANGED, check, narrow
from relaxfuzz.oracles.contract import PassContract
from relaxfuzz.oracles.pass_runs import PassRuns
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.violation import Case

from .snippets import load_faults

FAULTS = Path(__file__).with_name("faults.py")

MODULES = 24


def asked(call: str, size: int, oracle: str) -> bool:
    """The sampled oracle is asked of this pass on a module with `size` in its types."""
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((size,), "float32"))
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(relax.op.add(x, x)))
    seen: list[PassRuns] = []
    case = Case(builder.get(), (PassCall(call),))
    assert check(case, besides=(oracle,), watch=seen.append) == []
    return oracle in seen[0].asked


@pytest.mark.parametrize(
    ("call", "oracle", "least", "most"),
    [
        ("Normalize()", "json", 1, MODULES // UNCHANGED * 3),
        ("LegalizeOps()", "json", MODULES, MODULES),
        ("Normalize()", "evaluated", MODULES, MODULES),
    ],
)
def test_twins_are_made_mostly_where_the_pass_changes_something(
    call: str, oracle: str, least: int, most: int
) -> None:
    assert least <= sum(asked(call, size, oracle) for size in range(1, MODULES + 1)) <= most


def test_an_oracle_that_is_asked_for_by_name_is_always_asked() -> None:
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((2,), "float32"))
    with builder.function("main", [x]):
        builder.emit_func_output(x)
    seen: list[PassRuns] = []
    check(Case(builder.get(), (PassCall("Normalize()"),)), oracles=("source",), watch=seen.append)
    assert seen[0].asked == ["source"]


@pytest.mark.parametrize(("oracles", "thorough"), [(("functions",), True), (None, False)])
def test_a_check_by_name_samples_nothing(oracles: tuple[str, ...] | None, thorough: bool) -> None:
    mod = faults.module()
    seen: list[PassRuns] = []
    check(Case(mod, (PassCall("Normalize()"),)), oracles=oracles, watch=seen.append)
    assert [runs.thorough for runs in seen] == [thorough]


def never(before: tvm.IRModule, after: tvm.IRModule, call: PassCall) -> str | None:
    return "nothing is ever right"


def does_nothing(call: PassCall) -> tvm.transform.Pass:
    return relax.transform.Normalize()


MISSED = {
    "postcondition": PassContract(name="p", variants=lambda choices, mod: None, post=never),
    "reference": PassContract(
        name="p",
        variants=lambda choices, mod: None,
        reference=does_nothing,
    ),
}
"""Contracts that LegalizeOps does not keep, by the oracle that reports it."""

faults = load_faults(FAULTS)


@pytest.mark.parametrize("oracle", MISSED)
def test_values_are_compared_though_a_form_is_missed_and_twins_are_not(oracle: str) -> None:
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((2,), "float32"))
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(relax.op.add(x, x)))
    seen: list[PassRuns] = []
    (violation,) = check(
        Case(builder.get(), (PassCall("LegalizeOps()"),)),
        besides=("source", "evaluated"),
        contract=MISSED[oracle],
        watch=seen.append,
    )
    assert violation.oracle == oracle
    assert "evaluated" in seen[0].asked
    assert "source" not in seen[0].asked
    # What the first run has left undone, the second one does: the post-condition may not see it.
    assert ("idempotent" in seen[0].asked) == (oracle == "postcondition")


@pytest.mark.parametrize(
    ("oracle", "compares"),
    [
        ("crash", False),
        ("well-formed", False),
        ("mutation", True),
        ("deterministic", True),
        ("functions", False),
        ("signature", True),  # a pass of the user's: all that is wrong is one row
        ("attributes", True),
        ("idempotent", True),
    ],
)
def test_values_are_compared_where_there_is_a_result_to_call(oracle: str, compares: bool) -> None:
    factory = faults.FAULTS[oracle][0].__name__
    call = PassCall(f"{factory}()", factory=f"{FAULTS}:{factory}")
    seen: list[PassRuns] = []
    found = check(Case(faults.module(), (call,)), besides=("evaluated",), watch=seen.append)
    assert oracle in [violation.oracle for violation in found]
    assert ("evaluated" in seen[0].asked) == compares


@pytest.mark.parametrize(
    ("factory", "compares"), [("forgets_the_result_type", True), ("swaps_parameters", False)]
)
def test_of_a_pass_of_tvm_values_are_compared_where_only_less_is_known_of_the_result(
    factory: str, compares: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PassCall, "build", lambda self: getattr(faults, factory)())
    seen: list[PassRuns] = []
    case = Case(faults.module(), (PassCall("Normalize()"),))
    found = check(case, besides=("evaluated",), watch=seen.append)
    assert "signature" in [violation.oracle for violation in found]
    assert ("evaluated" in seen[0].asked) == compares


def wrong_behind(first: tvm.transform.Pass) -> tvm.transform.Pass:
    """Breaks another promise, and swaps sum and difference in what comes of it."""
    wrong = faults.swaps_sum_and_difference()
    return tvm.transform.module_pass(
        lambda mod, context: wrong(first(mod)), opt_level=0, name="WrongBehind"
    )


@pytest.mark.parametrize(
    ("factory", "oracle"),
    [
        ("updates_its_input", "mutation"),
        ("counts_its_runs", "deterministic"),
        ("remembers_modules", "repeatable"),
        ("drops_function_attributes", "attributes"),
    ],
)
def test_wrong_values_are_reported_beside_another_broken_promise(
    factory: str, oracle: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = getattr(faults, factory)
    call = PassCall(f"{factory}()", factory=f"{FAULTS}:{factory}")
    monkeypatch.setattr(PassCall, "build", lambda self: wrong_behind(broken()))
    found = {v.oracle for v in check(Case(faults.module(), (call,)), besides=("evaluated",))}
    assert {oracle, "evaluated"} <= found
    monkeypatch.setattr(PassCall, "build", lambda self: broken())
    found = {v.oracle for v in check(Case(faults.module(), (call,)), besides=("evaluated",))}
    assert oracle in found
    assert "evaluated" not in found


def test_a_script_that_is_not_read_back_says_nothing_of_values() -> None:
    """TVM's parser does not know the attribute of take_backward: apache/tvm 0.25 to 0.27."""
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((4, 2), "float32"))
    indices = relax.const([0, 3], "int32")
    with builder.function("main", [x]):
        with builder.dataflow():
            taken = builder.emit(relax.op.take(x, indices, axis=0))
            out = builder.emit_output(relax.op.sum(taken))
        builder.emit_func_output(out)
    seen: list[PassRuns] = []
    found = check(
        Case(builder.get(), (PassCall("Gradient('main')"),)),
        besides=("tvmscript", "history", "gradient"),
        watch=seen.append,
    )
    assert [violation.oracle for violation in found] == ["tvmscript"]
    assert "gradient" in seen[0].asked
    assert "history" not in seen[0].asked


@I.ir_module
class Curried:
    """A closure that is returned is called, and an operator uses its result."""

    @R.function
    def main(x: R.Tensor((2,), "float32"), y: R.Tensor((2,), "float32")) -> R.Tensor(
        (2,), "float32"
    ):
        @R.function
        def plus(
            a: R.Tensor((2,), "float32"),
        ) -> R.Callable((R.Tensor((2,), "float32"),), R.Tensor((2,), "float32")):
            @R.function
            def inner(b: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
                s: R.Tensor((2,), "float32") = R.add(a, b)
                return s

            return inner

        plus_x = plus(x)
        z = plus_x(y)
        return R.add(z, x)


@pytest.mark.parametrize("pipeline", ["default", "cpu_generic"])
def test_a_step_behind_the_lifting_of_local_functions(pipeline: str) -> None:
    """VMShapeLower would refuse local functions, and no step would be to blame."""
    case = Case(Curried, pipeline=pipeline)
    (found,) = check(case)
    assert (found.oracle, found.pass_name) == ("crash", "LowerRuntimeBuiltin")
    (call,) = narrow(case, found).calls
    assert call.name == "LowerRuntimeBuiltin"
