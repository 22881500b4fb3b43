"""Known bugs of TVM under another pass and on other modules, and other bugs that look like them.

The records are those that come with relaxfuzz; all findings are what the oracles report.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from relaxfuzz.compat.release import versions
from relaxfuzz.compat.serialization import save_json
from relaxfuzz.corpus.knowns import SHIPPED, Known, known
from relaxfuzz.fuzz.campaign.triage import Triage
from relaxfuzz.fuzz.findings.confirm import take_evidence
from relaxfuzz.fuzz.findings.finding import Finding
from relaxfuzz.fuzz.findings.known import Choice, Expected, add
from relaxfuzz.fuzz.findings.store import Store
from relaxfuzz.fuzz.minimize.attributes import default_attributes
from relaxfuzz.fuzz.process.local_pool import LocalPool
from relaxfuzz.fuzz.user_input.module_file import execute
from relaxfuzz.oracles.check import check
from relaxfuzz.oracles.ingredients import ingredients
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.violation import Case

LEGALIZE = "LegalizeOps()"


def reported(
    mod: tvm.IRModule, call: str | None, oracle: str, pipeline: str | None = None
) -> Finding:
    """The first violation, as a campaign reports it."""
    calls = () if call is None else (PassCall(call),)
    return Finding(
        violation=check(Case(mod, calls, pipeline), oracles=(oracle,))[0],
        module=save_json(mod),
        versions=versions(),
        calls=calls,
        pipeline=pipeline,
        made_of=tuple(sorted(ingredients(mod))),
    )


def minimized(pool: LocalPool, found: Finding) -> Finding:
    """The finding, whose module is said to have nothing that the bug does without."""
    evidence = take_evidence(pool, found)
    return dataclasses.replace(found, confirmed=True, reduced=True, evidence=evidence)


@pytest.fixture(scope="module")
def expected() -> Expected:
    return Choice().load(versions()["tvm"])


def names(expected: Expected, found: Finding) -> list[str]:
    return [each.name for each in expected.of(found)]


def module_of(name: str) -> tvm.IRModule:
    return execute(SHIPPED / f"{name}.py")


@pytest.mark.parametrize(
    ("name", "call", "oracle"),
    [
        # All that raise the same say so in other words, or in another place.
        ("repeat-scalar", LEGALIZE, "crash"),
        # Types that leave something open.
        ("decompose-unknown-rank", "DecomposeOpsForTraining()", "crash"),
        # Arithmetic in PrimFuncs.
        (
            "renormalize-split-wrapping-product",
            "s_tir.transform.RenormalizeSplitPattern()",
            "evaluated",
        ),
        ("unroll-loop-inner-extent", "tirx.transform.UnrollLoop()", "idempotent"),
        # Operators here, a tuple in another record.
        (
            "convert-layout-packed-pool-output-layout",
            'ConvertLayout({"relax.nn.conv2d": ["NCHW2c", "OIHW2o"]})',
            "crash",
        ),
        # Passes that fail on one module have a bug each.
        ("convert-to-dataflow-body-before-blocks", "ConvertToDataflow()", "well-formed"),
        (
            "tvmscript-folded-arithmetic",
            "tirx.transform.Apply(lambda func: func.with_attr('mark', 1))",
            "tvmscript",
        ),
    ],
)
def test_a_reproducer_shows_its_own_bug_alone(
    pool: LocalPool, expected: Expected, name: str, call: str, oracle: str
) -> None:
    found = reported(module_of(name), call, oracle)
    assert names(expected, minimized(pool, found)) == [name]
    assert name in names(expected, found), "it is presumed to be one before it is minimized"


@pytest.mark.parametrize(
    "name", ["attention-causal-mask", "attention-shared-heads", "resize3d-cubic-exclude"]
)
def test_bugs_of_an_operator_that_need_other_attributes_are_several(
    pool: LocalPool, expected: Expected, name: str
) -> None:
    found = reported(module_of(name), None, "executed-by-pipeline", "default")
    assert names(expected, minimized(pool, found)) == [name]


def test_attributes_that_a_reproducer_can_do_without_tell_nothing(
    pool: LocalPool, expected: Expected
) -> None:
    name = "fold-batchnorm-epsilon-dtype"
    mod = module_of(name)
    less = next(default_attributes(mod))()
    assert less is not None
    assert ingredients(less) < ingredients(mod)
    found = minimized(pool, reported(less, "FoldBatchnormToConv2D()", "crash"))
    assert names(expected, found) == [name]


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
    """With the default axis the shapes would be others."""

    @R.function
    def main(x: R.Tensor((2, 3), "float32"), y: R.Tensor((2, 1), "float32")):
        return R.slice_scatter(x, y, 1, 3, 2, axis=1)


@I.ir_module
class AnyCall:
    """The call defines no variable: any call of this type will do."""

    @R.function
    def main(x: R.Tensor((2,), "float32"), s: R.Shape(ndim=1)) -> R.Tensor("float32", ndim=1):
        n = T.int64()
        with R.dataflow():
            lv = R.match_cast(s, R.Shape([n]))  # noqa: F841  # it defines n
            gv = R.call_pure_packed("f", ty_args=R.Tensor((n,), "float32"))
            R.output(gv)
        return gv


@I.ir_module
class OfNoAxis:
    @R.function
    def main(x: R.Tensor((2,), "float32")):
        return R.median(x, axis=[])


@I.ir_module
class Retyped:
    """The second operator refuses what the first is legalized to."""

    @R.function
    def main(x: R.Tensor((2, 2), "float32")) -> R.Tensor((2, 2), "int32"):
        lv: R.Tensor((2, 2), "int32") = R.eye_like(x, 0, dtype="int32")
        gv: R.Tensor((2, 2), "int32") = R.bitwise_not(lv)
        return gv


@I.ir_module
class OnDevice:
    """Its second device is concerned; the reproducer has one."""

    I.module_global_infos({"vdevice": [I.vdevice("llvm", 0), I.vdevice("llvm", 1)]})

    @R.function
    def main(x: R.Tensor((4,), "float32", "llvm:1")) -> R.Tensor((4,), "float32", "llvm:1"):
        unused = R.negative(x)  # noqa: F841
        return x


@I.ir_module
class NestedLets:
    @T.prim_func
    def main(B: T.Buffer((), "int64")):
        t = T.int64()
        u = T.int64()
        B[()] = T.Let(
            T.int64(0), where={u: T.Let(T.int64(0), where={t: T.Sub(T.int64(0), T.int64(0))})}
        )


@pytest.mark.parametrize(
    ("mod", "call", "oracle", "name"),
    [
        (UnknownShape, "FoldConstant()", "crash", "fold-constant-unknown-shape"),
        (OtherAxis, LEGALIZE, "sanitized", "slice-scatter-outside"),
        (
            AnyCall,
            "TopologicalSort(order='breadth-first', direction='from-inputs')",
            "well-formed",
            "topological-sort-match-cast",
        ),
        (OfNoAxis, LEGALIZE, "signature", "median-no-axes"),
        (Retyped, LEGALIZE, "crash", "legalize-eye-like-dtype"),
        (
            OnDevice,
            'UpdateVDevice(relax.VDevice("llvm", 2, "shared"), 1)',
            "well-formed",
            "update-vdevice-misses-types",
        ),
        (
            NestedLets,
            "s_tir.transform.CompactBufferAllocation()",
            "crash",
            "arith-let-bound-twice",
        ),
    ],
    ids=lambda each: getattr(each, "__name__", None),
)
def test_a_known_bug_shows_on_another_module(
    pool: LocalPool, expected: Expected, mod: tvm.IRModule, call: str, oracle: str, name: str
) -> None:
    assert name in names(expected, minimized(pool, reported(mod, call, oracle)))


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("rewrite-call-if-symbolic-shape", "AdjustMatmulOrder()"),
        ("fuse-by-pattern-alias-cycle", "FuseTransposeMatmul()"),
        ("canonicalize-constant-into-checkpoint", "CanonicalizeBindings()"),
    ],
)
def test_a_known_bug_shows_under_another_pass(
    pool: LocalPool, expected: Expected, name: str, call: str
) -> None:
    assert name in names(expected, minimized(pool, reported(module_of(name), call, "crash")))


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("take-nan-of-integers", "take-nan-without-axis"),
        ("resize-to-size-one", "mean-over-nothing"),
        ("decompose-unknown-rank", "decompose-training-batch-norm-last-axis"),
    ],
)
def test_another_bug_that_raises_the_same_is_none_of_them(
    pool: LocalPool, name: str, other: str
) -> None:
    call = "DecomposeOpsForTraining()" if name.startswith("decompose") else LEGALIZE
    found = minimized(pool, reported(module_of(name), call, "crash"))
    one, another = (known(SHIPPED / f"{each}.toml") for each in (name, other))
    version = versions()["tvm"]
    assert Expected([one], [], version).take(found)
    assert not Expected([another], [], version).take(found)


def test_a_report_of_many_modules_is_none_of_a_known_bug_if_they_lack_what_it_needs(
    expected: Expected,
) -> None:
    name = "attention-causal-mask"
    found = reported(module_of(name), None, "executed-by-pipeline", "default")
    assert name in names(expected, found)
    less = set(found.made_of) - {"relax.nn.attention causal_mask"}
    assert name not in names(expected, dataclasses.replace(found, made_of=tuple(less)))


# Campaigns


@pytest.fixture(scope="module")
def wrong(pool: LocalPool) -> Finding:
    """Other values: nothing but what the module is made of tells of the cause."""
    mod = module_of("renormalize-split-wrapping-product")
    return reported(mod, "s_tir.transform.RenormalizeSplitPattern()", "evaluated")


def record(folder: Path, found: Finding) -> Known:
    return known(add(folder, found, None))


def triaged(
    folder: Path, pool: LocalPool, found: Finding, *bugs: Known
) -> tuple[Triage, list[Finding], Expected]:
    """Reports what a campaign has found; what is published of it."""
    told: list[Finding] = []
    expected = Expected(bugs, [], versions()["tvm"])
    with Store(folder) as store:
        triage = Triage(store, pool, told.append, expected=expected)
        triage.report(dataclasses.replace(found, confirmed=False))
        triage.drain(60, lambda: None)
        assert (triage.steps.unchecked, triage.steps.failed) == ([], [])
        assert (triage.pending, store.pending()) == (0, [])
    return triage, told, expected


def test_a_campaign_counts_what_is_presumed_to_be_known_without_a_look_at_it(
    pool: LocalPool, wrong: Finding, tmp_path: Path
) -> None:
    one = record(tmp_path / "known", minimized(pool, wrong))
    triage, told, expected = triaged(tmp_path / "out", pool, wrong, one)
    assert (told, triage.published) == ([], [])
    assert expected.reports == {one: 1}
    with Store(tmp_path / "out", create=False) as store:
        assert list(store.findings()) == []


def test_a_campaign_counts_what_its_minimized_module_shows_to_be_known(
    pool: LocalPool, wrong: Finding, tmp_path: Path
) -> None:
    """The module as it was found is not known to have what the bug needs."""
    one = record(tmp_path / "known", minimized(pool, wrong))
    unseen = dataclasses.replace(wrong, made_of=("If",))
    assert not Expected([one], [], versions()["tvm"]).of(unseen)
    triage, told, expected = triaged(tmp_path / "out", pool, unseen, one)
    assert (told, triage.published) == ([], [])
    assert expected.reports == {one: 1}
    with Store(tmp_path / "out", create=False) as store:
        (kept,) = store.findings()
        assert kept.reduced
        assert store.rows.all() == [], "it is no row of its own"
