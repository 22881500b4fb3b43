"""Exhibits: every oracle shows what it compared, in few lines."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import tvm
from tvm.script import ir as I
from tvm.script import relax as R

from relaxfuzz.compat.serialization import load_json, save_json
from relaxfuzz.oracles.check import check
from relaxfuzz.oracles.contract import PassContract
from relaxfuzz.oracles.exhibit import Exhibit, alone, exhibit
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.violation import Case, Violation

from .snippets import load_faults

HERE = Path(__file__).parent
faults = load_faults(HERE / "faults.py")
values = load_faults(HERE / "values" / "value_faults.py")
sanitized = load_faults(HERE / "values" / "sanitized_faults.py")
agreement = load_faults(HERE / "structural" / "reference_faults.py")


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


def test_of_several_passes_the_guilty_one_is_shown() -> None:
    calls = [call_of(faults, "marks"), call_of(faults, "forgets_a_binding")]
    exhibit = shown(faults.module(), calls)
    assert exhibit.left_label == "before forgets_a_binding"
    assert "marked" not in exhibit.module
    assert "marked" in exhibit.left


def test_where_nothing_can_be_shown_the_module_is() -> None:
    violation = Violation.titled("segmentation fault").blame("segfault", "gone")
    case = Case(faults.module(), (PassCall("gone()", factory="no.such:gone"),))
    assert exhibit(case, violation).story.startswith("the module:\nn = TypeVar")
    assert exhibit(case, violation).story.endswith("gone: segmentation fault")
    # Nor is the pass of another oracle to be had.
    violation = Violation.titled("more bindings").blame("idempotent", "gone")
    assert exhibit(case, violation).right_label == "gone: more bindings"
    assert alone("text", violation).module == "text"
