"""Kernels that passes make, called with sizes that the device at hand cannot launch."""

from __future__ import annotations

from typing import Any

import pytest
import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from relaxfuzz.oracles.catalogue.launches import launchable, over_limits_after
from relaxfuzz.oracles.check import check
from relaxfuzz.oracles.contract import no_post
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.violation import Case, Violation

TITLE = "a kernel takes more blocks along y than its target has"
CUDA = {"kind": "cuda", "arch": "sm_80"}


def summed(rows: Any) -> tvm.IRModule:
    """The cumulative sums of so many rows."""
    x = relax.Var("x", relax.TensorType([rows, 4], "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(relax.op.cumsum(x, axis=1)))
    return builder.get()


def reports(mod: tvm.IRModule, target: str) -> list[Violation]:
    call = PassCall("relax.backend.DispatchSortScan()", {"target": target})
    assert "gpu_2d_continuous_cumsum" in call.run(mod).script()
    return check(Case(mod, (call,)), oracles=["postcondition"])


def test_a_kernel_of_symbolic_sizes_is_launched_with_those_of_its_call() -> None:
    (found,) = reports(summed(70000), "cuda")
    assert found.title == TITLE
    assert found.key == (TITLE,)
    assert "gpu_2d_continuous_cumsum: 70000 blocks along y, and cuda launches 65535" in found.detail


@I.ir_module
class OnDevice:
    I.module_global_infos({"vdevice": [I.vdevice({"kind": "cuda", "arch": "sm_80"})]})

    @T.prim_func(private=True, s_tir=True)
    def copy(a: T.handle, b: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n,), "float32")
        B = T.match_buffer(b, (n,), "float32")
        for by in T.thread_binding(n, thread="blockIdx.y"):
            B[by] = A[by]

    @R.function
    def most(x: R.Tensor((65535,), "float32", "cuda:0")) -> R.Tensor((65535,), "float32"):
        return R.call_tir(OnDevice.copy, (x,), out_ty=R.Tensor((65535,), "float32"))

    @R.function
    def main(x: R.Tensor((70000,), "float32", "cuda:0")) -> R.Tensor((70000,), "float32"):
        return R.call_tir(OnDevice.copy, (x,), out_ty=R.Tensor((70000,), "float32"))


def test_a_virtual_device_has_its_own_limits() -> None:
    assert (over_limits_after(tvm.IRModule(), OnDevice) or "").startswith(TITLE)
    others = {gvar: func for gvar, func in OnDevice.functions.items() if gvar.name_hint != "main"}
    few = tvm.IRModule(others, global_infos=OnDevice.global_infos)
    assert over_limits_after(tvm.IRModule(), few) is None


@pytest.mark.parametrize(
    ("rows", "target"),
    [(65535, "cuda"), (70000, "vulkan"), (tvm.tirx.Var("n", "int64"), "cuda")],
)
def test_launches_within_limits_and_of_unknown_size_are_right(rows: Any, target: str) -> None:
    assert reports(summed(rows), target) == []


@I.ir_module
class Careful:
    @T.prim_func(private=True, s_tir=True)
    def zeros(a: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n,), "float32")
        if n <= T.int64(65535):
            for by in T.thread_binding(n, thread="blockIdx.y"):
                A[by] = T.float32(0)

    @R.function
    def main() -> R.Tensor((70000,), "float32"):
        return R.call_tir(Careful.zeros, R.tuple(), out_ty=R.Tensor((70000,), "float32"))


def test_a_kernel_may_ask_for_its_size_first() -> None:
    cuda = tvm.target.Target(CUDA, host="llvm")
    assert over_limits_after(tvm.IRModule(), Careful, cuda) is None
    func = Careful["zeros"]
    always = tvm.IRModule(
        {**Careful.functions, Careful.get_global_var("zeros"): func.with_body(func.body.then_case)}
    )
    assert (over_limits_after(tvm.IRModule(), always, cuda) or "").startswith(TITLE)


def test_a_pass_is_not_blamed_for_the_kernels_it_was_given() -> None:
    call = PassCall("relax.backend.DispatchSortScan()", {"target": "cuda"})
    given = call.run(summed(70000))
    assert launchable(no_post)(given, given, call) is None
