"""Exhibits: every oracle shows what it compared, in few lines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R

from relaxfuzz.compat.serialization import load_json, save_json
from relaxfuzz.oracles import composition
from relaxfuzz.oracles.check import check
from relaxfuzz.oracles.contract import PassContract, Relation
from relaxfuzz.oracles.execute import execute
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.text.exhibit import Exhibit, alone, exhibit
from relaxfuzz.oracles.values import pipeline_values
from relaxfuzz.oracles.violation import Case, Violation

from ..snippets import load_faults

HERE = Path(__file__).parents[1]
faults = load_faults(HERE / "faults.py")
twins = load_faults(HERE / "metamorphic" / "twin_faults.py")
history = load_faults(HERE / "metamorphic" / "history_faults.py")
values = load_faults(HERE / "values" / "value_faults.py")
sanitized = load_faults(HERE / "values" / "sanitized_faults.py")
agreement = load_faults(HERE / "structural" / "reference_faults.py")
memory = load_faults(HERE / "values" / "memory_faults.py")
pairs = load_faults(HERE / "metamorphic" / "pairs" / "pair_faults.py")


def call_of(module: Any, factory: str, like: str | None = None) -> PassCall:
    return PassCall(f"{factory}()", factory=f"{module.__file__}:{factory}", like=like)


def copy(mod: tvm.IRModule) -> tvm.IRModule:
    return load_json(save_json(mod))


def shown(
    mod: tvm.IRModule,
    calls: Sequence[PassCall] = (),
    pipeline: str | None = None,
    *,
    oracles: Sequence[str] | None = None,
    contract: PassContract | None = None,
) -> Exhibit:
    """The exhibit of the one violation."""
    case = Case(copy(mod), tuple(calls), pipeline)
    (violation,) = check(case, oracles=oracles, contract=contract)
    return exhibit(Case(copy(mod), tuple(calls), pipeline), violation)


def changes(exhibit: Exhibit) -> list[str]:
    """The lines of the difference that are on one side only, without the indentation."""
    lines = exhibit.diff.splitlines()[2:]
    return [f"{line[0]}{line[1:].strip()}" for line in lines if line[0] in "+-"]


MAIN = 'main(x: R.Tensor((2, 3), dtype="float32"), y: R.Tensor((n,), dtype="float32"))'


@pytest.mark.parametrize(
    ("factory", "labels", "different"),
    [
        ("raises", ("before raises", "raises raises KeyError: \"'lv17'\""), []),
        ("undefined_in_tir", ("before undefined_in_tir", "after undefined_in_tir"), None),
        (
            "updates_its_input",
            ("the input before updates_its_input", "and after updates_its_input"),
            None,
        ),
        ("counts_its_runs", ("one run", "another run"), None),
        ("remembers_modules", ("first, directly", "then, in Sequential"), None),
        ("is_skipped_in_sequential", ("directly", "in Sequential"), None),
        (
            "renames_main",
            ("before renames_main", "after renames_main"),
            [
                f'-def {MAIN} -> R.Tensor((2, 3), dtype="float32"):',
                f'+def {MAIN} -> R.Tensor((2, 3), dtype="float32"):'.replace("main", "head"),
            ],
        ),
        ("swaps_parameters", ("before swaps_parameters", "after swaps_parameters"), None),
        (
            "drops_module_attributes",
            ("before drops_module_attributes", "after drops_module_attributes"),
            ['-I.module_attrs({"answer": 42})'],
        ),
        (
            "grows_with_every_run",
            ("after grows_with_every_run", "after grows_with_every_run twice"),
            [
                "-return again",
                '+again_1: R.Tensor((2, 3), dtype="float32") = R.nn.relu(again)',
                "+return again_1",
            ],
        ),
        (
            "raises_the_second_time",
            (
                "after raises_the_second_time",
                "a second run of raises_the_second_time raises "
                "ValueError: this module has been here before",
            ),
            [],
        ),
    ],
)
def test_tier_1(factory: str, labels: tuple[str, str], different: list[str] | None) -> None:
    exhibit = shown(faults.module(), [call_of(faults, factory)])
    assert (exhibit.left_label, exhibit.right_label) == labels
    assert "def main" in exhibit.module
    if different is None:
        assert 1 <= len(changes(exhibit)) <= 6
    else:
        assert changes(exhibit) == different


def test_an_oracle_without_a_pair_shows_the_pass() -> None:
    mod = faults.module()
    call = call_of(faults, "marks")
    for oracle in ("postcondition", "lowering-complete", "sanitized"):
        violation = Violation("wrong", "wrong", (), oracle=oracle, pass_name="marks")
        exhibit_ = exhibit(Case(copy(mod), (call,)), violation)
        assert exhibit_.left_label == "before marks"
        assert '+R.func_attr({"marked": True, "num_input": 1})' in changes(exhibit_)


@pytest.mark.parametrize(
    ("oracle", "factory"),
    [
        (oracle, factory.__name__)
        for oracle, factories in twins.FAULTS.items()
        for factory in factories
        if oracle not in ("json", "tvmscript")
    ],
)
def test_twins(oracle: str, factory: str) -> None:
    exhibit = shown(twins.module(), [call_of(twins, factory)], oracles=[oracle])
    assert "on the same module" in exhibit.right_label
    if factory == "raises_without_its_helper":
        assert "raises ValueError" in exhibit.right_label
        assert "-v5" not in exhibit.diff
    else:
        assert {line[1:] for line in changes(exhibit)} == {'R.func_attr({"marked": True})'}


def test_copies_and_scripts() -> None:
    # A pass that knows modules by identity knows none in another process.
    mod = twins.module()
    call = call_of(twins, "knows_modules_by_identity")
    (violation,) = check(Case(mod, (call,)), oracles=["json"])
    assert exhibit(Case(copy(mod), (call,)), violation).right_label.endswith(
        "saved and loaded: the same"
    )
    exhibit_ = shown(mod, [call_of(twins, "leaves_a_bare_range")], oracles=["tvmscript"])
    assert exhibit_.right == ""
    assert exhibit_.right_label.startswith("the parser of TVMScript raises ")


def test_history() -> None:
    exhibit = shown(
        history.module(), [call_of(history, "remembers_functions_by_name")], oracles=["history"]
    )
    assert changes(exhibit) == [
        '-R.func_attr({"operator": "relax.subtract"})',
        '+R.func_attr({"operator": "relax.multiply"})',
    ]


@I.ir_module
class Difference:
    @R.function
    def main(x: R.Tensor((2, 2), "float32"), y: R.Tensor((2, 2), "float32")) -> R.Tensor(
        (2, 2), "float32"
    ):
        with R.dataflow():
            a = R.subtract(x, y)
            R.output(a)
        return a


@pytest.mark.parametrize("oracle", ["evaluated", "executed"])
def test_values_are_shown_row_by_row(oracle: str) -> None:
    exhibit = shown(Difference, [call_of(values, "swaps_operands")], oracles=[oracle])
    ty = 'R.Tensor((2, 2), dtype="float32")'
    before, after, *rows = changes(exhibit)
    assert (before, after) == (f"-a: {ty} = R.subtract(x, y)", f"+a: {ty} = R.subtract(y, x)")
    expected, actual = rows[: len(rows) // 2], rows[len(rows) // 2 :]
    assert len(expected) == len(actual) > 0
    assert all(row.startswith("-#") for row in expected)
    assert "# main(\n#   float32 (2, 2)\n" in exhibit.left


def test_gradients() -> None:
    call = call_of(memory, "doubles_a_gradient")
    contract = PassContract(
        name=call.name, variants=lambda choices, mod: call, relation=Relation.ADJOINT
    )
    spelled = PassCall("doubles_a_gradient('main')", factory=call.factory)
    (violation,) = check(Case(memory.loss(), (spelled,)), oracles=["gradient"], contract=contract)
    exhibit_ = exhibit(Case(memory.loss(), (spelled,)), violation)
    what = "# the slope of main along one direction of its parameter 1:"
    one, other = (
        float(side.partition(f"{what}\n# ")[2]) for side in (exhibit_.left, exhibit_.right)
    )
    assert other == pytest.approx(2 * one, rel=1e-3)


def test_the_reference_is_what_is_expected() -> None:
    @I.ir_module
    class Hinted:
        I.module_global_infos({"vdevice": [I.vdevice("llvm", 0)]})

        @R.function
        def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            return R.exp(R.hint_on_device(x, tvm.cpu(0)))

    exhibit = shown(
        Hinted,
        [call_of(agreement, "copies_at_every_hint", "RealizeVDevice")],
        oracles=["reference"],
    )
    assert exhibit.left_label == "what the reference gives"
    assert exhibit.right_label == "what copies_at_every_hint gives"
    assert "R.to_vdevice" in exhibit.right
    assert "R.to_vdevice" not in exhibit.left


@pytest.mark.parametrize(("oracle", "number"), [("static-twin", 0), ("batch-permutation", 2)])
def test_pairs(monkeypatch: pytest.MonkeyPatch, oracle: str, number: int) -> None:
    _, factory, module, _, _ = pairs.FAULTS[number]
    _install(monkeypatch, factory)
    exhibit = shown(module(), pipeline="default", oracles=[oracle])
    assert exhibit.diff
    assert exhibit.left.rpartition("gives\n")[2] != exhibit.right.rpartition("gives\n")[2]
    assert ("@R.function" in exhibit.left) == (oracle == "static-twin")


def test_a_build_beside_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    _install(monkeypatch, pairs.swaps_where_shapes_are_symbolic)
    exhibit = shown(pairs.symbolic(), pipeline="default", oracles=["executed-by-pipeline"])
    assert (exhibit.left_label, exhibit.right_label) == ("NumPy", "a build by the pipeline default")
    assert all(line[1] == "#" for line in changes(exhibit))
    assert "@R.function" not in exhibit.left


def test_exec_modes(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(mod: tvm.IRModule, plans: Any, pipeline: str, mode: str) -> Any:
        return execute(tvm.IRModule({}) if mode == "compiled" else mod, plans, pipeline, mode)

    monkeypatch.setattr(pipeline_values, "execute", wrong)
    exhibit = shown(Difference, pipeline="default", oracles=["exec-modes"])
    assert (exhibit.left_label, exhibit.right_label) == ("exec mode bytecode", "exec mode compiled")
    assert "AttributeError (run)" in exhibit.right


def _install(monkeypatch: pytest.MonkeyPatch, factory: Callable[[], tvm.transform.Pass]) -> None:
    usual = relax.pipeline.PIPELINE_MAP["default"]
    monkeypatch.setitem(
        relax.pipeline.PIPELINE_MAP,
        "default",
        lambda: tvm.transform.Sequential([factory(), usual()]),
    )


def test_of_several_passes_the_guilty_one_is_shown() -> None:
    calls = [call_of(faults, "marks"), call_of(faults, "forgets_a_binding")]
    exhibit = shown(faults.module(), calls)
    assert exhibit.left_label == "before forgets_a_binding"
    assert "marked" not in exhibit.module
    assert "marked" in exhibit.left


def test_two_ways_of_a_list() -> None:
    calls = [call_of(faults, "does_nothing"), call_of(faults, "marks")]
    for title, labels in (
        (composition.NESTED, ("one pass after the other", "nested Sequential: the same")),
        (composition.DISABLED, ("without the pass", "with the pass disabled: the same")),
    ):
        violation = Violation.titled(title).blame("sequential", "Sequential")
        exhibit_ = exhibit(Case(faults.module(), tuple(calls)), violation)
        assert (exhibit_.left_label, exhibit_.right_label) == labels


def test_where_nothing_can_be_shown_the_module_is() -> None:
    violation = Violation.titled("segmentation fault").blame("segfault", "gone")
    case = Case(faults.module(), (PassCall("gone()", factory="no.such:gone"),))
    assert exhibit(case, violation).story.startswith("the module:\nn = TypeVar")
    assert exhibit(case, violation).story.endswith("gone: segmentation fault")
    # Nor is the pass of another oracle to be had.
    violation = Violation.titled("more bindings").blame("idempotent", "gone")
    assert exhibit(case, violation).right_label == "gone: more bindings"
    assert alone("text", violation).module == "text"
