"""Sanitized semantics: faults that no value shows, and arguments that look like faults."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from relaxfuzz.oracles.catalogue import contract_of
from relaxfuzz.oracles.check import ORACLES, check
from relaxfuzz.oracles.errors import Undefined
from relaxfuzz.oracles.evaluate import Evaluator
from relaxfuzz.oracles.expected.expectation import Expectation, copies
from relaxfuzz.oracles.pass_runs import PassRuns
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.tensorir import runtime
from relaxfuzz.oracles.tensorir.data import depends_on_data
from relaxfuzz.oracles.values import sanitized
from relaxfuzz.oracles.violation import Case, Violation

from ..snippets import load_faults, run_snippet

FILE = Path(__file__).with_name("sanitized_faults.py")

faults = load_faults(FILE)

FULL = np.full(4, 127, "int8")
"""Looks like memory that nobody has written to."""
INSIDE = np.array([0, 1, 2, 3], "int8")
OUTSIDE = np.array([0, 1, 2, 4], "int8")


def case(factory: Any, mod: tvm.IRModule = faults.Module) -> Case:
    name = factory.__name__
    return Case(mod, (PassCall(f"{name}()", factory=f"{FILE}:{name}"),))


def found(
    monkeypatch: pytest.MonkeyPatch,
    factory: Any,
    *calls: list[Any],
    mod: tvm.IRModule = faults.Module,
) -> Any:
    """What is found when `main` is called with these arguments."""
    whole = case(factory, mod)
    runs = PassRuns(whole.mod, whole.calls, contract_of(whole.calls[0]))

    def sides(runs: PassRuns, *, valueless: bool) -> Iterator[tuple[Expectation, Expectation]]:
        after = runs.direct.mod
        assert after is not None
        for args in calls:
            result = Evaluator(runs.mod).run("main", copies(args))
            yield (
                Expectation(runs.mod, "main", args, result),
                Expectation(after, "main", args, None),
            )

    monkeypatch.setattr(sanitized, "sides", sides)
    return sanitized.find(runs)


@pytest.mark.parametrize("factory", faults.FAULTS, ids=lambda factory: factory.__name__)
def test_the_fault_is_caught(factory: Any) -> None:
    (violation,) = check(case(factory), oracles=["sanitized"])
    assert violation.key == (faults.FAULTS[factory],)


def test_two_names_of_one_memory_are_caught() -> None:
    whole = case(faults.overwrites_what_it_views, faults.Twice)
    (violation,) = check(whole, oracles=["sanitized"])
    assert violation.key == ("aliased parameters by a new PrimFunc",)
    assert not list(ORACLES["sanitized"].checks(whole, violation, brief=True))


def test_a_tensor_may_be_given_twice() -> None:
    whole = case(faults.overwrites_both_of_one, faults.Twice)
    assert check(whole, oracles=["sanitized", "evaluated"]) == []


def test_a_correct_pass_is_left_alone() -> None:
    assert check(case(faults.goes_backwards), oracles=["sanitized", "evaluated"]) == []


def test_the_result_is_evaluated_once_for_both_oracles(monkeypatch: pytest.MonkeyPatch) -> None:
    evaluated: list[tvm.IRModule] = []
    run = Evaluator.run

    def counted(self: Evaluator, *args: Any) -> Any:
        evaluated.append(self.mod)
        return run(self, *args)

    monkeypatch.setattr(Evaluator, "run", counted)
    whole = case(faults.goes_backwards)
    results: list[PassRuns] = []
    assert check(whole, besides=["sanitized", "evaluated"], watch=results.append) == []
    (runs,) = results
    assert runs.direct.mod is not None
    calls = [mod for mod in evaluated if mod.same_as(runs.direct.mod)]
    assert len(calls) == len(runs.other_sides) > 0


def test_arguments_that_look_like_fresh_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    assert found(monkeypatch, faults.goes_backwards, [FULL, INSIDE]) is None
    fault = found(monkeypatch, faults.reads_what_nobody_wrote, [FULL, INSIDE])
    assert fault.outputs == [1]


def test_what_is_clean_for_some_values_is_run_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    inside, outside = [INSIDE, INSIDE], [INSIDE, OUTSIDE]
    assert found(monkeypatch, faults.picks_outside, inside) is None
    fault = found(monkeypatch, faults.picks_outside, inside, outside)
    assert fault.kind == "read outside"
    assert fault.fault.index == (4,)


def test_a_fault_of_the_module_for_some_values_hides_none_for_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    negative, positive = [np.full(4, -1, "float32")], [np.ones(4, "float32")]
    assert found(monkeypatch, faults.leaves_a_number, negative, mod=faults.Converting) is None
    fault = found(monkeypatch, faults.leaves_a_number, negative, positive, mod=faults.Converting)
    assert fault.args[0].tolist() == [1, 1, 1, 1]


def test_what_depends_on_data() -> None:
    assert not any(
        map(depends_on_data, (faults.Module["less"], faults.leaves_one, faults.meets_itself))
    )
    assert all(map(depends_on_data, (faults.Module["pick"], faults.reads_b)))


@I.ir_module
class Nothing:
    """Sums over nothing are zero."""

    @R.function
    def main(x: R.Tensor((2, 0), "float32"), y: R.Tensor((2, 0), "float32")) -> R.Tensor(
        (2, 2), "float32"
    ):
        with R.dataflow():
            t = R.permute_dims(y)
            z = R.matmul(x, t)
            R.output(z)
        return z


@I.ir_module
class Sums:
    @R.function
    def main(x: R.Tensor((2, "n"), "float32")) -> R.Tensor((2,), "float32"):
        with R.dataflow():
            z = R.sum(x, axis=1)
            R.output(z)
        return z


@pytest.mark.parametrize(
    ("mod", "expr"), [(Nothing, "FuseTransposeMatmul()"), (Sums, "LegalizeOps()")]
)
def test_reductions_over_nothing_are_one_bug(mod: tvm.IRModule, expr: str) -> None:
    (violation,) = check(Case(mod, (PassCall(expr),)), oracles=["sanitized"])
    assert violation.key == ("output left unwritten by a reduction over nothing",)


def test_legalize_ops_writes_zeros_for_static_sums_over_nothing() -> None:
    assert check(Case(Nothing, (PassCall("LegalizeOps()"),)), oracles=["sanitized"]) == []


@pytest.mark.parametrize("factory", faults.FAULTS, ids=lambda factory: factory.__name__)
def test_what_compiled_code_hides_can_be_rerun(factory: Any) -> None:
    with pytest.raises(AssertionError, match=faults.FAULTS[factory].removesuffix(NEW)):
        run_snippet("sanitized", case(factory), UNNAMED, ours=True)


def test_undefined_arithmetic_can_be_rerun() -> None:
    whole = case(faults.picks_outside)
    (violation,) = check(whole, oracles=["evaluated"])
    assert violation.title == "the result does what has no meaning: index outside"
    with pytest.raises(Undefined, match="of a dimension of 4"):
        run_snippet("evaluated", whole, violation, ours=True)


NEW = " by a new PrimFunc"
UNNAMED = Violation.titled("")


@I.ir_module
class Unwritten:
    @R.function
    def main() -> R.Tensor((2, 2), "float32"):
        gv: R.Tensor((2, 2), "float32") = R.builtin.alloc_tensor(
            R.shape([2, 2]), R.dtype("float32"), 0, R.str("global")
        )
        return R.nn.relu(gv)


def test_what_an_operator_of_the_module_reads_unwritten_is_not_of_the_pass() -> None:
    assert check(Case(Unwritten, (PassCall("LegalizeOps()"),)), oracles=["sanitized"]) == []


def test_views_of_dtypes_that_numpy_gives_no_buffer_of() -> None:
    memory = np.array([1, 2, 3, 4], "bfloat16")
    seen = runtime.view(memory, np.dtype("bfloat16"), (2,), (), 1)
    seen[0] = 7
    assert memory.astype("float32").tolist() == [1, 7, 3, 4]
    with pytest.raises(Undefined, match="leaves its memory"):
        runtime.view(memory, np.dtype("bfloat16"), (4,), (), 1)


@I.ir_module
class Roomy:
    """To run it takes the sanitizer more than `SMALL` steps: they count what is allocated."""

    @T.prim_func(private=True)
    def less(A: T.Buffer((4,), "int8"), B: T.Buffer((4,), "int8")):
        for _ in range(64):
            room = T.alloc_buffer((512, 64), "int8")
            room[0, 0] = T.int8(0)
        for i in range(4):
            B[i] = A[i] - T.int8(1)

    @R.function
    def main(x: R.Tensor((4,), "int8")) -> R.Tensor((4,), "int8"):
        return R.call_tir(Roomy.less, (x,), out_ty=R.Tensor((4,), "int8"))


@I.ir_module
class RoomyUnwritten:
    """As large, and it reads what nobody has written."""

    @T.prim_func
    def reads(B: T.Buffer((1,), "int8")):
        for _ in range(64):
            room = T.alloc_buffer((512, 64), "int8")
            room[0, 0] = T.int8(0)
        unwritten = T.alloc_buffer((1,), "int8")
        unwritten[0] = unwritten[0]
        B[0] = T.int8(0)


def test_what_a_large_prim_func_reads_unwritten_is_not_of_the_pass() -> None:
    """CompactBufferAllocation makes it so small that the sanitizer runs it."""
    compact = PassCall("s_tir.transform.CompactBufferAllocation()")
    assert check(Case(RoomyUnwritten, (compact,)), oracles=["sanitized"]) == []


def test_a_fault_in_the_place_of_a_large_prim_func() -> None:
    (violation,) = check(case(faults.reads_what_nobody_wrote, Roomy), oracles=["sanitized"])
    assert violation.key == ("read of uninitialised memory by a new PrimFunc",)
