"""The oracle "lowering-complete": alone, in pipelines, and what becomes of its findings."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R

from relaxfuzz.oracles import pipelines
from relaxfuzz.oracles.check import ORACLES, VALUES, check, narrow
from relaxfuzz.oracles.lowering_gaps import Reason, gaps
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.structural.lowering_complete import LEFT, ORACLE, of_pipeline
from relaxfuzz.oracles.violation import Case, Violation
from tests.specimens.modelled.legalize_ops import legalize_ops
from tests.specimens.modelled.tools import on_calls

LEGALIZE = PassCall("LegalizeOps()")
NAME = ORACLE.name


@I.ir_module
class Gaps:
    @R.function
    def main(x: R.Tensor(ndim=1, dtype="float32"), y: R.Tensor((2,), "float32")) -> R.Tuple(
        R.Tensor(ndim=1, dtype="float32"), R.Tensor((2,), "float32")
    ):
        with R.dataflow():
            a = R.exp(x)
            b = R.exp(a)
            c = R.negative(b)
            d = R.ewise_fma(y, y, y)
            R.output(c, d)
        return (c, d)


KEYS = {
    ("relax.exp", "unknown shape"),
    ("relax.negative", "unknown shape"),
    ("relax.ewise_fma", "no legalization"),
}


@I.ir_module
class Complete:
    @R.function
    def main(x: R.Tensor((2, 6), "float32"), y: R.Tensor(ndim=2, dtype="float32")) -> R.Tensor(
        (2, 6), "float32"
    ):
        with R.dataflow():
            a = R.add(x, x)
            b = R.sort(a)
            c = R.reshape(y, R.shape([2, 6]))
            d = R.add(b, c)
            R.output(d)
        return d


@I.ir_module
class Hidden:
    @R.function
    def main(y: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        with R.dataflow():
            _unused = R.ewise_fma(y, y, y)
            d = R.add(y, y)
            R.output(d)
        return d


def keys(violations: list[Violation]) -> set[tuple[str, ...]]:
    assert all((v.oracle, v.pass_name) == (NAME, "LegalizeOps") for v in violations)
    assert len({v.key for v in violations}) == len(violations)
    return {v.key for v in violations}


def test_each_operator_and_reason_is_reported_once() -> None:
    assert keys(check(Case(Gaps, (LEGALIZE,)))) == KEYS
    assert keys(check(Case(Gaps, (LEGALIZE,)), oracles=[NAME])) == KEYS


def test_what_a_later_pass_lowers_is_none() -> None:
    assert check(Case(Complete, (LEGALIZE,))) == []


@pytest.mark.parametrize(
    "call",
    [
        PassCall('LegalizeOps(skip_ops=["relax.exp"])'),
        PassCall("LegalizeOps()", config={"relax.transform.apply_legalize_ops": False}),
        PassCall("ToNonDataflow()"),
    ],
    ids=str,
)
def test_who_was_asked_to_leave_calls_may(call: PassCall) -> None:
    assert check(Case(Gaps, (call,)), oracles=[NAME]) == []


def subtracts() -> tvm.transform.Pass:
    """A LegalizeOps in silence, that takes an addition for a subtraction besides."""

    def transform(mod: tvm.IRModule, context: tvm.transform.PassContext) -> tvm.IRModule:
        changed = on_calls(mod, lambda call: relax.op.subtract(*call.args), "relax.add")
        return legalize_ops(skips_in_silence=True)(changed)

    return tvm.transform.module_pass(transform, opt_level=0, name="Subtracts")


def test_values_are_looked_at_all_the_same() -> None:
    call = PassCall("subtracts()", factory=f"{__name__}:subtracts", like="LegalizeOps")
    found = check(Case(Hidden, (call,)), besides=VALUES)
    assert [v.oracle for v in found] == ["evaluated", NAME]


@pytest.mark.parametrize("pipeline", ["zero", "default"])
def test_a_pipeline_reports_the_same(pipeline: str) -> None:
    mod = Gaps if pipeline == "default" else tvm.relax.backend.DispatchSortScan()(Gaps)
    case = Case(mod, pipeline=pipeline)
    found = check(case, oracles=[NAME])
    assert keys(found) == KEYS
    for violation in found:
        small = narrow(case, violation)
        assert small.calls == (LEGALIZE,)
        assert violation.key in keys(check(small))


@pytest.mark.parametrize("pipeline", ["zero", "default", "cpu_generic"])
def test_dead_code_that_a_later_pass_removes_was_left_all_the_same(pipeline: str) -> None:
    found = check(Case(Hidden, pipeline=pipeline), oracles=[NAME])
    assert keys(found) == {("relax.ewise_fma", "no legalization")}


@pytest.mark.parametrize("pipeline", ["default", "cpu_generic"])
def test_a_pipeline_that_lowers_all_is_right(pipeline: str) -> None:
    assert check(Case(Complete, pipeline=pipeline), oracles=[NAME]) == []


def reached(mod: tvm.IRModule, calls: Sequence[PassCall], idle: str) -> list[tvm.IRModule]:
    """The modules on the way through these passes, one of which does nothing."""
    mods = [mod]
    for call in calls:
        mods.append(mods[-1] if call.name == idle else call.run(mods[-1]))
    return mods


def test_the_pass_that_leaves_what_it_lowers_is_blamed() -> None:
    calls = [
        c for c in pipelines.steps("default") if c.name not in ("ComputePrimValue", "VMShapeLower")
    ]
    names = [call.name for call in calls]
    mods = reached(Complete, calls, idle="LowerRuntimeBuiltin")
    found = of_pipeline(mods, calls, names.index("LegalizeOps"))
    assert {names[number] for number, _ in found} == {"LowerRuntimeBuiltin"}
    assert ("relax.reshape", LEFT) in [problem.key for _, problem in found]
    # Where a pass fails on the way, only what is left for nobody is known.
    assert of_pipeline(mods[:-3], calls, names.index("LegalizeOps")) == []


def test_the_pass_that_brings_a_call_after_the_others_is_blamed() -> None:
    calls = [*pipelines.steps("zero"), PassCall("Late()", factory="nowhere:late")]
    mods = reached(Hidden, calls[:-1], idle="")
    (found,) = [f for f in of_pipeline([*mods, Gaps], calls, 0) if f[1].key[0] == "relax.exp"]
    assert (found[0], found[1].key) == (len(calls) - 1, ("relax.exp", "unknown shape"))


@I.ir_module
class Widened:
    @R.function
    def main() -> R.Tensor(ndim=1, dtype="float32"):
        a = R.match_cast(R.const([1.0, 2.0], "float32"), R.Tensor(ndim=1, dtype="float32"))
        return R.exp(a)


def test_a_call_of_which_more_is_known_later_is_reported_for_legalize_ops_alone() -> None:
    (violation,) = check(Case(Widened, pipeline="default"), oracles=[NAME])
    assert (violation.pass_name, violation.key) == ("LegalizeOps", ("relax.exp", "unknown shape"))
    last = Widened
    for call in pipelines.steps("default"):
        last = call.run(last)
    (gap,) = gaps(last)
    assert gap.reason is not Reason.UNKNOWN_SHAPE, "the test needs a pass that finds out the shape"


REFUSED = r"cannot emit this Relax operator|cannot handle this intrinsic"


@I.ir_module
class Local:
    @R.function
    def main(x: R.Tensor(ndim=1, dtype="float32")) -> R.Tensor(ndim=1, dtype="float32"):
        @R.function
        def inner(y: R.Tensor(ndim=1, dtype="float32")) -> R.Tensor(ndim=1, dtype="float32"):
            return R.cos(y)

        return inner(x)


@pytest.mark.parametrize("mod", [Gaps, Hidden, Local])
def test_a_build_shows_it(mod: tvm.IRModule) -> None:
    case = Case(mod, (LEGALIZE,))
    violation = check(case, oracles=[NAME])[0]
    *_, last = ORACLES[NAME].checks(case, violation, brief=True)
    with pytest.raises(tvm.error.InternalError, match=REFUSED):
        exec(last, {"mod": mod, "the_pass": LEGALIZE.run, "relax": relax})


@I.ir_module
class Simple:
    @R.function
    def main(x: R.Tensor((2, 6), "float32")) -> R.Tensor((2, 6), "float32"):
        return R.add(x, x)


@pytest.mark.parametrize("pipeline", pipelines.PIPELINES)
def test_each_pipeline_has_a_build(pipeline: str) -> None:
    case = Case(Simple, pipelines.steps(pipeline), pipeline=pipeline)
    (text,) = ORACLES[NAME].checks(case, Violation.titled(""), brief=True)
    exec(text, {"mod": Simple, "relax": relax, "tvm": tvm})


def test_the_build_by_a_pipeline_shows_it() -> None:
    case = Case(Gaps, pipelines.steps("default"), pipeline="default")
    (text,) = ORACLES[NAME].checks(case, Violation.titled(""), brief=True)
    with pytest.raises(tvm.error.InternalError, match=REFUSED):
        exec(text, {"mod": Gaps, "relax": relax})
