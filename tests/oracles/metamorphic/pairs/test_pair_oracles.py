"""Each oracle of pairs catches its faults, and is silent otherwise."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path

import pytest
import tvm
from tvm import relax

from relaxfuzz.oracles.check import ORACLES, check
from relaxfuzz.oracles.metamorphic.pairs import oracles as pairs
from relaxfuzz.oracles.metamorphic.pairs import pair
from relaxfuzz.oracles.metamorphic.pairs.pair import PairFault
from relaxfuzz.oracles.metamorphic.pairs.rewrites import REWRITES, Rewrite
from relaxfuzz.oracles.violation import Case

from ...snippets import load_faults, run_snippet

FILE = Path(__file__).with_name("pair_faults.py")

NAMES = [oracle.name for oracle in pairs.ORACLES]


faults = load_faults(FILE)


def install(monkeypatch: pytest.MonkeyPatch, factory: Callable[[], tvm.transform.Pass]) -> None:
    """Make the pass the first of TVM's default pipeline."""
    usual = relax.pipeline.PIPELINE_MAP["default"]
    monkeypatch.setitem(
        relax.pipeline.PIPELINE_MAP,
        "default",
        lambda: tvm.transform.Sequential([factory(), usual()]),
    )


@functools.cache  # several faults are shown by one module
def assert_silent(oracle: str, module: Callable[[], tvm.IRModule]) -> None:
    """Nothing is wrong with TVM's own pipeline."""
    case = Case(module(), pipeline="default")
    assert check(case, oracles=[oracle]) == []
    run_snippet(oracle, case)


@pytest.mark.parametrize(
    ("oracle", "factory", "module", "blamed", "part_of_key"),
    faults.FAULTS,
    ids=[f"{row[0]}-{row[1].__name__}" for row in faults.FAULTS],
)
def test_the_fault_is_caught(
    monkeypatch: pytest.MonkeyPatch,
    oracle: str,
    factory: Callable[[], tvm.transform.Pass],
    module: Callable[[], tvm.IRModule],
    blamed: str,
    part_of_key: str,
) -> None:
    assert_silent(oracle, module)
    case = Case(module(), pipeline="default")
    install(monkeypatch, factory)
    (violation,) = check(case, oracles=[oracle])
    assert (violation.oracle, violation.pass_name) == (oracle, blamed)
    assert any(part_of_key in part for part in violation.key)
    assert violation.key[0] == "values"
    with pytest.raises(AssertionError):
        run_snippet(oracle, case)


@pytest.mark.parametrize("factory", faults.CORRECT)
@pytest.mark.parametrize("module", [faults.symbolic, faults.strange, faults.detours])
def test_silence_on_correct_passes(
    monkeypatch: pytest.MonkeyPatch,
    factory: Callable[[], tvm.transform.Pass],
    module: Callable[[], tvm.IRModule],
) -> None:
    install(monkeypatch, factory)
    assert check(Case(module(), pipeline="default"), oracles=NAMES) == []


@pytest.mark.parametrize("pipeline", ["zero", "cpu_generic"])
def test_silence_of_other_pipelines(pipeline: str) -> None:
    case = Case(faults.symbolic(), pipeline=pipeline)
    assert check(case, oracles=NAMES) == []
    for name in NAMES:
        run_snippet(name, case)


def test_a_wrong_value_of_the_module_itself_is_left_to_its_oracle(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    install(monkeypatch, faults.swaps_where_shapes_are_symbolic)
    case = Case(faults.symbolic(), pipeline="default")
    assert check(case, oracles=NAMES) == []
    (violation,) = check(case, oracles=["executed-by-pipeline"])
    assert violation.oracle == "executed-by-pipeline"


def test_a_rewrite_that_changes_values_is_our_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = Rewrite("wrong", lambda site: True, lambda site, x: relax.op.abs(x))
    monkeypatch.setattr("relaxfuzz.oracles.metamorphic.pairs.rewritten_twin.REWRITES", (wrong,))
    with pytest.raises(PairFault, match="evaluated, the sides differ"):
        check(Case(faults.detours(), pipeline="default"), oracles=["rewritten-twin"])


def test_operators_that_leap_are_not_asked_without_evaluation() -> None:
    mod = faults.strange()
    assert [q.known for q in pair.questions(mod)] == [None, None]
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((3,), "float32"))
    with builder.function("main", [x]):
        ty = relax.TensorType((3,), "float32")
        strange = builder.emit(relax.op.call_pure_packed(faults.STRANGE, x, ty_args=ty))
        builder.emit_func_output(builder.emit(relax.op.floor(strange)))
    assert list(pair.questions(builder.finalize())) == []


def test_every_rewrite_comes_up() -> None:
    made = pairs.rewritten_twin(faults.detours(200))
    assert made is not None
    here = {place.rewrite.name for place in made[1]}
    assert here == {rewrite.name for rewrite in REWRITES} - {"a true branch"}


@pytest.mark.parametrize("oracle", pairs.ORACLES, ids=NAMES)
def test_oracles_state_what_they_promise(oracle: pairs.Oracle) -> None:
    assert ORACLES[oracle.name] is oracle
    assert oracle.tier == 4
    assert oracle.promise.endswith(".")
    assert oracle.source
