"""The consequence of a bug: in the builds that users make, by the pass alone, or nowhere."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
import tvm
from tvm import relax

from relaxfuzz.compat.serialization import load_json, save_json
from relaxfuzz.corpus.knowns import SHIPPED, known
from relaxfuzz.fuzz.findings.confirm import measured
from relaxfuzz.fuzz.findings.finding import Finding
from relaxfuzz.fuzz.jobs.asking import run_reproducer
from relaxfuzz.fuzz.jobs.reproducers import RunReproducer
from relaxfuzz.fuzz.process.local_pool import LocalPool
from relaxfuzz.oracles.consequence import consequence
from relaxfuzz.oracles.grades.consequence import GRADES, Consequence, Effect, Where
from relaxfuzz.oracles.grades.grade import Grade
from relaxfuzz.oracles.passcall import PassCall, bare_call
from relaxfuzz.oracles.violation import Case, Violation

A, B, C = Grade


@pytest.mark.parametrize(
    ("name", "effect", "where"),
    [
        ("legalize-adaptive-pool1d-default", Effect.UNBUILT, Where.BUILD),
        ("cross-thread-reduction-predicate", Effect.MEMORY, Where.BUILD),
        ("fuse-ops-inline-tuple", Effect.UNBUILT, Where.PIPELINE),
        ("adjust-matmul-order-alias-segfault", Effect.DIES, Where.ALONE),
        ("hoist-expression-changing-value", Effect.VALUES, Where.ALONE),
        ("tvmscript-shared-index-map", Effect.LESS, Where.ALONE),
        ("split-call-tir-stale-global-symbol", Effect.NOTHING, Where.ALONE),
        ("split-host-device-in-place", Effect.NOTHING, Where.ALONE),
        ("lazy-set-output-stale-callers", Effect.UNBUILT, Where.ALONE),
        ("split-empty-part", Effect.UNBUILT, Where.CONTRIVED),
        ("bind-params-number-parameter", Effect.VALUES, Where.CONTRIVED),
        ("not-equal-nan", Effect.VALUES, Where.CONTRIVED),
        ("dispatch-scan-of-nothing", Effect.MEMORY, Where.CONTRIVED),
        ("affine-grid-last-corner", Effect.VALUES, Where.ALONE),
    ],
)
def test_what_a_known_bug_does(name: str, effect: Effect, where: Where, pool: LocalPool) -> None:
    record = known(SHIPPED / f"{name}.toml")
    job = RunReproducer(file=str(record.reproducer), reports=record.reports)
    module, shown = run_reproducer(pool, job)
    seen = [
        measured(
            pool,
            Finding(
                violation=each.violation,
                module=module,
                versions={"tvm": tvm.__version__},
                calls=each.calls,
                pipeline=each.pipeline,
            ),
        )
        for each in shown
        if each.violation is not None
    ]
    assert Consequence(effect, where) in seen


def test_an_option_of_the_context_is_documented(pool: LocalPool) -> None:
    """The pass shows the bug under an option only, and builds under it run the pass."""
    test_what_a_known_bug_does("loop-partition-bound-outside", Effect.MEMORY, Where.PIPELINE, pool)


def test_a_pass_of_the_users_is_a_build() -> None:
    """An ill-formed result counts as one that does not build, though this one does."""
    x = relax.Var("x", relax.TensorType((2,), "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        builder.emit_func_output(x)
    own = PassCall("mine", factory="tvm.relax.transform:ToNonDataflow")
    violation = Violation("an undefined variable", "", ("undefined",)).blame("well-formed", "mine")
    found = consequence(Case(builder.get(), (own,)), violation)
    assert found == Consequence(Effect.UNBUILT, Where.BUILD)
    assert found.grade is B


@pytest.mark.parametrize("dtype", ["float32", "bool"])
def test_a_call_that_failed_before_the_pass_is_not_its_doing(dtype: str) -> None:
    """The VM refuses a branch on a float, in the module as in the result."""
    x = relax.Var("x", relax.TensorType((2,), "float32"))
    decided = relax.Var("decided", relax.TensorType((), dtype))
    builder = relax.BlockBuilder()
    with builder.function("main", [x, decided]):
        branches = [relax.SeqExpr([], x) for _ in range(2)]
        builder.emit_func_output(builder.emit(relax.If(decided, *branches)))
    own = PassCall("mine", factory="tvm.relax.transform:ToNonDataflow")
    title = "no normal form: a second run changes the result"
    violation = Violation(title, "", (title,)).blame("idempotent", "mine")
    found = consequence(Case(builder.get(), (own,)), violation)
    assert found == Consequence(Effect.LESS, Where.BUILD)


def conv2d() -> tvm.IRModule:
    builder = relax.BlockBuilder()
    x, y = (relax.Var(name, relax.TensorType((2, 2, 2, 2), "float32")) for name in ("x", "y"))
    with builder.function("main", [x, y]):
        builder.emit_func_output(builder.emit(relax.op.nn.conv2d(x, y)))
    return builder.get()


def three_strides() -> tvm.IRModule:
    """Passes that make attributes may give what the operator's own function refuses."""
    text = json.loads(save_json(conv2d()))
    (attrs,) = (each for each in text["nodes"] if each["type"] == "relax.attrs.Conv2DAttrs")
    strides = text["nodes"][attrs["data"]["strides"]]
    strides["data"].append(strides["data"][0])
    return load_json(json.dumps(text))


@pytest.mark.parametrize(
    ("make", "where"),
    [
        (conv2d, Where.ALONE),
        (three_strides, Where.CONTRIVED),
    ],
    ids=["plain", "refused"],
)
def test_a_module_without_a_defined_result_is_contrived(
    make: Callable[[], tvm.IRModule], where: Where
) -> None:
    """No record of an operator says what such a call gives, whatever its arguments are."""
    violation = Violation("it raises", "", ("ValueError",)).blame("crash", "LambdaLift")
    found = consequence(Case(make(), (bare_call("LambdaLift"),)), violation)
    assert found == Consequence(Effect.UNBUILT, where)


def test_the_grades() -> None:
    assert list(GRADES) == list(Effect)
    where = list(Where)
    assert all(len(row) == len(where) for row in GRADES.values())
    in_builds = {effect: row[0] for effect, row in GRADES.items()}
    assert list(in_builds.values()) == [A, A, A, B, C, C]
    for row in GRADES.values():
        assert list(row) == sorted(row), "the more usual the build, the graver"
        assert row[where.index(Where.CONTRIVED)] is C


def test_the_gravest_comes_first() -> None:
    every = [Consequence(effect, where) for where in Where for effect in Effect]
    ranked = sorted(every, key=lambda each: each.rank)
    assert str(ranked[0]) == "wrong values (default build)"
    assert [each.grade for each in ranked] == sorted(each.grade for each in every)
