"""Arguments that a module accepts: found from its operators, or from what the evaluator refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from relaxfuzz.generators.ops.accepts import Accepted, TensorCondition
from relaxfuzz.generators.stages import Stage, advance
from relaxfuzz.oracles.check import check
from relaxfuzz.oracles.expected.accepted import Origins
from relaxfuzz.oracles.expected.expectation import Expectation
from relaxfuzz.oracles.expected.expectations import Expectations
from relaxfuzz.oracles.expected.inputs import InputKind, drawn, within
from relaxfuzz.oracles.inspect import bindings_of
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.silence import inventory
from relaxfuzz.oracles.silence.log import answers
from relaxfuzz.oracles.violation import Case

from ..snippets import run_snippet

FAULTS = Path(__file__).parents[1] / "values" / "value_faults.py"

USUAL = [
    kind
    for kind in InputKind
    if kind not in (InputKind.EMPTY, InputKind.SPECIAL, InputKind.OUTSIDE)
]


@I.ir_module
class Embedding:
    """As an importer makes it: the ids are reshaped and cast before they are used."""

    @R.function
    def main(ids: R.Tensor((2, 3), "int64"), w: R.Tensor((50, 4), "float32")) -> R.Tensor(
        (2, 3, 4), "float32"
    ):
        with R.dataflow():
            flat = R.reshape(ids, (6,))
            narrow = R.astype(flat, "int32")
            rows = R.take(w, narrow, axis=0)
            whole = R.reshape(rows, (2, 3, 4))
            out = R.subtract(whole, R.const(1.0, "float32"))
            R.output(out)
        return out


@I.ir_module
class Positions:
    """They are shifted in a private function, and below the bound in the sum only."""

    @R.function
    def main(x: R.Tensor((8, 4), "float32"), start: R.Tensor((), "int64")) -> R.Tensor(
        (3, 4), "float32"
    ):
        cls = Positions
        out: R.Tensor((3, 4), "float32") = cls.rows(x, start)
        return out

    @R.function(private=True)
    def rows(x: R.Tensor((8, 4), "float32"), first: R.Tensor((), "int64")) -> R.Tensor(
        (3, 4), "float32"
    ):
        places = R.add(first, R.const(np.array([0, 2, 5]), "int64"))
        return R.take(x, places, axis=0)


def calls(mod: tvm.IRModule, kinds: list[InputKind]) -> list[Expectation]:
    return list(Expectations(mod).of("main", kinds=kinds))


@pytest.mark.parametrize("stage", [Stage.RAW, Stage.LEGALIZED, Stage.FUSED])
@pytest.mark.parametrize("mod", [Embedding, Positions], ids=["embedding", "positions"])
def test_indices_suit_at_every_stage(mod: tvm.IRModule, stage: Stage) -> None:
    assert [e.kind for e in calls(advance(mod, stage), USUAL)] == USUAL


def test_indices_are_of_the_whole_axis() -> None:
    ids = np.concatenate([e.args[0].ravel() for e in calls(Embedding, USUAL)])
    assert {0, 49} <= set(ids)
    assert len(set(ids)) > 15


def test_the_same_call_draws_the_same() -> None:
    for one, other in zip(calls(Positions, USUAL), calls(Positions, USUAL), strict=True):
        np.testing.assert_array_equal(one.args[1], other.args[1], strict=True)


def test_a_pass_that_changes_values_behind_indices_is_caught() -> None:
    case = Case(Embedding, (PassCall("swaps_operands()", factory=f"{FAULTS}:swaps_operands"),))
    (violation,) = check(case, oracles=["evaluated"])
    assert "other values" in violation.title
    with pytest.raises(AssertionError):
        run_snippet("evaluated", case, violation)
    assert check(Case(Embedding, (PassCall("LegalizeOps()"),)), oracles=["evaluated"]) == []


def single(call: Any, *types: Any) -> tvm.IRModule:
    """A module of one call."""
    bb = relax.BlockBuilder()
    params = [relax.Var(f"p{place}", ty) for place, ty in enumerate(types)]
    with bb.function("main", params):
        bb.emit_func_output(bb.emit(call(*params)))
    return bb.get()


FLOAT, MATRIX = R.Tensor((5, 6), "float32"), R.Tensor((3, 6), "float32")
WHOLE = R.Tensor((3, 6), "int64")

SINGLES = {
    "gather_elements": (lambda x, i: relax.op.gather_elements(x, i, 0), FLOAT, WHOLE),
    "gather_nd": (relax.op.gather_nd, FLOAT, R.Tensor((7, 2), "int64")),
    "scatter_elements": (
        lambda x, i, u: relax.op.scatter_elements(x, i, u, 0, "update"),
        *(FLOAT, WHOLE, MATRIX),
    ),
    "scatter_nd": (
        lambda x, i, u: relax.op.scatter_nd(x, i, u, "update"),
        *(FLOAT, R.Tensor((4, 1), "int64"), R.Tensor((4, 6), "float32")),
    ),
    "index_put": (
        lambda x, i, v: relax.op.index_put(x, (i,), v),
        *(R.Tensor((5,), "float32"), R.Tensor((4,), "int64"), R.Tensor((4,), "float32")),
    ),
    "reverse_sequence": (
        lambda x, n: relax.op.reverse_sequence(x, n, 1, 0),
        *(MATRIX, R.Tensor((3,), "int64")),
    ),
    "bucketize": (relax.op.bucketize, R.Tensor((4,), "int64"), R.Tensor((5,), "int64")),
    "floor_divide": (relax.op.floor_divide, WHOLE, WHOLE),
    "left_shift": (relax.op.left_shift, R.Tensor((8,), "int8"), R.Tensor((8,), "int8")),
    "rsqrt": (lambda x: relax.op.rsqrt(relax.op.reshape(x, (30,))), FLOAT),
    "nll_loss": (
        lambda x, t, w: relax.op.nn.nll_loss(x, t, w),
        *(FLOAT, R.Tensor((5,), "int64"), R.Tensor((6,), "float32")),
    ),
}


@pytest.mark.parametrize("name", SINGLES)
def test_operands_suit_their_operator(name: str) -> None:
    mod = single(*SINGLES[name])
    # Products and sums of extremes may overflow for other reasons.
    kinds = [InputKind.WHOLE, InputKind.BOUNDARY, InputKind.FRACTION, InputKind.NEGATIVE]
    assert [e.kind for e in calls(mod, kinds)] == kinds


def test_probabilities_add_up() -> None:
    probabilities, rows = R.Tensor((2, 4), "float32"), R.Tensor((5, 1), "int64")
    mod = single(
        relax.op.multinomial_from_uniform, probabilities, R.Tensor((5, 1), "float32"), rows
    )
    for e in calls(mod, [InputKind.WHOLE, InputKind.POSITIVE, InputKind.NEGATIVE]):
        assert (e.args[0].sum(axis=-1) == 1).all()
        assert set(e.args[2].ravel()) <= {0, 1}
    assert len(calls(mod, [InputKind.WHOLE, InputKind.POSITIVE, InputKind.NEGATIVE])) == 3


def test_no_outcomes_have_no_probabilities() -> None:
    accepted = Accepted(form=TensorCondition.DISTRIBUTION)
    assert within("anything", accepted, (2, 0)) == "anything"
    assert within("anything", accepted, (2, 1)) != "anything"


def test_what_the_module_guards_is_not_narrowed() -> None:
    """A pass may drop the guard."""
    one = relax.const(1, "int64")
    zero = relax.const(0, "int64")

    def guarded(x: Any, y: Any) -> Any:
        safe = relax.op.where(relax.op.equal(y, zero), one, y)
        return relax.op.floor_divide(x, safe)

    (e,) = calls(single(guarded, WHOLE, WHOLE), [InputKind.WHOLE])
    assert (e.args[1] == 0).any()

    def clipped(x: Any, i: Any) -> Any:
        return relax.op.take(x, relax.op.clip(i, 0, 4), axis=0)

    (e,) = calls(single(clipped, FLOAT, R.Tensor((9,), "int64")), [InputKind.WHOLE])
    assert e.args[1].min() < 0


def test_indices_that_count_from_the_end_or_are_clipped() -> None:
    whole = R.Tensor((20,), "int64")
    mod = single(lambda x, i: relax.op.index_tensor(x, (i,)), FLOAT, whole)
    negative = calls(mod, [InputKind.NEGATIVE])[0].args[1]
    assert (negative.min(), negative.max()) == (-5, -1)
    mod = single(lambda x, i: relax.op.take(x, i, axis=0, mode="clip"), FLOAT, whole)
    indices = calls(mod, [InputKind.FRACTION])[0].args[1]
    assert indices.max() > 5


def test_one_kind_goes_outside() -> None:
    (_, indices) = drawn(
        single(lambda x, i: relax.op.take(x, i, axis=0), FLOAT, R.Tensor((64,), "int64"))["main"],
        InputKind.OUTSIDE,
    )
    assert set(indices) == {-2, -1, 0, 1, 2, 3, 4, 5, 6}
    one_hot = single(lambda i: relax.op.one_hot(i, 1.0, 0.0, 4, -1), R.Tensor((64,), "int64"))
    (e,) = calls(one_hot, [InputKind.OUTSIDE])
    assert {-2, 5} <= set(e.args[0])
    assert calls(single(relax.op.add, FLOAT, FLOAT), [InputKind.OUTSIDE]) == []


@I.ir_module
class IndexBuffer:
    @T.prim_func
    def main(
        A: T.Buffer((8, 4), "float32"),
        B: T.Buffer((3,), "int64"),
        C: T.Buffer((3, 4), "float32"),
        D: T.Buffer((3,), "int64"),
    ):
        for i, j in T.grid(3, 4):
            C[i, j] = A[B[i] + T.int64(2), j] + T.Cast("float32", D[i])


def test_index_buffers_of_prim_funcs() -> None:
    found = calls(
        IndexBuffer, [InputKind.WHOLE, InputKind.BOUNDARY, InputKind.FRACTION, InputKind.POSITIVE]
    )
    assert len(found) == 4
    assert all(e.args[1].min() >= -2 and e.args[1].max() < 6 for e in found)
    assert np.abs(found[2].args[3]).max() > 2**20  # no index: as large as before


@I.ir_module
class ByAnOutput:
    """A PrimFunc reads by indices that it has written to one of its outputs."""

    @T.prim_func(private=True)
    def rows(
        ids: T.Buffer((3,), "int64"),
        x: T.Buffer((5,), "float32"),
        moved: T.Buffer((3,), "int64"),
        out: T.Buffer((3,), "float32"),
    ):
        for i in range(3):
            moved[i] = ids[i] + T.int64(1)
            out[i] = x[moved[i]]

    @R.function
    def main(ids: R.Tensor((3,), "int64"), x: R.Tensor((5,), "float32")):
        cls = ByAnOutput
        with R.dataflow():
            both = R.call_tir(
                cls.rows,
                (ids, x),
                out_ty=[R.Tensor((3,), "int64"), R.Tensor((3,), "float32")],
            )
            out = both[1]
            R.output(out)
        return out


def test_an_output_that_indices_are_kept_in_is_no_argument() -> None:
    found = calls(ByAnOutput, USUAL)
    assert found
    assert all(set(e.args[0]) <= {-1, 0, 1, 2, 3} for e in found)


@I.ir_module
class Hopeless:
    @R.function
    def main(x: R.Tensor((5,), "float32"), ids: R.Tensor((3,), "int64")) -> R.Tensor(
        (3,), "float32"
    ):
        with R.dataflow():
            far = R.add(ids, R.const(7, "int64"))
            clipped = R.clip(far, 7, 9)
            out = R.take(x, clipped)
            R.output(out)
        return out


def test_a_module_without_arguments_names_the_parameter() -> None:
    with answers() as log:
        assert check(Case(Hopeless, (PassCall("LegalizeOps()"),)), oracles=["evaluated"]) == []
    answer = log["evaluated"]
    assert answer.rule is inventory.NO_ARGUMENTS
    assert answer.silent is not None
    assert answer.silent.startswith("no kind of arguments is defined: `ids` of main: ")
    assert answer.silent.endswith(" is outside of 0 to 4, operand 1 of relax.take")


def test_a_module_without_arguments_has_no_values_of_builds() -> None:
    with answers() as log:
        check(Case(Hopeless, (), "default"), oracles=["executed-by-pipeline"])
    silent = log["executed-by-pipeline"].silent
    assert silent is not None
    assert "no kind of arguments is defined: `ids` of main" in silent


def test_ranges_of_two_operators_are_combined() -> None:
    assert Accepted(0, 9).and_(Accepted(-3, 4)) == Accepted(0, 4)
    assert Accepted(0, 4).and_(Accepted(form=TensorCondition.NONZERO)) == Accepted(
        0, 4, TensorCondition.NONZERO
    )
    assert Accepted(5, 9).and_(Accepted(0, 2)) == Accepted(0, 2)


@I.ir_module
class Unused:
    """The remainder by 0 is promised nowhere; nothing is computed from it that is a result."""

    @R.function
    def main(x: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        with R.dataflow():
            rest = R.floor_mod(x, R.const(0.0, "float32"))
            less = R.negative(rest)  # noqa: F841
            out = R.subtract(x, R.const(1.0, "float32"))
            R.output(out)
        return out


def test_what_no_result_depends_on_may_be_unpromised() -> None:
    case = Case(Unused, (PassCall("swaps_operands()", factory=f"{FAULTS}:swaps_operands"),))
    (violation,) = check(case, oracles=["evaluated"])
    assert "other values" in violation.title
    assert check(Case(Unused, (PassCall("DeadCodeElimination()"),)), oracles=["evaluated"]) == []


@I.ir_module
class Unknown:
    @R.function
    def main(x: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        with R.dataflow():
            seen = R.call_pure_packed("my.statistics", x, ty_args=R.Tensor((3,), "float32"))
            more = R.exp(seen)  # noqa: F841
            out = R.subtract(x, R.const(1.0, "float32"))
            R.output(out)
        return out

    @R.function
    def uses_it(x: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        seen = R.call_pure_packed("my.statistics", x, ty_args=R.Tensor((3,), "float32"))
        return R.subtract(seen, x)

    @R.function
    def checks_it(x: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        seen = R.call_pure_packed("my.statistics", x, ty_args=R.Tensor((3,), "float32"))
        cast = R.match_cast(seen, R.Tensor((3,), "float32"))  # noqa: F841
        return R.subtract(x, R.const(1.0, "float32"))

    @R.function(pure=False)
    def has_an_effect(x: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        seen = R.call_packed("my.update", x, ty_args=R.Tensor((3,), "float32"))  # noqa: F841
        return R.subtract(x, R.const(1.0, "float32"))


def test_what_no_result_depends_on_may_be_unknown() -> None:
    case = Case(Unknown, (PassCall("swaps_operands()", factory=f"{FAULTS}:swaps_operands"),))
    (violation,) = check(case, oracles=["evaluated"])
    assert "other values" in violation.title
    assert check(Case(Unknown, (PassCall("DeadCodeElimination()"),)), oracles=["evaluated"]) == []
    known = Expectations(Unknown)
    for name in ("uses_it", "checks_it", "has_an_effect"):
        assert list(known.of(name, partial=True)) == [], name


@I.ir_module
class Infinite:
    @R.function
    def main(x: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        with R.dataflow():
            huge = R.exp(R.const(1000.0, "float32"))
            peak = R.maximum(huge, x)  # noqa: F841
            out = R.subtract(x, R.const(1.0, "float32"))
            R.output(out)
        return out

    @R.function
    def uses_it(x: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        with R.dataflow():
            huge = R.exp(R.const(1000.0, "float32"))
            out = R.maximum(huge, x)
            R.output(out)
        return out


def test_infinity_matters_only_where_it_is_used() -> None:
    known = Expectations(Infinite)
    assert [e.partial for e in known.of("main", kinds=[InputKind.WHOLE], partial=True)] == [True]
    assert list(known.of("uses_it", kinds=[InputKind.WHOLE], partial=True)) == []


def test_the_vm_is_not_asked_to_compute_it() -> None:
    known = Expectations(Unused)
    assert known.all() == []
    assert all(e.partial for e in known.of("main", partial=True))
    assert next(known.of("main", partial=True)) is not None


def test_a_result_that_is_unpromised_is_not_compared() -> None:
    mod = single(lambda x: relax.op.floor_mod(x, relax.const(0.0, "float32")), FLOAT)
    assert list(Expectations(mod).of("main", partial=True)) == []


def masked(mask: float) -> tvm.IRModule:
    """The softmax of scores, the last of which is masked."""
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((3,), "float32"))
    with builder.function("main", [x]):
        last = builder.emit(
            relax.op.equal(builder.emit(relax.op.arange(3)), relax.const(2, "int64"))
        )
        scores = builder.emit(relax.op.where(last, relax.const(mask, "float32"), x))
        builder.emit_func_output(builder.emit(relax.op.nn.softmax(scores)))
    return builder.get()


def test_a_mask_of_minus_infinity_rules_nothing_out() -> None:
    mod = masked(-np.inf)
    assert Expectations(mod).all()
    call = PassCall("masks_with_less()", factory=f"{FAULTS}:masks_with_less")
    (violation,) = check(Case(mod, (call,)), oracles=["evaluated"])
    assert "relax.where" in violation.title
    assert not check(Case(mod, (PassCall("ToNonDataflow()"),)), oracles=["evaluated"])
    assert not Expectations(masked(np.inf)).all()


def test_direct_origins_are_found_alone() -> None:
    @R.function
    def func(x: R.Tensor((2, 3), "int64"), y: R.Tensor((6,), "int64")) -> R.Tensor:
        return R.add(R.reshape(x, (6,)), R.negative(y))

    body = bindings_of(func)
    origins = Origins(func)
    for binding in body:
        every = origins.of(binding.var)
        assert origins.of(binding.var, direct=True) == {p: d for p, d in every.items() if d}
    assert origins.of(body[0].var, direct=True) == {(0,): True}
