"""What few PrimFuncs have is evaluated and checked as well."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
import tvm
from tvm.script import ir as I
from tvm.script import tirx as T

from relaxfuzz import evaluate
from relaxfuzz.generators.prim_funcs.kernels import TARGETS
from relaxfuzz.generators.stages import Stage, advance
from relaxfuzz.oracles.catalogue import contract_of
from relaxfuzz.oracles.check import check
from relaxfuzz.oracles.errors import Unsupported
from relaxfuzz.oracles.metamorphic.oracles import rebuilt
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.silence.log import answers
from relaxfuzz.oracles.tensorir import sanitize
from relaxfuzz.oracles.tensorir.sanitizer.runtime import RACE
from relaxfuzz.oracles.violation import Case

VALUES = ("evaluated", "sanitized")


@I.ir_module
class Calls:
    @T.prim_func(private=True)
    def helper(data: T.handle("float32"), number: T.int32):
        one = T.decl_buffer((1,), "float32", data=data)
        one[0] = one[0] + T.Cast("float32", number)

    @T.prim_func
    def main(A: T.Buffer((3, 2), "float32")):
        for i in range(3):
            Calls.helper(T.address_of(A[i, 1]), i)


def test_a_private_function_works_on_the_element_that_it_is_given() -> None:
    (made,) = evaluate(Calls, "main", [np.ones((3, 2), "float32")])
    np.testing.assert_array_equal(made, [[1, 1], [1, 2], [1, 3]])


def test_inlining_keeps_the_values() -> None:
    inlines = PassCall("tirx.transform.InlinePrivateFunctions()")
    assert len(inlines.run(Calls).functions) == 1
    assert check(Case(Calls, (inlines,)), oracles=VALUES) == []


def test_an_undefined_element_has_no_value_of_its_own() -> None:
    @I.ir_module
    class Module:
        @T.prim_func
        def main(A: T.Buffer((2,), "float32")):
            A[0] = T.call_intrin("float32", "tirx.undef")
            A[1] = T.float32(3)

    (made,) = evaluate(Module, "main", [np.ones(2, "float32")])
    assert made[1] == 3


@I.ir_module
class Warp:
    @T.prim_func
    def main(A: T.Buffer((32,), "int32"), B: T.Buffer((32,), "int32")):
        T.func_attr({"tirx.is_scheduled": True, "tirx.noalias": True})
        for ty in T.thread_binding(2, thread="threadIdx.y"):
            for tx in T.thread_binding(16, thread="threadIdx.x"):
                W = T.alloc_buffer((16,), "int32", scope="warp")
                W[tx] = A[ty * 16 + tx]
                B[ty * 16 + tx] = W[15 - tx]


def on_cuda(mod: tvm.IRModule, stage: Stage) -> tvm.IRModule:
    target = tvm.target.Target(TARGETS["cuda"], host="llvm")
    return advance(tvm.tirx.transform.BindTarget(target)(mod), stage)


def test_the_threads_of_a_row_have_memory_of_a_warp_in_common() -> None:
    given = np.arange(32, dtype="int32")
    _, made = evaluate(Warp, "main", [given, np.zeros(32, "int32")])
    np.testing.assert_array_equal(made, given.reshape(2, 16)[:, ::-1].ravel())


def test_memory_of_a_warp_needs_a_barrier_and_becomes_shuffles() -> None:
    arrays = [np.arange(32, dtype="int32"), np.zeros(32, "int32")]
    before = on_cuda(Warp, Stage.DEVICE_ENTRY)["main"]
    fault = sanitize(before, arrays, synchronised=True)
    assert fault is not None
    assert fault.kind == RACE
    assert sanitize(on_cuda(Warp, Stage.SYNCHRONIZED)["main"], arrays) is None
    lowers = PassCall("tirx.transform.LowerWarpMemory()")
    split = on_cuda(Warp, Stage.DEVICE_SPLIT)
    assert "shuffle" in str(lowers.run(split))
    assert check(Case(split, (lowers,)), oracles=VALUES) == []


def test_a_pipeline_keeps_the_values() -> None:
    @I.ir_module
    class Module:
        @T.prim_func(s_tir=True)
        def main(A: T.Buffer((5,), "float32"), B: T.Buffer((5,), "float32")):
            row = T.sblock_alloc_buffer((5,), "float32")
            for i in T.serial(
                5,
                annotations={
                    "software_pipeline_stage": [0, 1],
                    "software_pipeline_order": [0, 1],
                    "software_pipeline_async_stages": [0],
                },
            ):
                with T.sblock("copy"):
                    vi = T.axis.spatial(5, i)
                    row[vi] = A[vi] * T.float32(2)
                with T.sblock("compute"):
                    vi = T.axis.spatial(5, i)
                    B[vi] = row[vi] + T.float32(1)

    mod = advance(Module, Stage.MATCHES_LOWERED)
    injects = PassCall("s_tir.transform.InjectSoftwarePipeline()")
    assert "async_commit_queue_scope" in str(injects.run(mod))
    assert contract_of(injects).exemption("values", mod, injects) is None
    assert check(Case(mod, (injects,)), oracles=VALUES) == []


@I.ir_module
class Recurrence:
    """The first step reads what the second one has written an iteration before."""

    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((5,), "int32"), B: T.Buffer((5,), "int32")):
        row = T.sblock_alloc_buffer((5,), "int32")
        for i in T.serial(
            5, annotations={"software_pipeline_stage": [0, 1], "software_pipeline_order": [0, 1]}
        ):
            with T.sblock("read"):
                vi = T.axis.spatial(5, i)
                row[vi] = B[T.max(vi - 1, 0)] + A[vi]
            with T.sblock("write"):
                vi = T.axis.spatial(5, i)
                B[vi] = row[vi] + 1


@I.ir_module
class Prefetched:
    """What fills the buffer reads what has been written an iteration before."""

    @T.prim_func
    def main(A: T.Buffer((5,), "int32"), B: T.Buffer((5,), "int32")):
        row = T.alloc_buffer((1,), "int32")
        for i in range(5):
            with T.attr(row.data, "double_buffer_scope", 1):
                row[0] = B[T.max(i - 1, 0)] + A[i]
            B[i] = row[0] + 1


@pytest.mark.parametrize(
    ("mod", "expr"),
    [
        (advance(Recurrence, Stage.MATCHES_LOWERED), "s_tir.transform.InjectSoftwarePipeline()"),
        (Prefetched, "s_tir.transform.InjectDoubleBuffer()"),
    ],
)
def test_iterations_that_overlap_must_not_depend_on_each_other(
    mod: tvm.IRModule, expr: str
) -> None:
    call = PassCall(expr)
    args = [np.arange(5, dtype="int32"), np.zeros(5, "int32")]
    before, after = (evaluate(each, "main", args)[1] for each in (mod, call.run(mod)))
    assert (before != after).any()
    assert check(Case(mod, (call,)), oracles=VALUES) == []


@pytest.mark.parametrize("stage", [Stage.SPLIT, Stage.PACKED])
def test_what_constructors_flatten_is_not_built_again(stage: Stage) -> None:
    """MakePackedAPI leaves sequences in sequences."""

    @I.ir_module
    class Module:
        @T.prim_func
        def main(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
            for i in range(4):
                B[i] = A[i]
            for i in range(4):
                B[i] = B[i] + A[i]

    twin = rebuilt(advance(Module, stage))
    assert (twin is None) == (stage is Stage.PACKED)


@I.ir_module
class OnTheHost:
    """An exponential, memory of its own and bfloat16, on the way to the packed API."""

    @T.prim_func
    def main(A: T.Buffer((300,), "float32"), B: T.Buffer((300,), "bfloat16"), n: T.int32):
        C = T.alloc_buffer((300,), "float32")
        for i in range(300):
            C[i] = T.exp(A[299 - i]) + T.Cast("float32", n)
        for i in range(300):
            B[i] = T.Cast("bfloat16", T.floor(C[i]))


def test_intrinsics_of_llvm_are_evaluated() -> None:
    """LowerIntrin is checked before the packed API."""
    mod = advance(OnTheHost, Stage.SPLIT)
    lowered = PassCall("tirx.transform.LowerIntrin()").run(mod)
    assert "llvm.floor" in lowered.script()
    args = [np.arange(300, dtype="float32") / 100, np.zeros(300, ml_dtypes.bfloat16), 3]
    before, after = (evaluate(each, "main", args)[1] for each in (mod, lowered))
    np.testing.assert_array_equal(before, after)


@pytest.mark.parametrize(
    "name", ["MakePackedAPI", "LowerIntrin", "LowerTVMBuiltin", "BF16StorageLegalize"]
)
def test_behind_the_packed_api_nothing_is_evaluated(name: str) -> None:
    mod = advance(OnTheHost, Stage.SPLIT if name == "MakePackedAPI" else Stage.PACKED)
    call = PassCall(f"tirx.transform.{name}()")
    with answers() as given:
        assert check(Case(mod, (call,)), oracles=VALUES) == []
    assert given["evaluated"].silences
    with pytest.raises(Unsupported):
        sanitize(call.run(mod)["main"], [None] * 4)
