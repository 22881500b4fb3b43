"""Execution on a device: wrong code is found; what is right, or another's fault, is left alone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tvm
from tvm.script import ir as I
from tvm.script import tirx as T

from relaxfuzz.generators.source import to_source
from relaxfuzz.oracles.check import check
from relaxfuzz.oracles.execute.device import CPU, KINDS, C, missing
from relaxfuzz.oracles.expected.expectation import Expectation
from relaxfuzz.oracles.identify import identity_of
from relaxfuzz.oracles.identity import FailureKind
from relaxfuzz.oracles.on_device import oracle as on_device
from relaxfuzz.oracles.on_device.explained import explained
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.silence.log import answers
from relaxfuzz.oracles.tiers import ORACLES, USUAL
from relaxfuzz.oracles.violation import Case, Violation
from tests.oracles.device_faults import Scheduled, Synchronized, forgets_a_barrier

from ..snippets import load_faults

FILE = Path(__file__).with_name("code_faults.py")
ON_CPU = on_device.name_of(CPU)

faults = load_faults(FILE)


def case(factory: str, mod: tvm.IRModule) -> Case:
    return Case(mod, (PassCall(f"{factory}()", factory=f"{FILE}:{factory}"),))


def found(case: Case, oracle: str = ON_CPU) -> tuple[list[Violation], str | None]:
    """The violations, and why there is nothing to compare."""
    with answers() as given:
        violations = check(case, oracles=[oracle])
    return violations, given[oracle].silent


def test_wrong_code_is_found_and_code_generation_blamed() -> None:
    with faults.faulty_code_generation("llvm"):
        (violation,), _ = found(case("marks", faults.Sums))
    assert violation.full_key == (ON_CPU, "tirx.build for llvm", "values", "float32")
    title = "code for llvm computes other values of float32 than its PrimFunc means"
    assert violation.title == title


def statements(case: Case, text: str) -> None:
    """Execute a short check as a reproducer does."""
    names = {"mod": case.mod, "the_pass": case.calls[0].build(), "tvm": tvm, "np": np}
    exec(compile(text, "<check>", "exec", dont_inherit=True), names)


def test_its_checks_fail_with_wrong_code_alone() -> None:
    wrong = case("marks", faults.Sums)
    with faults.faulty_code_generation("llvm"):
        (violation,), _ = found(wrong)
        (brief,) = ORACLES[ON_CPU].checks(wrong, violation, brief=True)
        with pytest.raises(AssertionError, match="Not equal to tolerance"):
            statements(wrong, brief)
    statements(wrong, brief)


def test_right_code_is_left_alone() -> None:
    right = case("marks", faults.Sums)
    assert found(right) == ([], None)


def test_a_pass_that_changes_values_is_not_this_oracles_to_report() -> None:
    wrong = case("subtracts", faults.Sums)
    assert found(wrong)[0] == []
    assert [v.oracle for v in check(wrong, oracles=["evaluated", ON_CPU])] == ["evaluated"]


def test_what_does_not_build_is_found_and_reproduced_by_a_file(tmp_path: Path) -> None:
    wrong = case("marks", faults.Remainders)
    (violation,), _ = found(wrong)
    *key, message = violation.full_key
    assert key == [ON_CPU, "tirx.build for llvm", "code for llvm fails to build", "InternalError"]
    assert message.startswith("unknown intrinsic ")
    identity = identity_of(violation)
    assert (identity.failure, identity.blamed) == (FailureKind.RAISES, ("relax.build",)), (
        "the same code"
    )
    assert identity.site[-1] == "codegen::CodeGenLLVM::CreateIntrinsic"
    (brief,) = ORACLES[ON_CPU].checks(wrong, violation, brief=True)
    file = tmp_path / "reproducer.py"
    passes = "the_pass = lambda mod: mod\n"
    file.write_text(f"import numpy as np\n{to_source(wrong.mod)}\n{passes}{brief}\n")
    done = subprocess.run([sys.executable, str(file)], capture_output=True, text=True)
    assert done.returncode == 1
    assert "InternalError: unknown intrinsic" in done.stderr


def test_a_pass_of_the_build_is_to_blame_itself() -> None:
    assert found(case("marks", faults.Steps)) == ([], None)


def test_code_for_another_device_is_not_taken() -> None:
    violations, silent = found(case("marks", faults.Scheduled))
    assert violations == []
    assert silent == "no PrimFunc of the result that is code for llvm and that can be evaluated"
    bound = tvm.tirx.transform.BindTarget(tvm.target.Target("opencl", host="llvm"))(Scheduled)
    assert on_device.takes("opencl", bound, "main")
    assert not on_device.takes("cuda", bound, "main")
    assert on_device.takes("cuda", Scheduled, "main")
    assert on_device.takes("cuda", Synchronized, "main"), "threads are attributes once lowered"


def test_what_is_split_from_the_host_is_not_taken() -> None:
    bound = tvm.tirx.transform.BindTarget(tvm.target.Target("opencl", host="llvm"))(Synchronized)
    split = tvm.tirx.transform.SplitHostDevice()(tvm.tirx.transform.AnnotateEntryFunc()(bound))
    assert len(split.functions) == 2
    assert not on_device.takes("opencl", split, "main")


@I.ir_module
class WithoutBarrier:
    """Each thread reads what another one writes."""

    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
        T.func_attr({"tirx.is_scheduled": True})
        thread = T.launch_thread("threadIdx.x", 64)
        S = T.alloc_buffer((64,), "float32", scope="shared")
        S[thread] = A[thread]
        T.evaluate(T.tvm_storage_sync("shared"))
        B[thread] = S[63 - thread]
        B[thread] = B[63 - thread]


@pytest.mark.parametrize(
    ("mod", "is_explained"),
    [
        (Scheduled, False),
        (Synchronized, False),
        (forgets_a_barrier()(Synchronized), True),
        (WithoutBarrier, True),
    ],
)
def test_what_a_kernel_leaves_to_chance_is_no_matter_of_its_code(
    mod: tvm.IRModule, is_explained: bool
) -> None:
    """No GPU is needed for that: of a difference, only its explanation is looked for."""
    args: list[Any] = [np.arange(64, dtype="float32"), np.zeros(64, "float32")]
    args = [arg[: int(mod["main"].params[0].ty.shape[0])] for arg in args]
    e = Expectation(mod, "main", args, None)
    e.result = e.evaluate()
    assert explained("cuda", e, mod) == is_explained


@pytest.mark.parametrize(
    ("text", "refuses"),
    [
        ("Memory verification failed with the following errors:\n", True),
        ("Cannot convert type float8_e8m0fnu to CUDA type", True),
        ("Unresolved call Op(tirx.ptx_mma)", True),
        ("CodeGenWebGPU: only support f16 or f32", True),
        ("Check failed: (t.bits() != 64) is false: CodeGenWebGPU: do not support i64", True),
        ("CodeGenWebGPU: only allows vector with lanes in {2, 3, 4}", True),
        ("blockIdx.z is not supported in WebGPU to accomodate large blockIdx.x", True),
        ("Load from non-flat memory not supported.", False),
        ("Unknown storage scope `shared.dyn`", True),
        ("Unknown storage scope `warp`", False),
        ("ptxas error : Entry function 'main_kernel' uses too much shared data (0x10004)", True),
        ("CUDALaunch Error: CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", True),
        ("CUDALaunch Error: CUDA_ERROR_ILLEGAL_ADDRESS", False),
        ('main.cu(3): error: identifier "hfmod" is undefined', False),
        ("unknown intrinsic ir.Op", False),
    ],
)
def test_refusals_name_what_the_device_does_not_have(text: str, refuses: bool) -> None:
    assert bool(on_device.REFUSALS.search(text)) == refuses


def test_nobody_is_asked_unless_by_name() -> None:
    names = {on_device.name_of(kind) for kind in KINDS}
    assert names.isdisjoint(USUAL)
    assert names | set(USUAL) == set(ORACLES)


# C source


@I.ir_module
class Averages:
    """In C, sums of bytes are not rounded off to bytes before they are divided."""

    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((4,), "uint8"), B: T.Buffer((4,), "uint8"), C: T.Buffer((4,), "uint8")):
        for i in range(4):
            C[i] = T.truncdiv(A[i] + B[i], T.uint8(2))


@I.ir_module
class Infinities:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((4,), "float32")):
        for i in range(4):
            A[i] = T.float32("inf")


@I.ir_module
class Halves:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((4,), "float16")):
        for i in range(4):
            A[i] = A[i] + T.float16(1)


@I.ir_module
class Magnitudes:
    """C has a function for them."""

    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((4,), "float32")):
        for i in range(4):
            A[i] = T.fabs(A[i])


def in_c(mod: tvm.IRModule) -> tuple[list[Violation], str | None]:
    return found(case("marks", mod), on_device.name_of(C))


def test_right_c_source_is_left_alone() -> None:
    assert in_c(faults.Sums) == ([], None)


def test_wrong_c_source_is_found_and_shown() -> None:
    wrong = case("marks", Averages)
    (violation,), _ = found(wrong, on_device.name_of(C))
    assert violation.full_key == ("executed-on-c", "tirx.build for c", "values", "uint8")
    (brief,) = ORACLES["executed-on-c"].checks(wrong, violation, brief=True)
    with pytest.raises(AssertionError, match="Not equal to tolerance"):
        statements(wrong, brief)


def test_c_source_that_the_compiler_rejects_is_told_by_its_reason() -> None:
    (infinity,), _ = in_c(Infinities)
    (half,), _ = in_c(Halves)
    assert "inff" in infinity.title
    assert "half" in half.title
    assert identity_of(infinity) != identity_of(half)


def test_c_source_lacks_no_operator() -> None:
    (violation,), _ = in_c(Magnitudes)
    assert "Unresolved call" in violation.title


# On a GPU, where there is one


@pytest.fixture
def kind() -> str:
    if missing("cuda") is not None:
        pytest.skip("no CUDA device")
    return "cuda"


def test_without_a_device_there_is_nothing_to_compare() -> None:
    if (reason := missing("cuda")) is None:
        pytest.skip("there is a CUDA device")
    assert reason.startswith("no CUDA device: ")
    assert found(case("marks", faults.Scheduled), on_device.name_of("cuda")) == ([], reason)


@pytest.mark.parametrize("mod", [faults.Scheduled, Scheduled, Synchronized])
def test_right_code_for_a_gpu_is_left_alone(kind: str, mod: tvm.IRModule) -> None:
    right = case("marks", mod)
    assert found(right, on_device.name_of(kind)) == ([], None)


def test_wrong_code_for_a_gpu_is_found(kind: str) -> None:
    with faults.faulty_code_generation(kind):
        (violation,), _ = found(case("marks", faults.Scheduled), on_device.name_of(kind))
    assert violation.full_key == (
        *("executed-on-cuda", "tirx.build for cuda"),
        *("values", "float32"),
    )
