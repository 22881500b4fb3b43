"""Which findings are one bug: pairs that must be one row, pairs that must not, rule by rule.

All findings are real: what the oracles report of TVM's own passes on these modules.
"""

from __future__ import annotations

import dataclasses
import functools
import runpy
from collections.abc import Callable
from pathlib import Path

import pytest
import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from relaxfuzz import corpus
from relaxfuzz.compat.release import versions
from relaxfuzz.compat.serialization import save_json
from relaxfuzz.fuzz.findings.dedup import by_row, crosscheck, place
from relaxfuzz.fuzz.findings.evidence import evidence_of
from relaxfuzz.fuzz.findings.finding import Finding
from relaxfuzz.fuzz.findings.known import Choice
from relaxfuzz.fuzz.findings.rules import RULES
from relaxfuzz.fuzz.findings.store import Store
from relaxfuzz.fuzz.process.executor import check as check_in_child
from relaxfuzz.fuzz.process.jobs import Check
from relaxfuzz.fuzz.process.local_pool import LocalPool
from relaxfuzz.oracles.check import check
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.violation import Case, Raised, silent
from tests.fuzz.changed import changed

FOUND = Path(corpus.__file__).parent / "found"

RULE = {rule.name: rule for rule in RULES}


def of_call(
    call: Callable[..., relax.Expr],
    *types: relax.Type,
    then: Callable[[relax.Expr], relax.Expr] | None = None,
) -> tvm.IRModule:
    """main(x0, x1, ...): the call, and another one on its result."""
    builder = relax.BlockBuilder()
    params = [relax.Var(f"x{i}", ty) for i, ty in enumerate(types)]
    with builder.function("main", params):
        with builder.dataflow():
            value = builder.emit(call(*params))
            output = builder.emit_output(value if then is None else then(value))
        builder.emit_func_output(output)
    return builder.get()


def tensor(*shape: int, dtype: str = "float32") -> relax.Type:
    return relax.TensorType(shape, dtype)


def unknown(dtype: str = "float32") -> relax.Type:
    return relax.TensorType(dtype=dtype, ndim=2)


def resize(mod_dims: int, size: tuple[int, ...]) -> tvm.IRModule:
    op = relax.op.image.resize2d if mod_dims == 2 else relax.op.image.resize3d
    layout = "NCHW" if mod_dims == 2 else "NCDHW"
    roi = (0.0,) * (2 * mod_dims)
    size_of = relax.ShapeExpr(size)
    resized = functools.partial(
        op,
        size=size_of,
        roi=roi,
        layout=layout,
        method="linear",
        coordinate_transformation_mode="align_corners",
    )
    return of_call(resized, tensor(1, 1, *(3,) * mod_dims))


def empty_mean() -> tvm.IRModule:
    return of_call(functools.partial(relax.op.mean, axis=[-1]), tensor(2, 0))


def eye(then: Callable[[relax.Expr], relax.Expr] | None = None) -> tvm.IRModule:
    made = functools.partial(relax.op.eye_like, dtype="int64")
    return of_call(made, tensor(2, 2, dtype="float64"), then=then)


def kept(name: str) -> tvm.IRModule:
    """The module of a bug in the corpus."""
    return runpy.run_path(str(FOUND / f"{name}.py"))["mod"]


def finding(mod: tvm.IRModule, expr: str, oracle: str) -> Finding:
    """The first violation of this oracle by the pass on this module."""
    call = PassCall(expr)
    violation = check(Case(mod, (call,)), oracles=(oracle,))[0]
    evidence = evidence_of(mod, silent, whole=True)
    found = Finding(violation=violation, module=save_json(mod), versions=versions(), calls=(call,))
    return dataclasses.replace(found, confirmed=True, evidence=evidence)


def common(rule: str, one: Finding, other: Finding) -> bool:
    """The rule sees one cause in both."""
    return not causes(rule, one).isdisjoint(causes(rule, other))


def causes(rule: str, finding: Finding) -> set[tuple[str, ...]]:
    assert finding.evidence is not None
    return set(RULE[rule].causes(finding, finding.evidence))


def rows(store: Store, *findings: Finding) -> list[int]:
    """How many findings each row has, when they come in this order."""
    for each in findings:
        store.put(each)
        place(store, each)
    return [len(members) for members in by_row(store, findings).values()]


def typed_otherwise(mod: tvm.IRModule) -> Finding:
    return dataclasses.replace(finding(mod, "LegalizeOps()", "signature"), reduced=True)


def refused(op: Callable[..., relax.Expr]) -> Finding:
    """An operator's legalization refuses what that of eye_like gives."""
    mod = eye(lambda x: op(x, x))
    return dataclasses.replace(finding(mod, "LegalizeOps()", "crash"), reduced=True)


Pair = tuple[Finding, Finding]


def norm(expr: str) -> Finding:
    of_vector = functools.partial(relax.op.nn.rms_norm, axes=[-1])
    return finding(of_call(of_vector, tensor(4), tensor(4)), expr, "crash")


def left(op: Callable[..., relax.Expr]) -> Finding:
    return finding(of_call(op, unknown()), "LegalizeOps()", "lowering-complete")


def folded(op: Callable[..., relax.Expr], dtype: str = "float32") -> Finding:
    return finding(of_call(op, unknown(dtype)), "FoldConstant()", "crash")


def unreadable(oracle: str) -> Finding:
    empty = functools.partial(relax.op.zeros, relax.ShapeExpr([2, 0]), "float32")
    return finding(of_call(empty), "FoldConstant()", oracle)


def out_of_range(op: Callable[..., relax.Expr]) -> Finding:
    return finding(of_call(op, tensor(4, dtype="float64")), "LegalizeOps()", "tvmscript")


def rewriting(expr: str, *, deeper: bool = False) -> Finding:
    """A matcher renews the type of eye_like of the result of an If."""
    n = tvm.tirx.Var("n", "int64")
    c, x = relax.Var("c", tensor(dtype="bool")), relax.Var("x", relax.TensorType([n, n], "float32"))
    y = relax.Var("y", x.ty)
    block = relax.BindingBlock([relax.VarBinding(y, relax.op.nn.relu(x))])
    branches = relax.SeqExpr([block], y), relax.SeqExpr([], x)
    builder = relax.BlockBuilder()
    with builder.function("main", [c, x]):
        value = builder.emit(relax.op.eye_like(builder.emit(relax.If(c, *branches))))
        builder.emit_func_output(builder.emit(relax.op.exp(value)) if deeper else value)
    return finding(builder.get(), expr, "crash")


@I.ir_module
class Compared:
    """The Analyzer subtracts the sides of the comparison, and 0 - 2 is no unsigned number."""

    @T.prim_func
    def main():
        T.evaluate(T.LT(T.uint32(0), T.uint32(2)))


@I.ir_module
class Guarded:
    @T.prim_func
    def main(A: T.Buffer((1,), "uint32")):
        if T.LT(T.uint32(0), T.uint32(2)):
            A[0] = T.uint32(0)


@I.ir_module
class Reshaped:
    """A match in a block that binds a recursive function: the rewriter sorts it after itself."""

    @R.function
    def main(x: R.Tensor((2, 2), "float32")):
        y = R.reshape(R.reshape(x, (4,)), (2, 2))

        @R.function
        def loop(a: R.Tensor((2, 2), "float32")) -> R.Tensor((2, 2), "float32"):
            return loop(a)

        return loop(y)


@I.ir_module
class Multiplied:
    @R.function
    def main(
        x: R.Tensor((1, 8), "float32"),
        w: R.Tensor((8, 8), "float32"),
        v: R.Tensor((8, 8), "float32"),
    ):
        y = R.matmul(x, R.matmul(w, v))

        @R.function
        def loop(a: R.Tensor((1, 8), "float32")) -> R.Tensor((1, 8), "float32"):
            return loop(a)

        return loop(y)


SAME: dict[str, list[Callable[[], Pair]]] = {
    "legalization": [
        lambda: (norm("FoldConstant()"), norm("LegalizeOps()")),
        # One helper of both operators divides; the lines differ.
        lambda: (
            finding(resize(2, (1, 1)), "FoldConstant()", "crash"),
            finding(resize(3, (1, 1, 1)), "LegalizeOps()", "crash"),
        ),
    ],
    "arithmetic": [
        lambda: (
            finding(Compared, "s_tir.transform.StmtSimplify()", "crash"),
            finding(Guarded, "s_tir.transform.CompactBufferAllocation()", "crash"),
        ),
    ],
    "not-known": [
        lambda: (left(relax.op.exp), left(relax.op.sin)),
        lambda: (folded(relax.op.exp), folded(relax.op.zeros_like)),
    ],
    "other-type": [
        lambda: (
            typed_otherwise(eye()),
            refused(relax.op.bitwise_and),
        ),
    ],
    "shared": [
        lambda: (rewriting("FoldBatchnormToConv2D()"), rewriting("OptimizeLayoutTransform()")),
        lambda: (rewriting("FoldBatchnormToConv2D()"), rewriting("ReorderTakeAfterMatmul()")),
        lambda: (
            finding(Reshaped, "RemoveRedundantReshape()", "crash"),
            finding(Multiplied, "AdjustMatmulOrder()", "crash"),
        ),
    ],
    "format": [
        lambda: (unreadable("json"), unreadable("tvmscript")),
        lambda: (out_of_range(relax.op.argmin), out_of_range(relax.op.argmax)),
    ],
}

OTHERS: dict[str, Callable[[], Pair]] = {
    "a division by zero in another legalization": lambda: (
        finding(resize(2, (1, 1)), "LegalizeOps()", "crash"),
        finding(empty_mean(), "LegalizeOps()", "crash"),
    ),
    "another pass that legalizes what is not known": lambda: (
        folded(relax.op.tanh),
        finding(of_call(relax.op.tanh, unknown()), "FastMathTransform()", "crash"),
    ),
    "passed over and legalized": lambda: (left(relax.op.exp), folded(relax.op.exp)),
    "another operator of another type": lambda: (
        typed_otherwise(eye()),
        typed_otherwise(kept("legalize-attention-float16")),
    ),
    "another check of the reader": lambda: (
        unreadable("tvmscript"),
        out_of_range(relax.op.argmin),
    ),
    "what several passes call, on a module of another look": lambda: (
        rewriting("FoldBatchnormToConv2D()"),
        rewriting("ReorderTakeAfterMatmul()", deeper=True),
    ),
    "another place in the pass": lambda: (
        finding(kept("merge-composite-only-main"), "MergeCompositeFunctions()", "crash"),
        finding(kept("merge-composite-match-cast"), "MergeCompositeFunctions()", "crash"),
    ),
}


@pytest.mark.parametrize(
    ("rule", "pair"),
    [
        pytest.param(rule, pair, id=f"{rule}-{i}")
        for rule, pairs in SAME.items()
        for i, pair in enumerate(pairs)
    ],
)
def test_one_bug_is_one_row(rule: str, pair: Callable[[], Pair], tmp_path: Path) -> None:
    one, other = pair()
    assert one.id != other.id
    assert common(rule, one, other)
    with Store(tmp_path) as store:
        assert rows(store, one, other) == [2]
        assert RULE[rule].reason in store.rows.all()[0].members[1].why


@pytest.mark.parametrize("pair", [pytest.param(pair, id=name) for name, pair in OTHERS.items()])
def test_two_bugs_are_two_rows(pair: Callable[[], Pair], tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        assert rows(store, *pair()) == [1, 1]


def test_what_arithmetic_raises_is_known_whatever_pass_calls_it() -> None:
    expected = Choice().load(versions()["tvm"])
    for mod in (Compared, Guarded):
        found = finding(mod, "s_tir.transform.StmtSimplify()", "crash")
        names = [known.name for known in expected.of(found)]
        assert "arith-fold-unsigned-difference" in names
        assert found.violation.raised is not None
        plain = dataclasses.replace(found.violation.raised, analysis="")
        assert not expected.of(changed(found, raised=plain))


def test_the_line_that_raises_is_an_accident(tmp_path: Path) -> None:
    one = refused(relax.op.bitwise_and)
    moved = changed(one, place="tirx/op/op.cc:1")
    assert common("words", one, moved)
    assert not common("words", one, refused(relax.op.bitwise_or))
    with Store(tmp_path) as store:
        assert rows(store, one, moved) == [2]


def test_an_operator_may_give_another_type_in_several_ways() -> None:
    ranks = typed_otherwise(kept("median-keepdims"))
    assert common("other-type", ranks, ranks)
    assert not common("other-type", ranks, typed_otherwise(kept("median-several-axes")))


@pytest.mark.parametrize(
    "place",
    [
        "relax/transform/fuse_ops.cc:1064",
        "s_tir/transform/compact_buffer_region.cc:464",
        "tirx/transform/lower_warp_memory.cc:294",
        "tvm/s_tir/dlight/gpu/matmul.py:1010",
    ],
)
def test_an_exception_is_the_same_beside_another_function(place: str) -> None:
    alone = finding(kept("merge-composite-only-main"), "MergeCompositeFunctions()", "crash")
    raised = Raised("InternalError", "in the group")
    grouped = (raised.kind, raised.text)
    crash = changed(alone, key=grouped, place=place, raised=raised)
    beside = changed(crash, oracle="isolation", key=("exception", *grouped))
    assert common("place", crash, beside)
    assert not common("place", alone, beside)
    # Where every operator or every schedule raises, the place is nobody's.
    for nowhere in ("relax/op/op_common.h:334", "s_tir/schedule/concrete_schedule.cc:816"):
        assert not common("place", changed(crash, place=nowhere), changed(beside, place=nowhere))


def test_what_a_pass_inside_does_alone_is_its_own(pool: LocalPool, tmp_path: Path) -> None:
    mod = kept("canonicalize-match-cast-of-parameter-dimension")
    outer = finding(mod, "ConvertToDataflow(min_size=1)", "well-formed")
    inner = finding(mod, "CanonicalizeBindings()", "well-formed")
    with Store(tmp_path / "alone") as store:
        assert rows(store, outer, inner) == [2], "the part is blamed for both"


def test_suspects_are_one_bug_if_each_shows_the_other(pool: LocalPool) -> None:
    mod = kept("bundle-params-call-sites")
    values = finding(mod, "BundleModelParams()", "evaluated")
    script = finding(mod, "BundleModelParams()", "tvmscript")
    assert common("symptoms", values, script)
    assert crosscheck(pool, values, script)
    impure, forced = (
        finding(kept(f"lazy-set-output-{name}"), "LazySetOutput()", "well-formed")
        for name in ("dataflow", "force-pure")
    )
    assert common("symptoms", impure, forced)
    assert not crosscheck(pool, impure, forced)


def test_another_result_than_the_reference_is_a_wrong_result() -> None:
    """So are wrong values, which come of the same mistake."""
    captured = kept("realize-vdevice-captured-together")
    assert causes("symptoms", finding(captured, "RealizeVDevice()", "reference")) == {
        ("RealizeVDevice", "result")
    }


def test_oracles_that_ask_something_else_are_no_suspects() -> None:
    mutated = kept("update-vdevice-misses-types")
    call = "UpdateVDevice(relax.VDevice('llvm', 2, 'shared'), 0)"
    assert not causes("symptoms", finding(mutated, call, "mutation"))


@I.ir_module
class Branches:
    """Rewriting by patterns forgets the shape of `z`, which type inference then dereferences."""

    @R.function
    def main(x: R.Tensor((2, "n", "n"), "float32"), y: R.Tensor((), "float32")):
        n = T.int64()
        if y:
            z: R.Tensor((2, n, n), "float32") = x
        else:
            w: R.Tensor((2, n, n), "float32") = R.negative(x)
            z: R.Tensor((2, n, n), "float32") = w
        one, threshold = R.const(1, "int64"), R.const(1.0, "float32")
        return R.vision.all_class_non_max_suppression(
            x, z, one, threshold, threshold, output_format="onnx"
        )


def dead(pool: LocalPool, mod: tvm.IRModule, call: str) -> Finding:
    calls = (PassCall(call),)
    (violation,) = check_in_child(pool, Check(module=save_json(mod), calls=calls))
    assert violation.oracle == "segfault"
    return Finding(
        violation=violation,
        module=save_json(mod),
        calls=calls,
        versions=versions(),
        confirmed=True,
        reduced=True,
        evidence=evidence_of(mod, silent, whole=False),
    )


def test_deaths_of_several_passes_are_one_bug_if_each_module_ends_both(pool: LocalPool) -> None:
    passes = ("ExpandMatmulOfSum()", "RemoveRedundantReshape()")
    one, other = (dead(pool, Branches, name) for name in passes)
    assert common("dies", one, other)
    assert crosscheck(pool, one, other)
    harmless = dataclasses.replace(other, calls=(PassCall("DeadCodeElimination()"),))
    assert not crosscheck(pool, one, harmless)


def test_rules_look_at_deaths_too() -> None:
    """A death has no key."""
    raising = finding(kept("merge-composite-only-main"), "MergeCompositeFunctions()", "crash")
    death = changed(raising, oracle="segfault", key=(), place="", raised=None)
    assert death.evidence is not None
    assert not list(RULE["other-type"].causes(death, death.evidence))
