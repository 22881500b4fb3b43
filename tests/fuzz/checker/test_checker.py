"""The checker in real builds: each fault is named, and nothing else is."""

from __future__ import annotations

import io
import os
import tarfile
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import tvm
from tvm import relax, tirx
from tvm.ir.instrument import pass_instrument

from relaxfuzz import Checker, PassViolation
from relaxfuzz.compat import ir
from relaxfuzz.compat.serialization import load_json
from relaxfuzz.corpus.models import MODELS
from relaxfuzz.fuzz.findings.store import Store
from relaxfuzz.oracles.contract import PassContract, Relation

from . import build_faults
from .build_faults import model, pipeline

ROOT = Path(__file__).parents[3]
ARCHIVE = Path(
    os.environ.get("RELAXFUZZ_UPSTREAM_MODULES")
    or ROOT.parent / "shared" / "upstream_modules.tar.xz"
)
SLICE = 60  # every so many modules of the archive


def build(checker: Checker, *passes: tvm.transform.Pass, mod: tvm.IRModule | None = None) -> None:
    with tvm.transform.PassContext(instruments=[checker]):
        relax.build(mod or model(), "llvm", relax_pipeline=pipeline(*passes))


@pytest.mark.parametrize(
    ("name", "oracle", "semantics"),
    [
        ("LosesBinding", "well-formed", False),
        ("CountsInPlace", "mutation", False),
        ("SubtractsForAdds", "evaluated", True),
    ],
)
def test_a_fault_in_a_build_is_named(
    name: str, oracle: str, semantics: bool, tmp_path: Path
) -> None:
    checker = Checker(semantics=semantics, out=tmp_path / "out")
    with pytest.raises(PassViolation, match=rf"^{name} \(in my_pipeline > sequential") as caught:
        build(checker, getattr(build_faults, name)())
    (finding,) = checker.findings
    assert (finding.pass_name, finding.oracle) == (name, oracle)
    assert caught.value.violation == finding.violation
    assert finding.confirmed, "no file was seen to fail"
    with Store(tmp_path / "out") as store:
        file = store.reproducer(finding)
    assert file is not None
    assert str(file) in str(caught.value)
    assert caught.value.reproducer == file.read_text()
    # What lies between the build's call and us is TVM's.
    assert len(caught.traceback) <= 4


@pytest.mark.parametrize(
    ("made", "name", "alone"),
    [
        (build_faults.RenamesByClass, "RenamesByClass", False),
        (lambda: build_faults.renames_by_object, "renames_by_object", True),
        (build_faults.renames_by_function, "renames_by_function", False),
    ],
)
def test_a_pass_that_has_another_name_than_its_variable_is_found(
    made: Callable[[], tvm.transform.Pass], name: str, alone: bool, tmp_path: Path
) -> None:
    """By itself it is the object itself that is seen, in a Sequential another one for the same."""
    checker = Checker(collect=True, out=tmp_path / "out")
    if alone:
        with tvm.transform.PassContext(instruments=[checker]):
            made()(model())
    else:
        build(checker, made())
    (finding,) = checker.findings
    assert finding.calls[0].factory == f"{build_faults.__name__}:{name}"
    assert finding.confirmed, "no file was seen to fail"
    with Store(tmp_path / "out") as store:
        assert [each.id for each in store.findings()] == [finding.id]


def test_a_smaller_module_comes_into_the_store(tmp_path: Path) -> None:
    out = tmp_path / "out"
    lengths = []
    for adds in (9, 1):
        build(Checker(collect=True, out=out), build_faults.AddsParameter(), mod=model(adds=adds))
        with Store(out) as store:
            (kept,) = store.findings()
        lengths.append(len(kept.module))
    assert lengths[1] < lengths[0]


def test_a_clean_build_is_silent(tmp_path: Path) -> None:
    checker = Checker(semantics=True, collect=True, out=tmp_path / "out")
    for text in ("default", relax.get_default_pipeline(tvm.target.Target("llvm"))):
        with tvm.transform.PassContext(instruments=[checker]):
            relax.build(model(), "llvm", relax_pipeline=text)
    assert not checker.findings
    assert checker.checked["LegalizeOps"] == 2
    assert checker.checked["VMShapeLower"] == 2
    assert checker.checked["tirx.MakePackedAPI"] == 2
    # Parts of passes that nobody runs by themselves.
    assert checker.checked["FuseTIR"] == checker.exempt["FuseTIRInner"] == 1


@pytest.mark.session
def test_real_modules_are_silent(tmp_path: Path) -> None:
    if not ARCHIVE.exists():
        pytest.skip(f"no archive of real modules at {ARCHIVE}")
    built = 0
    with tarfile.open(fileobj=io.BytesIO(ARCHIVE.read_bytes()), mode="r:xz") as archive:
        names = sorted(name for name in archive.getnames() if name.endswith(".json"))
        for name in names[::SLICE]:
            file = archive.extractfile(name)
            assert file is not None
            if name.endswith("index.json"):
                continue
            try:
                mod = load_json(file.read().decode())
            except AttributeError:
                continue  # uses an op that only a test of TVM defines
            checker = Checker(collect=True, out=tmp_path / "out")
            try:
                with tvm.transform.PassContext(instruments=[checker]):
                    relax.build(mod, "llvm")
            except Exception:
                continue
            built += 1
            reported = [(f.pass_name, f.title) for f in checker.findings]
            assert not reported, name
    assert built > 5


def lowered(checker: Checker, *passes: tvm.transform.Pass, name: str = "") -> None:
    """Build a model for a CPU with these passes over its PrimFuncs."""
    mod = MODELS[name]() if name else model()
    mod = relax.get_pipeline("default")(mod)
    kernels = {g: f for g, f in mod.functions_items() if isinstance(f, tirx.PrimFunc)}
    with (
        build_faults.lowering(*passes) as pipeline_name,
        tvm.transform.PassContext(instruments=[checker]),
    ):
        tirx.build(tvm.IRModule(kernels), "llvm", pipeline=pipeline_name)


def test_a_pass_over_kernels_that_computes_something_else_is_found(tmp_path: Path) -> None:
    checker = Checker(semantics=True, collect=True, out=tmp_path / "out")
    with (
        build_faults.lowering(build_faults.SubtractsInKernels()) as name,
        tvm.transform.PassContext(instruments=[checker]),
    ):
        relax.build(model(), "llvm", tir_pipeline=name)
    (finding,) = checker.findings
    assert (finding.pass_name, finding.oracle) == ("SubtractsInKernels", "evaluated")
    assert finding.confirmed, "no file was seen to fail"
    assert checker.checked["SubtractsInKernels"] == 1


@pytest.mark.session
def test_lowering_of_real_kernels_is_judged_and_silent(tmp_path: Path) -> None:
    name = "gru"
    checker = Checker(semantics=True, collect=True, out=tmp_path / "out")
    lowered(checker, name=name)
    assert not checker.findings
    # It is judged by values, of some kernels at least.
    lowered_wrong = Checker(semantics=True, collect=True, out=tmp_path / "out")
    lowered(lowered_wrong, build_faults.SubtractsInKernels(), name=name)
    assert {f.pass_name for f in lowered_wrong.findings} == {"SubtractsInKernels"}


def test_a_pass_of_tvm_over_kernels_keeps_values(tmp_path: Path) -> None:
    @tvm.transform.module_pass(opt_level=0, name="s_tir.LowerOpaqueBlock")
    def wrong(mod: tvm.IRModule, context: tvm.transform.PassContext) -> tvm.IRModule:
        subtracts = build_faults.SubtractsInKernels().transform_function
        functions = {g: subtracts(f, mod, context) for g, f in mod.functions_items()}
        return build_faults.copied(mod, functions)

    checker = Checker(semantics=True, collect=True, out=tmp_path / "out")
    lowered(checker, wrong)
    assert [(f.pass_name, f.oracle) for f in checker.findings] == [
        ("LowerOpaqueBlock", "evaluated")
    ]


def test_a_pass_runs_once(tmp_path: Path) -> None:
    runs = []

    @tvm.transform.module_pass(opt_level=0)
    def counts(mod: tvm.IRModule, context: tvm.transform.PassContext) -> tvm.IRModule:
        runs.append(mod)
        return build_faults.CountsInPlace().transform_module(mod, context)

    kept = tvm.transform.Sequential([build_faults.KeepsKernels(), counts])
    checker = Checker(collect=True, out=tmp_path / "out")
    with tvm.transform.PassContext(instruments=[checker]):
        kept(model())
    assert [(f.pass_name, f.oracle) for f in checker.findings] == [("counts", "mutation")]
    assert len(runs) == 1


def test_all_is_collected_where_asked(tmp_path: Path) -> None:
    checker = Checker(collect=True, out=tmp_path / "out")
    twice = [build_faults.AddsParameter(), build_faults.AddsParameter(), build_faults.RenamesMain()]
    build(checker, *twice)
    assert [f.pass_name for f in checker.findings] == ["AddsParameter", "RenamesMain"]


def test_the_result_of_a_broken_pass_is_no_fault_of_the_next(tmp_path: Path) -> None:
    checker = Checker(collect=True, out=tmp_path / "out")
    with pytest.raises(tvm.error.InternalError):
        build(checker, build_faults.LosesBinding())
    assert [f.pass_name for f in checker.findings] == ["LosesBinding"]


def test_what_is_known_of_tvm_does_not_stop_a_build(tmp_path: Path) -> None:
    mod = tvm.IRModule({"main": tirx.PrimFunc([], ir.Evaluate(0))})
    annotate = tvm.tirx.transform.AnnotateEntryFunc()
    checker = Checker(out=tmp_path / "out")
    with tvm.transform.PassContext(instruments=[checker]):
        annotate(mod)
    assert [f.pass_name for f in checker.known] == ["AnnotateEntryFunc"]
    assert not checker.findings
    mod = tvm.IRModule({"main": tirx.PrimFunc([], ir.Evaluate(0))})
    strict = Checker(stop_at_known=True, out=tmp_path / "out")
    with (
        pytest.raises(PassViolation, match="AnnotateEntryFunc"),
        tvm.transform.PassContext(instruments=[strict]),
    ):
        annotate(mod)


def test_an_exception_goes_on_with_a_note(tmp_path: Path) -> None:
    checker = Checker(out=tmp_path / "out")
    with pytest.raises(KeyError, match="no such thing") as caught:
        build(checker, build_faults.Raises())
    (finding,) = checker.findings
    assert (finding.pass_name, finding.oracle) == ("Raises", "crash")
    first, second = caught.value.__notes__
    assert first == "relaxfuzz: raised in Raises"
    assert "Raises-crash-" in second


def test_a_pipeline_promises_what_all_of_its_passes_do(tmp_path: Path) -> None:
    weights = model()
    gvar, func = build_faults.main_of(weights)
    weights[gvar] = func.with_attr("num_input", 1)

    @tvm.transform.module_pass(opt_level=0)
    def bundles(mod: tvm.IRModule, context: tvm.transform.PassContext) -> tvm.IRModule:
        return relax.transform.BundleModelParams()(mod).with_attr("bundled", 1)

    checker = Checker(out=tmp_path / "out")
    with tvm.transform.PassContext(instruments=[checker]):
        bundles(weights)
    assert checker.checked == {"BundleModelParams": 1, "bundles": 1}


def test_a_contract_exempts_a_pass_of_ones_own(tmp_path: Path) -> None:
    own = PassContract(
        name="AddsParameter",
        variants=lambda choices, mod: None,
        relation=Relation.NEW_SIGNATURE,
    )
    checker = Checker(contracts={"AddsParameter": own}, out=tmp_path / "out")
    build(checker, build_faults.AddsParameter())
    assert not checker.findings


def test_who_changes_the_input_between_the_passes_inside_is_named(tmp_path: Path) -> None:
    @tvm.transform.module_pass(opt_level=0)
    def meddles(mod: tvm.IRModule, context: tvm.transform.PassContext) -> tvm.IRModule:
        gvar, func = build_faults.main_of(mod)
        mod[gvar] = func.with_attr("seen", 1)
        return relax.transform.ToNonDataflow()(mod)

    checker = Checker(out=tmp_path / "out")
    with (
        pytest.raises(PassViolation, match=r"^meddles"),
        tvm.transform.PassContext(instruments=[checker]),
    ):
        tvm.transform.Sequential([relax.transform.CanonicalizeBindings(), meddles])(model())
    (finding,) = checker.findings
    with Store(tmp_path / "out") as store:
        (stored,) = store.findings()
        gap = store.reproducer(stored)
    assert stored.id == finding.id
    assert gap is not None
    assert "put your pass 'meddles' here" in gap.read_text()
    # The module is the one before the change.
    assert "seen" not in finding.module


def test_other_instruments_and_threads_go_on_as_before(tmp_path: Path) -> None:
    seen = []

    @pass_instrument
    class Lists:
        def run_after_pass(self, mod: tvm.IRModule, info: tvm.transform.PassInfo) -> None:
            seen.append(str(info.name))

    checker = Checker(collect=True, out=tmp_path / "out")

    def work(mod: tvm.IRModule) -> None:
        with tvm.transform.PassContext(instruments=[checker, Lists()]):
            relax.transform.ToNonDataflow()(mod)
            with tvm.transform.PassContext():
                build_faults.AddsParameter()(mod)

    # TVM's builder of modules, and LegalizeOps, are not for several threads.
    threads = [threading.Thread(target=work, args=(model(),)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen.count("ToNonDataflow") == 2
    assert checker.checked["ToNonDataflow"] == 2
    assert not checker.findings, "a context inside has instruments of its own"


def test_large_constants_are_neither_read_nor_copied(tmp_path: Path) -> None:
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((1, 1 << 12), "float32"))
    with builder.function("main", [x]):
        weights = relax.const(np.zeros((1 << 12, 1 << 11), "float32"))
        builder.emit_func_output(builder.emit(relax.op.matmul(x, weights)))
    checker = Checker(collect=True, out=tmp_path / "out")
    with tvm.transform.PassContext(instruments=[checker]):
        build_faults.AddsParameter()(builder.finalize())
    (finding,) = checker.findings
    assert finding.module == ""
    assert not (tmp_path / "out").exists()


def test_a_fault_of_ours_is_reported_and_stops_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    from relaxfuzz.fuzz.checker import judge

    def fails(*args: object, **options: object) -> None:
        raise ZeroDivisionError("ours")

    monkeypatch.setattr(judge, "judge", fails)
    mod = model()
    with (
        pytest.warns(RuntimeWarning, match="(?s)relaxfuzz failed after ToNonDataflow.*ours"),
        tvm.transform.PassContext(instruments=[Checker()]),
    ):
        relax.transform.ToNonDataflow()(mod)
