"""Known bugs in other words, and other bugs in the words of a known one."""

from __future__ import annotations

import dataclasses
import math
import threading
from pathlib import Path
from typing import Any

import pytest
import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from relaxfuzz.compat.release import versions
from relaxfuzz.compat.serialization import save_json
from relaxfuzz.corpus.knowns import SHIPPED, Known, known, knowns
from relaxfuzz.fuzz.campaign import triage as campaign_triage
from relaxfuzz.fuzz.campaign.triage import Triage
from relaxfuzz.fuzz.findings import audits
from relaxfuzz.fuzz.findings.confirm import take_evidence
from relaxfuzz.fuzz.findings.evidence import evidence_of
from relaxfuzz.fuzz.findings.finding import Finding
from relaxfuzz.fuzz.findings.known import Choice, Expected, extend
from relaxfuzz.fuzz.findings.pattern import elements
from relaxfuzz.fuzz.findings.recognize import recognized, unlike
from relaxfuzz.fuzz.findings.store import Store
from relaxfuzz.fuzz.minimize.attributes import with_attributes
from relaxfuzz.fuzz.minimize.findings import minimized
from relaxfuzz.fuzz.minimize.parallel import State
from relaxfuzz.fuzz.process.local_pool import LocalPool
from relaxfuzz.fuzz.user_input.module_file import execute
from relaxfuzz.oracles.check import check
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.violation import Case, Violation, silent

EVERY = knowns()

BRANCH = SHIPPED / "rewrite-call-if-symbolic-shape.py"
"""Fails in every pass that rewrites by a pattern."""


def finding_in(
    mod: tvm.IRModule, call: PassCall | None, oracle: str, pipeline: str | None = None
) -> Finding:
    calls = () if call is None else (call,)
    return Finding(
        violation=check(Case(mod, calls, pipeline), oracles=(oracle,))[0],
        module=save_json(mod),
        versions=versions(),
        calls=calls,
        pipeline=pipeline,
        confirmed=True,
        reduced=True,
        evidence=evidence_of(mod, silent, whole=False),
    )


@pytest.fixture(scope="module")
def finding() -> Finding:
    """The bug of `BRANCH`, met by another pass than the one of its reproducer."""
    return finding_in(execute(BRANCH), PassCall("AdjustMatmulOrder()"), "crash")


def record(folder: Path, key: str, reproducer: Path, name: str = "recorded") -> Known:
    path = folder / f"{name}.toml"
    path.with_suffix(".py").write_text(reproducer.read_text())
    path.write_text(f'what = "x"\nkey_format = 3\nkeys = [{key}]\ntvm = "fails on 0.26.0"\n')
    return known(path)


def test_what_another_pass_shows_on_the_same_modules_is_one_bug(
    pool: LocalPool, finding: Finding, tmp_path: Path
) -> None:
    kind, text = finding.key
    other = record(tmp_path, f"['crash', 'FoldBatchnormToConv2D', '{kind}', '{text}']", BRANCH)
    assert not other.matches(finding.full_key)
    found = recognized(pool, finding, [other])
    assert (found.known, found.perhaps) == ("recorded", ())
    # From then on it is that bug, for all who ask.
    expected = Expected([other], [], versions()["tvm"])
    assert expected.of(finding) == ()
    assert expected.of(found) == (other,)


def test_the_last_of_several_passes_may_do_what_another_pass_is_known_to_do(
    pool: LocalPool,
) -> None:
    """LazyGetInput gives the match_cast that CanonicalizeBindings, in KillAfterLastUse, refuses."""
    number = relax.Var("number", tvm.ir.PrimType("int64"))
    body = relax.SeqExpr([], number)
    relax.expr._update_type(body, number.ty)
    main = relax.Function([number], body, number.ty).with_attr("global_symbol", "main")
    mod = tvm.IRModule({"main": main})
    calls = (PassCall("LazyGetInput()"), PassCall("KillAfterLastUse()"))
    found = Finding(
        violation=check(Case(mod, calls), oracles=("crash",))[0],
        module=save_json(mod),
        versions=versions(),
        calls=calls,
        confirmed=True,
        reduced=True,
    )
    found = dataclasses.replace(found, evidence=take_evidence(pool, found))
    assert found.pass_name == "KillAfterLastUse"
    assert recognized(pool, found, EVERY).known == "canonicalize-match-cast-to-number"


def test_it_may_be_one_where_its_module_does_not_show_what_the_record_says(
    pool: LocalPool, finding: Finding, tmp_path: Path
) -> None:
    other = record(tmp_path, "['crash', 'AdjustMatmulOrder', 'ValueError', 'no']", BRANCH)
    found = recognized(pool, finding, [other])
    assert (found.known, found.perhaps) == (None, ("recorded",))


def test_it_is_another_bug_where_the_module_of_the_record_does_not_show_it(
    pool: LocalPool, finding: Finding, tmp_path: Path
) -> None:
    other = record(
        tmp_path,
        "['crash', 'AdjustMatmulOrder', 'ValueError', 'no']",
        SHIPPED / "adjust-matmul-order-1d-operand.py",
    )
    assert recognized(pool, finding, [other]) == finding


@pytest.mark.parametrize(
    ("reproducer", "like"), [(BRANCH.stem, True), ("topological-sort-match-cast", False)]
)
def test_a_key_alone_is_not_the_known_bug(
    pool: LocalPool, finding: Finding, tmp_path: Path, reproducer: str, like: bool
) -> None:
    kind, text = finding.key
    key = f"['crash', 'AdjustMatmulOrder', '{kind}', '{text}']"
    one = record(tmp_path, key, SHIPPED / f"{reproducer}.py")
    names = unlike(pool, finding, [one], EVERY)
    assert names == (() if like else ("recorded",))
    expected = Expected([one], [], versions()["tvm"])
    assert expected.of(dataclasses.replace(finding, unlike=names)) == ((one,) if like else ())
    # What could be smaller yet may have anything in it.
    assert unlike(pool, dataclasses.replace(finding, reduced=False), [one], EVERY) == ()


@pytest.mark.parametrize("known_by_module", [True, False])
def test_a_campaign_counts_a_known_bug_in_other_words(
    pool: LocalPool, finding: Finding, tmp_path: Path, known_by_module: bool
) -> None:
    kind, text = finding.key
    blamed = "FoldBatchnormToConv2D" if known_by_module else "FuseOps"
    one = record(tmp_path, f"['crash', '{blamed}', '{kind}', '{text}']", BRANCH)
    expected = Expected([one], [], versions()["tvm"])
    told: list[Finding] = []
    with Store(tmp_path / "out") as store:
        triage = Triage(store, pool, told.append, expected=expected)
        assert not triage.report(dataclasses.replace(finding, confirmed=False, evidence=None))
        triage.drain(60, lambda: None)
        assert triage.faults == []
        (kept,) = store.findings()
    if known_by_module:
        assert (told, triage.published, kept.known) == ([], [], "recorded")
        assert expected.reports == {one: 1}
    else:
        assert [each.perhaps for each in told] == [("recorded",)]
        assert not expected.reports


@pytest.fixture
def time_for_audits(monkeypatch: pytest.MonkeyPatch) -> None:
    """However short the campaign was."""
    monkeypatch.setattr(audits, "SHARE", math.inf)


@pytest.mark.usefixtures("time_for_audits")
def test_a_campaign_reports_what_has_only_the_key_of_a_known_bug(
    pool: LocalPool, finding: Finding, tmp_path: Path
) -> None:
    kind, text = finding.key
    other = SHIPPED / "topological-sort-match-cast.py"
    one = record(tmp_path, f"['crash', 'AdjustMatmulOrder', '{kind}', '{text}']", other)
    # Several bugs raise this: the words alone do not tell.
    others = [k for k in EVERY if k.reports(finding.key) and not k.matches(finding.full_key)]
    expected = Expected([one, *others], [], versions()["tvm"])
    told: list[Finding] = []
    with Store(tmp_path / "out") as store:
        triage = Triage(store, pool, told.append, expected=expected)
        assert triage.report(finding, audit=True)
        # The campaign is over: the first report of a known bug is looked at all the same.
        triage.drain(60, lambda: None)
        assert triage.faults == []
        assert (triage.pending, triage.audits.sure, triage.audits.unaudited) == (0, 0, ())
    assert [each.unlike for each in told] == [("recorded",)]


@pytest.mark.usefixtures("time_for_audits")
def test_the_first_report_of_a_known_bug_is_looked_at_however_long_it_takes(
    pool: LocalPool, finding: Finding, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    states: list[object] = []

    def slow(executor: LocalPool, finding: Finding, state: State | None, **options: Any) -> Any:
        result = minimized(executor, finding, state, **options)
        states.append(state)
        if state is not None:
            return result
        smaller = dataclasses.replace(result.finding, reduced=False)
        begun = dataclasses.replace(result.state, ended=False)
        return dataclasses.replace(result, finding=smaller, state=begun)

    monkeypatch.setattr(campaign_triage, "minimized", slow)
    kind, text = finding.key
    one = record(tmp_path, f"['crash', 'AdjustMatmulOrder', '{kind}', '{text}']", BRANCH)
    expected = Expected([one], [], versions()["tvm"])
    with Store(tmp_path / "out") as store:
        triage = Triage(store, pool, expected=expected)
        assert triage.report(dataclasses.replace(finding, reduced=False), audit=True)
        triage.drain(60, lambda: None)
        assert (triage.faults, triage.audits.unaudited) == ([], ())
    assert [state is None for state in states] == [True, False]


def test_who_interrupts_a_run_waits_for_no_audit(
    pool: LocalPool, finding: Finding, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = threading.Event()

    def again(*args: Any, **options: Any) -> None:
        asked.wait(30)

    monkeypatch.setattr(audits, "again", again)
    kind, text = finding.key
    keys = [("crash", "AdjustMatmulOrder", kind, text), ("crash", "FuseOps", "ValueError", "no")]
    known = [record(tmp_path, f"{[*key]}", BRANCH, name=key[1].lower()) for key in keys]
    expected = Expected(known, [], versions()["tvm"])
    violation = Violation("no", "", ("ValueError", "no"), oracle="crash", pass_name="FuseOps")
    with Store(tmp_path / "out") as store:
        triage = Triage(store, pool, expected=expected)
        triage._start_threads(1)
        for each in (finding, dataclasses.replace(finding, violation=violation)):
            assert triage.report(each, audit=True)

        def tick() -> None:
            triage.hurry()
            asked.set()

        triage.drain(60, tick)
        assert (triage.faults, triage.pending) == ([], 0)
        assert triage.audits.unaudited == ("adjustmatmulorder", "fuseops")


def test_what_has_only_the_key_of_one_known_bug_may_be_another_in_other_words(
    pool: LocalPool, finding: Finding, tmp_path: Path
) -> None:
    kind, text = finding.key
    other = SHIPPED / "topological-sort-match-cast.py"
    one = record(tmp_path, f"['crash', 'AdjustMatmulOrder', '{kind}', '{text}']", other)
    same = record(
        tmp_path, f"['crash', 'FoldBatchnormToConv2D', '{kind}', '{text}']", BRANCH, name="other"
    )
    expected = Expected([one, same], [], versions()["tvm"])
    told: list[Finding] = []
    with Store(tmp_path / "out") as store:
        triage = Triage(store, pool, told.append, expected=expected)
        unlike_one = dataclasses.replace(finding, unlike=("recorded",))
        assert not triage.report(unlike_one)
        triage.drain(60, lambda: None)
        assert triage.faults == []
        (kept,) = store.findings()
    assert (told, kept.unlike, kept.known) == ([], ("recorded",), "other")
    assert expected.reports == {same: 1}


def shipped(name: str) -> Known:
    return known(SHIPPED / f"{name}.toml")


@pytest.mark.parametrize(
    ("mine", "other"),
    [
        # The open end of a message stands for no operator.
        ("clip-limit-out-of-range", "affine-grid-of-integers"),
        # All legalizations are called there.
        ("negative-of-unsigned", "sign-of-unsigned"),
        # An operator of the compiler has a legalization, too.
        ("repeat-scalar", "take-backward-axis-unchecked"),
        # One operator raises the same in two places.
        ("resize-to-size-one", "resize-to-size-zero"),
    ],
)
def test_what_a_legalization_raises_is_another_bug_elsewhere(
    pool: LocalPool, mine: str, other: str
) -> None:
    own = shipped(mine)
    assert own.reproducer is not None
    found = finding_in(execute(own.reproducer), PassCall("LegalizeOps()"), "crash")
    assert own.matches(found.full_key)
    assert shipped(other).matches(found.full_key)
    assert unlike(pool, found, [own, shipped(other)], EVERY) == (other,)


@pytest.mark.parametrize(
    ("mine", "call", "oracle", "other"),
    [
        # Types that leave something open.
        (
            *("decompose-unknown-rank", "DecomposeOpsForTraining()", "crash"),
            "decompose-training-batch-norm-last-axis",
        ),
        # Arithmetic in PrimFuncs.
        (
            *("renormalize-split-wrapping-product", "s_tir.transform.RenormalizeSplitPattern()"),
            *("evaluated", "renormalize-split-negative-divisor"),
        ),
        # Operators here, a tuple there, and TVM raises where every pass gets to.
        (
            "convert-layout-packed-pool-output-layout",
            'ConvertLayout({"relax.nn.conv2d": ["NCHW2c", "OIHW2o"]})',
            *("crash", "convert-layout-tuple-of-no-tensors"),
        ),
    ],
)
def test_a_bug_that_needs_something_else_is_another_one(
    pool: LocalPool, mine: str, call: str, oracle: str, other: str
) -> None:
    own = shipped(mine)
    assert own.reproducer is not None
    found = finding_in(execute(own.reproducer), PassCall(call), oracle)
    assert own.matches(found.full_key)
    assert shipped(other).matches(found.full_key)
    assert unlike(pool, found, [own, shipped(other)], EVERY) == (other,)


def test_what_a_legalization_raises_is_one_bug_where_the_record_names_the_operator(
    pool: LocalPool,
) -> None:
    """Another operator raises it in another place."""
    x = relax.Var("x", relax.TensorType((1, 2, 0), "float32"))
    g = relax.Var("g", relax.TensorType((2,), "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x, g]):
        normed = relax.op.nn.group_norm(x, g, g, num_groups=2, channel_axis=1, axes=[2])
        builder.emit_func_output(builder.emit(normed))
    found = finding_in(builder.get(), PassCall("LegalizeOps()"), "crash")
    named, unnamed = shipped("norm-over-nothing"), shipped("mean-over-nothing")
    assert named.matches(found.full_key)
    assert unnamed.matches(found.full_key)
    assert unlike(pool, found, [named, unnamed], EVERY) == ("mean-over-nothing",)


def test_what_a_legalization_raises_is_one_bug_under_every_pass_that_calls_it(
    pool: LocalPool,
) -> None:
    x = relax.Var("x", relax.TensorType((2, 2), "int64"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        with builder.dataflow():
            y = builder.emit(relax.op.negative(x))
            z = builder.emit_output(relax.op.divide(y, relax.const(0, "int64")))
        builder.emit_func_output(z)
    # The legalization of a quotient has no function of its own.
    found = finding_in(builder.get(), PassCall("DataflowUseInplaceCalls()"), "crash")
    expected = Choice().load(found.versions["tvm"]).of(found)
    assert {"constant-zero-divisor", "take-wrap-from-nothing"} <= {each.name for each in expected}
    others = unlike(pool, found, expected, EVERY)
    assert {each.name for each in expected} - {*others} == {"constant-zero-divisor"}


@pytest.mark.parametrize(
    ("mine", "attributes", "other"),
    [
        ("attention-causal-mask", ("causal_mask",), "attention-shared-heads"),
        ("attention-shared-heads", (), "attention-causal-mask"),
        ("resize3d-cubic-exclude", ("cubic_exclude", "method"), "resize3d-roi"),
    ],
)
def test_bugs_that_need_other_attributes_are_two(
    pool: LocalPool, mine: str, attributes: tuple[str, ...], other: str
) -> None:
    own = shipped(mine)
    assert own.reproducer is not None
    mod = execute(own.reproducer)
    found = finding_in(mod, None, "executed-by-pipeline", "default")
    assert found.evidence is not None
    assert found.evidence.attributes == attributes
    assert own.matches(found.full_key)
    assert shipped(other).matches(found.full_key)
    assert unlike(pool, found, [own, shipped(other)], EVERY) == (other,)


def test_attributes_that_a_reproducer_can_do_without_tell_nothing(pool: LocalPool) -> None:
    one = shipped("fold-batchnorm-epsilon-dtype")
    assert one.reproducer is not None
    mod = execute(one.reproducer)
    whole = evidence_of(mod, silent, whole=False)
    call = PassCall("FoldBatchnormToConv2D()")
    found = finding_in(with_attributes(mod, ()), call, "crash")
    assert found.evidence is not None
    assert set(found.evidence.attributes) < set(whole.attributes)
    assert one.matches(found.full_key)
    assert unlike(pool, found, [one], EVERY) == ()


@I.ir_module
class UnknownShape:
    @R.function
    def main(x: R.Tensor(dtype="float32", ndim=3)) -> R.Tensor(dtype="float32", ndim=3):
        with R.dataflow():
            gv: R.Tensor(dtype="float32", ndim=3) = R.negative(x)
            R.output(gv)
        return gv


@I.ir_module
class OtherAxis:
    @R.function
    def main(x: R.Tensor((2, 3), "float32"), y: R.Tensor((2, 1), "float32")):
        return R.slice_scatter(x, y, 1, 3, 2, axis=1)


@I.ir_module
class Kernel:
    """The call defines no variable: any call of this type will do."""

    @R.function
    def main(x: R.Tensor((2,), "float32"), s: R.Shape(ndim=1)) -> R.Tensor("float32", ndim=1):
        n = T.int64()
        with R.dataflow():
            lv = R.match_cast(s, R.Shape([n]))  # noqa: F841  # it defines n
            gv = R.call_pure_packed("f", ty_args=R.Tensor((n,), "float32"))
            R.output(gv)
        return gv


@pytest.mark.parametrize(
    ("mod", "call", "oracle", "name"),
    [
        # The legalization that raises is a common one: the type of the operand is the cause.
        (UnknownShape, "FoldConstant()", "crash", "fold-constant-unknown-shape"),
        # With the default axis the shapes would be others.
        (OtherAxis, "LegalizeOps()", "sanitized", "slice-scatter-outside"),
        (
            Kernel,
            "TopologicalSort(order='breadth-first', direction='from-inputs')",
            "well-formed",
            "topological-sort-match-cast",
        ),
    ],
)
def test_what_tells_nothing_of_the_cause(
    pool: LocalPool, mod: tvm.IRModule, call: str, oracle: str, name: str
) -> None:
    found = finding_in(mod, PassCall(call), oracle)
    one = shipped(name)
    assert one.matches(found.full_key)
    assert unlike(pool, found, [one], EVERY) == ()


def test_a_module_may_have_all_that_another_one_has(pool: LocalPool, tmp_path: Path) -> None:
    """The record says of which modules its bug was seen, besides its reproducer."""
    found = finding_in(OtherAxis, PassCall("LegalizeOps()"), "sanitized")
    assert found.evidence is not None
    key = ["sanitized", "LegalizeOps", *found.key]
    other = record(tmp_path, str(key), BRANCH)
    assert unlike(pool, found, [other], EVERY) == ("recorded",)
    folder = tmp_path / "own"
    path = extend(folder, other, [found])
    (same,) = knowns(folder)
    assert same.path == path
    assert same.matches(found.full_key)
    assert same.like == (elements(found.evidence.pattern, parameters=True),)
    assert (
        unlike(pool, found, [dataclasses.replace(same, reproducer=other.reproducer)], EVERY) == ()
    )
    # What is written already is not written again.
    extend(folder, same, [found])
    assert knowns(folder) == (same,)


@I.ir_module
class OfNoAxis:
    @R.function
    def main(x: R.Tensor((2,), "float32")):
        return R.median(x, axis=[])


@pytest.mark.parametrize("name", ["median-keepdims", "median-several-axes"])
def test_a_legalization_may_give_another_type_in_another_respect(
    pool: LocalPool, name: str
) -> None:
    found = finding_in(OfNoAxis, PassCall("LegalizeOps()"), "signature")
    found = dataclasses.replace(found, evidence=evidence_of(OfNoAxis, silent, whole=True))
    assert shipped(name).matches(found.full_key)
    assert unlike(pool, found, [shipped(name)], EVERY) == (name,)


def test_a_record_that_names_the_operator_is_of_that_one_too(pool: LocalPool) -> None:
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((1, 1, 2, 2, 2), "float32"))
    with builder.function("main", [x]):
        resized = relax.op.image.resize3d(x, (2, 2, 2), out_dtype="float64")
        builder.emit_func_output(builder.emit(resized))
    found = finding_in(builder.get(), PassCall("LegalizeOps()"), "signature")
    one = shipped("resize-out-dtype")
    assert one.reproducer is not None
    assert "resize3d" not in one.reproducer.read_text().split("\n", 1)[1]
    assert one.matches(found.full_key)
    assert unlike(pool, found, [one], EVERY) == ()


@pytest.fixture(scope="module")
def by_pattern() -> Finding:
    """FuseOpsByPattern runs the code of FuseOps, on operators instead of PrimFuncs."""

    @I.ir_module
    class ByPattern:
        @R.function
        def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            with R.dataflow():

                @R.function
                def local(a: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
                    with R.dataflow():
                        b = R.exp(a)
                        R.output(b)
                    return b

                y = R.exp(x)
                z = R.exp(y)
                w = local(z)
                R.output(w)
            return w

    twice = 'is_op("relax.exp")(is_op("relax.exp")(wildcard()))'
    call = PassCall(
        f'FuseOpsByPattern([("twice", {twice})])',
        imports=("from tvm.relax.dpl import is_op, wildcard",),
    )
    return finding_in(ByPattern, call, "crash")


def test_a_known_bug_raises_in_one_place_under_another_pass(
    pool: LocalPool, by_pattern: Finding, tmp_path: Path
) -> None:
    one = shipped("fuse-ops-local-function-block")
    assert one.matches(by_pattern.full_key)
    assert unlike(pool, by_pattern, [one], EVERY) == ()
    # And where the record does not speak of that pass.
    assert one.reproducer is not None
    kind, text = by_pattern.key
    less = record(tmp_path, f"['crash', 'FuseOps', '{kind}', '{text}']", one.reproducer)
    assert recognized(pool, by_pattern, [less]).known == "recorded"
    other = record(tmp_path, f"['crash', 'FuseOps', '{kind}', '{text}']", BRANCH)
    assert recognized(pool, by_pattern, [other]) == by_pattern


@I.ir_module
class NestedLets:
    @T.prim_func
    def main(B: T.Buffer((), "int64")):
        t = T.int64()
        u = T.int64()
        B[()] = T.Let(
            T.int64(0), where={u: T.Let(T.int64(0), where={t: T.Sub(T.int64(0), T.int64(0))})}
        )


def test_a_known_bug_raises_in_one_place_of_the_arithmetic_under_a_pass_of_tensorir(
    pool: LocalPool, tmp_path: Path
) -> None:
    """CompactBufferAllocation looks at no Let like that of the reproducer."""
    one = shipped("arith-let-bound-twice")
    assert one.reproducer is not None
    found = finding_in(NestedLets, PassCall("s_tir.transform.CompactBufferAllocation()"), "crash")
    kind, text = found.key
    key = f"['crash', 's_tir.RenormalizeSplitPattern', '{kind}', '{text}']"
    assert recognized(pool, found, [record(tmp_path, key, one.reproducer)]).known == "recorded"
    assert recognized(pool, found, [record(tmp_path, key, BRANCH)]) == found


def test_a_known_bug_raises_in_one_place_though_its_own_pass_needs_arguments(
    pool: LocalPool, tmp_path: Path
) -> None:
    one = shipped("fuse-by-pattern-alias-cycle")
    assert one.reproducer is not None
    found = finding_in(execute(one.reproducer), PassCall("FuseTransposeMatmul()"), "crash")
    kind, text = found.key
    less = record(tmp_path, f"['crash', 'FuseOpsByPattern', '{kind}', '{text}']", one.reproducer)
    assert recognized(pool, found, [less]).known == "recorded"


@pytest.mark.parametrize(
    ("mine", "pass_name", "oracle", "other"),
    [
        (
            "decompose-training-batch-norm-last-axis",
            "DecomposeOpsForTraining",
            "crash",
            "batch-norm-last-axis",
        ),
        (
            "convert-to-dataflow-body-before-blocks",
            "ConvertToDataflow",
            "well-formed",
            "lazy-set-output-stale-if",
        ),
    ],
)
def test_two_passes_that_fail_on_one_module_have_a_bug_each(
    pool: LocalPool, mine: str, pass_name: str, oracle: str, other: str
) -> None:
    own, one = shipped(mine), shipped(other)
    assert own.reproducer is not None
    found = finding_in(execute(own.reproducer), PassCall(f"{pass_name}()"), oracle)
    assert own.matches(found.full_key)
    compared = recognized(pool, found, [one])
    assert (compared.known, compared.perhaps) == (None, (other,))


@I.ir_module
class UnknownDtypes:
    @R.function
    def main(x: R.Tensor((2, 2)), y: R.Tensor((2, 1))) -> R.Tensor((2, 1), "int64"):
        return R.multinomial_from_uniform(x, y, R.const([[1], [1]], "int64"), dtype="int64")


@I.ir_module
class OneGroup:
    @R.function
    def main(
        x: R.Tensor((2, 4, 2, 2), "float32"),
        y: R.Tensor((4, 4, 1, 1), "float32"),
        z: R.Tensor((4,), "float32"),
    ):
        with R.dataflow():
            lv = R.nn.conv2d(x, y)
            gv = R.nn.group_norm(lv, z, z, num_groups=1, channel_axis=1, axes=[2, 3])
            R.output(gv)
        return gv


@pytest.mark.parametrize(
    ("mod", "call", "name"),
    [
        (
            UnknownDtypes,
            PassCall("relax.backend.DispatchSampling()"),
            "dispatch-sampling-unknown-dtype",
        ),
        (
            OneGroup,
            PassCall('ConvertLayout({"relax.nn.conv2d": ["NCHW4c", "OIHW4o"]})'),
            "convert-layout-packed-group-norm",
        ),
    ],
)
def test_it_may_be_one_that_makes_something_else_fail_on_a_module_of_the_same(
    pool: LocalPool, tmp_path: Path, mod: tvm.IRModule, call: PassCall, name: str
) -> None:
    found = finding_in(mod, call, "crash")
    key = f"['crash', '{call.name}', 'ValueError', 'something else']"
    one = record(tmp_path, key, SHIPPED / f"{name}.py")
    compared = recognized(pool, found, [one])
    assert (compared.known, compared.perhaps) == (None, ("recorded",))


def test_an_operator_may_have_several_bugs(pool: LocalPool) -> None:
    one, other = shipped("take-nan-of-integers"), shipped("take-nan-without-axis")
    assert one.reproducer is not None
    found = finding_in(execute(one.reproducer), PassCall("LegalizeOps()"), "crash")
    assert recognized(pool, found, [other]) == found


def test_what_the_first_pass_does_known_wrong_a_later_one_meets(
    pool: LocalPool, finding: Finding, tmp_path: Path
) -> None:
    kind, text = finding.key
    one = record(tmp_path, f"['crash', 'AdjustMatmulOrder', '{kind}', '{text}']", BRANCH)
    later = (*finding.calls, PassCall("CanonicalizeBindings()"))
    blamed = dataclasses.replace(
        finding.violation, pass_name="CanonicalizeBindings", key=("KeyError", "no"), place=""
    )
    listed = dataclasses.replace(finding, violation=blamed, calls=later)
    assert recognized(pool, listed, [one]).known == "recorded"
    harmless = (PassCall("DeadCodeElimination()"), *later[1:])
    assert recognized(pool, dataclasses.replace(listed, calls=harmless), [one]).known is None


@I.ir_module
class Bound:
    @R.function(private=True)
    def weighted(
        x: R.Tensor((2,), "float32"), w: R.Tensor((2,), "float32"), b: R.Tensor((2,), "float32")
    ):
        return x

    @R.function
    def main(x: R.Tensor((2,), "float32")):
        return Bound.weighted(x, x, x)


def test_the_first_pass_is_asked_by_the_oracles_that_know_its_bugs(pool: LocalPool) -> None:
    """No structural oracle sees that BindParams leaves the callers as they are."""
    weights = PassCall("BindParams('weighted', {'w': np.ones((3, 3)).astype('float32')})")
    calls = (weights, PassCall("FuseTIR()"))
    violation = check(Case(Bound, calls))[0]
    found = Finding(violation=violation, module=save_json(Bound), versions=versions(), calls=calls)
    one = shipped("bind-params-stale-callers")
    assert recognized(pool, found, [one]).known == one.name


def test_what_a_pass_does_to_many_modules_is_no_known_bug(
    pool: LocalPool, finding: Finding, tmp_path: Path
) -> None:
    kind, text = finding.key
    one = record(tmp_path, f"['crash', 'FoldBatchnormToConv2D', '{kind}', '{text}']", BRANCH)
    several = [dataclasses.replace(one, path=tmp_path / f"{name}.toml") for name in "abcd"]
    assert recognized(pool, finding, several[:3]).known == "a"
    assert recognized(pool, finding, several) == finding


def test_a_bug_of_an_operator_of_the_compiler_is_looked_for(
    pool: LocalPool, tmp_path: Path
) -> None:
    one = shipped("canonicalize-constant-into-checkpoint")
    assert one.reproducer is not None
    found = finding_in(execute(one.reproducer), PassCall("CanonicalizeBindings()"), "crash")
    kind, text = found.key
    less = record(tmp_path, f"['crash', 'FoldConstant', '{kind}', '{text}']", one.reproducer)
    assert recognized(pool, found, [less]).known == "recorded"


@I.ir_module
class Retyped:
    @R.function
    def main(x: R.Tensor((2, 2), "float32")) -> R.Tensor((2, 2), "int32"):
        lv: R.Tensor((2, 2), "int32") = R.eye_like(x, 0, dtype="int32")
        gv: R.Tensor((2, 2), "int32") = R.bitwise_not(lv)
        return gv


def test_what_a_legalization_of_another_type_leads_to_is_that_bug(pool: LocalPool) -> None:
    found = finding_in(Retyped, PassCall("LegalizeOps()"), "crash")
    found = dataclasses.replace(found, evidence=evidence_of(Retyped, silent, whole=True))
    bugs = [
        known(SHIPPED / f"{name}.toml")
        for name in ("backward-operands-unchecked", "legalize-eye-like-dtype")
    ]
    assert recognized(pool, found, bugs).known == "legalize-eye-like-dtype"
    assert recognized(pool, found, bugs[:1]).known is None


@I.ir_module
class Backward:
    @R.function
    def main(x: R.Tensor((2, 2), "float32")) -> R.Tensor((2, 2), "float32"):
        gv: R.Tensor((2, 2), "float32") = R.grad.nll_loss_backward(
            x, x, R.const([1, 1], "int32"), reduction="mean", ignore_index=-100
        )
        return gv


@pytest.mark.parametrize(
    ("what", "like"),
    [
        ("pool2d_backward and nll_loss_backward of a gradient that does not fit", True),
        ("pool2d_backward of a gradient that does not fit", False),
    ],
)
def test_a_record_says_of_which_operators_it_is(
    pool: LocalPool, tmp_path: Path, what: str, like: bool
) -> None:
    found = finding_in(Backward, PassCall("LegalizeOps()"), "crash")
    one = record(
        tmp_path,
        f"['crash', 'LegalizeOps', {found.key[0]!r}, 'Check failed…']",
        SHIPPED / "backward-operands-unchecked.py",
    )
    one = dataclasses.replace(one, what=what)
    assert unlike(pool, found, [one], EVERY) == (() if like else ("recorded",))


@I.ir_module
class OnDevice:
    I.module_global_infos({"vdevice": [I.vdevice("llvm", 0), I.vdevice("llvm", 1)]})

    @R.function
    def main(x: R.Tensor((4,), "float32", "llvm:1")) -> R.Tensor((4,), "float32", "llvm:1"):
        unused = R.negative(x)  # noqa: F841
        return x


def test_arguments_of_a_finding_that_do_not_fit_the_module_of_a_record(
    pool: LocalPool, tmp_path: Path
) -> None:
    call = PassCall('UpdateVDevice(relax.VDevice("llvm", 2, "shared"), 1)')
    finding = finding_in(OnDevice, call, "well-formed")
    key = str(list(finding.full_key))
    # Its module has one device: nothing can be said of the device with the number 1.
    one = record(tmp_path, key, SHIPPED / "update-vdevice-misses-types.py")
    assert unlike(pool, finding, [one], EVERY) == ()


@I.ir_module
class Lost:
    @R.function(pure=False, private=True)
    def f(x: R.Tensor((2,), "float32")) -> R.Tuple(R.Tensor((2,), "float32")):
        copy = R.call_packed("vm.builtin.copy", x, ty_args=R.Tensor((2,), "float32"))  # noqa: F841
        return (x,)

    @R.function(pure=False)
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        cls = Lost
        unused = cls.f(x)  # noqa: F841
        return x


@pytest.mark.parametrize(("key", "like"), [("an effect is lost…", True), (None, False)])
def test_what_the_key_of_a_record_leaves_open_tells_nothing(
    pool: LocalPool, key: str | None, like: bool
) -> None:
    """The reproducer loses a print, the finding the call of a packed function."""
    found = finding_in(Lost, PassCall("RemoveUnusedOutputs()"), "effects")
    one = shipped("remove-unused-outputs-impure-call")
    said = (("effects", "RemoveUnusedOutputs", key or found.key[0]),)
    one = dataclasses.replace(one, keys=said)
    assert one.matches(found.full_key)
    assert unlike(pool, found, [one], EVERY) == (() if like else (one.name,))


@pytest.mark.parametrize(
    ("trigger", "like"),
    [("waits_for_copies", True), (None, True), ("shares_statements", False)],
)
def test_what_no_message_tells_the_trigger_of_a_record_does(
    pool: LocalPool, trigger: str | None, like: bool
) -> None:
    """The last is false for the module of the finding."""
    one = dataclasses.replace(shipped("thread-sync-after-wait-again"), trigger=trigger)
    assert one.reproducer is not None
    call = PassCall("s_tir.transform.ThreadSync('shared')")
    found = finding_in(execute(one.reproducer), call, "idempotent")
    assert one.matches(found.full_key)
    assert unlike(pool, found, [one], EVERY) == (() if like else (one.name,))


def test_the_trigger_of_a_record_of_relax_does_not_tell(pool: LocalPool) -> None:
    """It may be false for a module on which the bug shows."""
    one = shipped("update-param-type-stale-callers")
    assert one.reproducer is not None
    call = PassCall("UpdateParamType(lambda var: None)")
    found = finding_in(execute(one.reproducer), call, "well-formed")
    assert one.matches(found.full_key)
    assert unlike(pool, found, [dataclasses.replace(one, trigger="shares_statements")], EVERY) == ()


def test_what_a_script_loses_is_one_bug_whatever_the_modules_consist_of(pool: LocalPool) -> None:
    one, other = shipped("tvmscript-folded-arithmetic"), shipped("tvmscript-simplified-extent")
    assert one.reproducer is not None
    marks = PassCall("tirx.transform.Apply(lambda func: func.with_attr('mark', 1))")
    found = finding_in(execute(one.reproducer), marks, "tvmscript")
    assert one.matches(found.full_key)
    of_another = dataclasses.replace(other, keys=one.keys)  # its module has other arithmetic
    assert unlike(pool, found, [one, of_another], EVERY) == ()


def test_a_finding_says_what_it_has_in_common_with_known_bugs(finding: Finding) -> None:
    other = dataclasses.replace(finding, perhaps=("a", "b"), unlike=("c", "d", "e", "f"))
    assert list(other.of_known) == [
        "perhaps the known bug a or b",
        "reported like the known bug c or d or e, but on a module of another kind",
    ]
    assert list(finding.of_known) == []
