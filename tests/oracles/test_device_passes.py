"""The oracles on kernels of devices, and what DLight promises."""

from __future__ import annotations

import random

import numpy as np
import pytest
import tvm
from tvm import te, tirx
from tvm.script import ir as I
from tvm.script import tirx as T

from relaxfuzz import evaluate, sanitize
from relaxfuzz.fuzz.jobs.draw import example
from relaxfuzz.generators.choices import Choices
from relaxfuzz.generators.prim_funcs.kernels import KINDS, TARGETS, kernels
from relaxfuzz.generators.stages import Stage, between, step, steps
from relaxfuzz.oracles.catalogue import catalogue, contract_of
from relaxfuzz.oracles.catalogue.common import definition
from relaxfuzz.oracles.catalogue.devices import DEFAULT, under_target
from relaxfuzz.oracles.catalogue.tensorir_common import on_a_copy
from relaxfuzz.oracles.check import ORACLES, check
from relaxfuzz.oracles.expected.expectation import copies
from relaxfuzz.oracles.pass_runs import PassRuns
from relaxfuzz.oracles.passcall import PassCall, parse
from relaxfuzz.oracles.silence.log import answers
from relaxfuzz.oracles.values.evaluated import differences
from relaxfuzz.oracles.violation import Case, Violation
from tests.oracles import device_faults
from tests.oracles.device_faults import (
    FAULTS,
    HalfFull,
    Reversed,
    Scheduled,
    Split,
    Steps,
    Sums,
    Synchronized,
    Twice,
    Unsynchronized,
)
from tests.oracles.snippets import run_snippet

EVERY = [name for name, oracle in ORACLES.items() if oracle.tier in (1, 3)]


def call(name: str, like: str | None = None) -> PassCall:
    return PassCall(f"{name}()", factory=f"{device_faults.__file__}:{name}", like=like)


@pytest.mark.parametrize("name", FAULTS)
def test_a_faulty_pass_is_caught(name: str) -> None:
    mod, oracle, like = FAULTS[name]
    found = check(Case(mod, (call(name, like),)), oracles=EVERY)
    assert oracle in {violation.oracle for violation in found}


@pytest.mark.parametrize("mod", [Scheduled, Synchronized, Split])
def test_a_right_pass_is_not_blamed(mod: tvm.IRModule) -> None:
    found = check(Case(mod, (call("adds_a_statement"),)), oracles=EVERY)
    assert [v for v in found if v.oracle != "idempotent"] == []


def test_schedules_are_spelled_as_people_write_them() -> None:
    assert parse("dlight.ApplyDefaultSchedule").name == "dlight.ApplyDefaultSchedule"
    assert PassCall(DEFAULT).name == "dlight.ApplyDefaultSchedule"
    assert PassCall(DEFAULT).source()[0] == ("from tvm import s_tir",)


def test_a_list_with_fallback_schedules_every_kernel() -> None:
    post = catalogue["dlight.ApplyDefaultSchedule"].post
    mod = example(kernels(target="cuda"), 0, 1)
    default = PassCall(DEFAULT)
    assert post(mod, mod, default) == "a kernel is not marked as scheduled"
    assert post(mod, default.run(mod), default) is None


def test_every_access_is_made_by_threads() -> None:
    post = catalogue["dlight.ApplyDefaultSchedule"].post
    mod = example(kernels(target="cuda"), 0, 2)
    marked = tvm.IRModule(
        {gvar: func.with_attr("tirx.is_scheduled", True) for gvar, func in mod.functions_items()}
    )
    assert all(isinstance(func, tirx.PrimFunc) for func in marked.functions.values())
    found = post(mod, marked, PassCall(DEFAULT))
    assert found == "a kernel stores outside of its threads"


def unbound() -> tvm.IRModule:
    """A row sum without a target."""
    a = te.placeholder((16, 32), name="A")
    k = te.reduce_axis((0, 32), name="k")
    func = te.create_prim_func([a, te.compute((16,), lambda i: te.sum(a[i, k], axis=k))])
    return tvm.IRModule({"main": func.with_attr("global_symbol", "main")})


def test_functions_without_a_target_are_scheduled_for_devices() -> None:
    contract = catalogue["dlight.ApplyDefaultSchedule"]
    draws = random.Random(0)
    calls = [contract.choose(Choices(draws.randbytes(64)), unbound()) for _ in range(60)]
    texts = [call.expr for call in calls if call is not None and "under_target" in call.expr]
    assert {call.name for call in calls if call is not None} == {contract.name}
    assert len(texts) > 30
    assert all(any(f"'kind': '{kind}'" in text for text in texts) for kind in KINDS)


@pytest.mark.parametrize("rules", ["s_tir.dlight.gpu.Reduction()", DEFAULT.partition("(")[2][:-1]])
def test_a_rule_puts_what_it_schedules_on_threads(rules: str) -> None:
    contract = catalogue["dlight.ApplyDefaultSchedule"]
    schedule = f"on_a_copy(s_tir.dlight.ApplyDefaultSchedule({rules}))"
    imports = ("import tvm", "from typing import Any", definition(on_a_copy))
    call = PassCall(
        f"under_target({schedule}, {{'kind': 'cuda', 'arch': 'sm_86'}})",
        imports=(*imports, definition(under_target)),
    )
    mod = unbound()
    after = call.run(mod)
    assert "threadIdx.x" in after.script()
    assert contract.post(mod, after, call) is None
    assert check(Case(mod, (call,)), oracles=EVERY) == []
    marked = tvm.IRModule({"main": mod["main"].with_attr("tirx.is_scheduled", True)})
    assert contract.post(mod, marked, call) == "a kernel stores outside of its threads"


def test_a_kernel_that_does_nothing_needs_no_threads() -> None:
    post = catalogue["s_tir.DefaultGPUSchedule"].post
    default = PassCall("s_tir.transform.DefaultGPUSchedule()")
    empty = tirx.PrimFunc([], tirx.Evaluate(0)).with_attrs(
        {"global_symbol": "empty", "target": tvm.target.Target("vulkan")}
    )
    assert post(tvm.IRModule(), tvm.IRModule({"empty": empty}), default) is None
    mod = example(kernels(target="vulkan"), 0, 1)
    assert post(mod, mod, default) == "a kernel is not bound to threads"


@I.ir_module
class Conditional:
    @T.prim_func(private=True, s_tir=True)
    def kernel(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32"), n: T.int32):
        tx = T.launch_thread("threadIdx.x", 64)
        S = T.alloc_buffer((64,), scope="shared")
        if n > tx:
            S[tx] = A[tx]
            B[tx] = S[63 - tx]


def test_a_barrier_that_not_all_threads_reach_is_refused() -> None:
    case = Case(Conditional, (PassCall("s_tir.transform.ThreadSync('shared')"),))
    with pytest.raises(tvm.error.InternalError, match="Cannot insert syncs inside condition"):
        case.calls[0].run(case.mod)
    assert check(case, oracles=["crash"]) == []


@I.ir_module(s_tir=True)
class Reduced:
    """DLight's schedule of a reduction, in short, with one iteration for each thread."""

    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((32,), "float32"), B: T.Buffer((1,), "float32")):
        for tx in T.thread_binding(32, thread="threadIdx.x"):
            for r in range(1):
                with T.sblock("total"):
                    k = T.axis.reduce(32, r * 32 + tx)
                    T.reads(A[k])
                    T.writes(B[0])
                    with T.init():
                        B[0] = T.float32(0)
                    B[0] = B[0] + A[k]


@I.ir_module(s_tir=True)
class Repeated:
    """The block is executed by each thread twice."""

    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((32,), "float32"), B: T.Buffer((1,), "float32")):
        for tx in T.thread_binding(32, thread="threadIdx.x"):
            for _ in range(2):
                with T.sblock("total"):
                    k = T.axis.reduce(32, tx)
                    T.reads(A[k])
                    T.writes(B[0])
                    with T.init():
                        B[0] = T.float32(0)
                    B[0] = B[0] + A[k]


def test_a_reduction_around_an_idle_loop_is_refused() -> None:
    lowering = PassCall("s_tir.transform.LowerCrossThreadReduction()")
    assert check(Case(Reduced, (lowering,)), oracles=["crash"]) == []
    assert "tvm_thread_allreduce" in str(lowering.run(Reduced))
    simplified = tirx.transform.StmtSimplify()(Reduced)
    with pytest.raises(ValueError, match="to be the deepest"):
        lowering.run(simplified)
    assert check(Case(simplified, (lowering,)), oracles=["crash"]) == []
    (found,) = check(Case(Repeated, (lowering,)), oracles=["crash"])
    assert "to be the deepest" in found.detail


@pytest.mark.parametrize("mod", [Unsynchronized, Twice, Synchronized, Reversed])
def test_thread_sync_leaves_no_race_in_the_memory_of_its_scope(mod: tvm.IRModule) -> None:
    for scope in ("shared", "shared.dyn", "warp"):
        sync = PassCall(f"s_tir.transform.ThreadSync({scope!r})")
        assert check(Case(mod, (sync,)), oracles=["sanitized"]) == []


@I.ir_module
class TwoKinds:
    """Threads exchange values in two kinds of shared memory."""

    @T.prim_func
    def main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
        T.launch_thread("blockIdx.x", 1)
        tx = T.launch_thread("threadIdx.x", 64)
        S = T.alloc_buffer((64,), "float32", scope="shared")
        D = T.alloc_buffer((64,), "float32", scope="shared.dyn")
        S[tx] = A[tx]
        B[tx] = S[63 - tx]
        D[tx] = B[tx]
        B[tx] = D[63 - tx]


def test_barriers_for_one_kind_of_memory_leave_races_in_another() -> None:
    for scope in ("shared", "shared.dyn"):
        sync = PassCall(f"s_tir.transform.ThreadSync({scope!r})")
        assert "tvm_storage_sync" in sync.run(TwoKinds).script()
        assert check(Case(TwoKinds, (sync,)), oracles=["sanitized"]) == []


def test_shared_memory_counts_once_it_is_as_large_as_it_will_be() -> None:
    like = "dlight.ApplyDefaultSchedule"
    staged = call("stages_operands", like)
    assert check(Case(Steps, (staged,)), oracles=["postcondition"]) == []
    (found,) = check(Case(Sums, (staged,)), oracles=["postcondition"])
    assert (
        found.title == "a kernel takes more bytes of shared memory in a block than its target has"
    )


@I.ir_module
class ByHand:
    @T.prim_func(s_tir=True)
    def kernel(A: T.Buffer((1024,), "float32")):
        for tx in T.thread_binding(1024, thread="threadIdx.x"):
            with T.sblock("zero"):
                vi = T.axis.spatial(1024, tx)
                A[vi] = T.float32(0)


def test_what_was_scheduled_for_a_larger_device_is_not_blamed_on_the_rules() -> None:
    small = tvm.target.Target(TARGETS["adreno"], host="llvm")
    given = tirx.transform.BindTarget(small)(ByHand)
    post = catalogue["dlight.ApplyDefaultSchedule"].post
    assert post(given, given, parse("s_tir.dlight.ApplyDefaultSchedule()")) is None
    found = post(tvm.IRModule({}), given, parse("s_tir.dlight.ApplyDefaultSchedule()"))
    assert (found or "").partition("\n") == (
        "a kernel takes more threads in a block than its target has",
        "\n",
        "kernel: 1024 threads in a block, and opencl has max_threads_per_block = 256",
    )


@I.ir_module
class WithoutBlocks:
    @T.prim_func(s_tir=True)
    def kernel(A: T.Buffer((16,), "float32")):
        for i in range(16):
            A[i] = T.float32(0)


def test_only_what_blocks_do_is_bound_to_threads() -> None:
    target = tvm.target.Target(TARGETS["vulkan"], host="llvm")
    post = catalogue["s_tir.DefaultGPUSchedule"].post
    schedule = parse("s_tir.transform.DefaultGPUSchedule()")
    given = tirx.transform.BindTarget(target)(WithoutBlocks)
    assert post(given, schedule.run(given), schedule) is None
    given = tirx.transform.BindTarget(target)(Sums)
    assert post(given, given, schedule) == "a kernel is not bound to threads"


def test_rules_of_a_device_are_applied_to_its_kernels() -> None:
    for device in ("adreno", "opencl"):
        target = tvm.target.Target(TARGETS[device], host="llvm")
        given = tirx.transform.BindTarget(target)(ByHand)
        texts = {
            catalogue["dlight.ApplyDefaultSchedule"].choose(Choices(bytes([n]) * 64), given).expr
            for n in range(256)
        }
        assert any("adreno.Conv2d" in text for text in texts) == (device == "adreno")


def test_lowering_keeps_a_kernel_within_the_shared_memory_of_its_target() -> None:
    compact = PassCall("s_tir.transform.CompactBufferAllocation()")
    large = staged(Sums)
    assert check(Case(large, (compact,)), oracles=["postcondition"]) == []
    post = catalogue["s_tir.CompactBufferAllocation"].post
    small = staged(Steps)
    wrong = "a kernel outgrows the shared memory of its target"
    assert post(compact.run(small), small, compact) == wrong
    assert post(small, compact.run(small), compact) is None
    merged = device_faults.allocates_once_more()(HalfFull)
    for name in ("LowerThreadAllreduce", "MergeSharedMemoryAllocations"):
        lowering = PassCall(f"s_tir.transform.{name}()")
        post = catalogue[f"s_tir.{name}"].post
        assert post(HalfFull, lowering.run(HalfFull), lowering) is None
        assert post(HalfFull, merged, lowering) == wrong


def staged(mod: tvm.IRModule) -> tvm.IRModule:
    """What `stages_operands` makes, as CompactBufferAllocation gets it."""
    mod = device_faults.stages_operands()(mod)
    for stage in (Stage.REDUCTIONS_LOWERED, Stage.THREADS_LIFTED):
        for name in steps(stage):
            mod = step(mod, name)
    return mod


@I.ir_module
class Loops:
    """Threads are loops: LowerOpaqueBlock has not launched them."""

    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32")):
        with T.sblock("root"):
            S = T.sblock_alloc_buffer((32,), "float32", scope="shared")
            for thread in T.thread_binding(32, thread="threadIdx.x"):
                with T.sblock("stage"):
                    v = T.axis.spatial(32, thread)
                    S[v] = A[v]
                with T.sblock("reverse"):
                    v = T.axis.spatial(32, thread)
                    B[v] = S[31 - v]


def test_threads_that_are_not_launched_get_their_barriers_later() -> None:
    sync = PassCall("s_tir.transform.ThreadSync('shared')")
    assert sync.run(Loops).script() == Loops.script()
    assert check(Case(Loops, (sync,)), oracles=["sanitized"]) == []


UNNAMED = Violation.titled("")


@pytest.mark.parametrize("name", ["puts_no_barrier", "forgets_all_barriers"])
def test_a_barrier_that_is_missing_can_be_rerun(name: str) -> None:
    mod, _, like = FAULTS[name]
    with pytest.raises(AssertionError, match=r"race at S\[\d+\]"):
        run_snippet("sanitized", Case(mod, (call(name, like),)), UNNAMED, ours=True)


def test_who_splits_a_kernel_need_not_synchronize_it() -> None:
    splitting = PassCall("tirx.transform.SplitHostDevice()")
    assert check(Case(Unsynchronized, (splitting,)), oracles=["sanitized", "evaluated"]) == []


def test_a_race_of_a_kernel_that_is_split_can_be_rerun() -> None:
    whole = Case(Split, (call("forgets_a_barrier_of_a_kernel"),))
    with pytest.raises(AssertionError, match=r"race at S\[\d+\]"):
        run_snippet("sanitized", whole, UNNAMED, ours=True)


@I.ir_module
class HostAccess:
    @T.prim_func
    def main(A: T.Buffer((4,), "float32"), B: T.Buffer((1,), "float32")):
        B[0] = A[0]
        bx = T.launch_thread("blockIdx.x", 4)
        A[bx] = T.float32(1)


def test_the_sanitizer_says_what_it_does_not_know() -> None:
    with answers() as given:
        check(Case(HostAccess, (call("adds_a_statement"),)), oracles=["sanitized"])
    assert given["sanitized"].silent == "Unsupported: access of memory outside of kernels"


def test_no_allreduce_is_left() -> None:
    mod = tirx.transform.BindTarget(tvm.target.Target("cuda", host="llvm"))(Reduced)
    for stage in between(Stage.REDUCTIONS_LOWERED, Stage.SYNCHRONIZED):
        for name in steps(stage):
            mod = step(mod, name)
    lowering = PassCall("s_tir.transform.LowerThreadAllreduce()")
    post = catalogue["s_tir.LowerThreadAllreduce"].post
    assert post(mod, mod, lowering) == "an allreduce is left"
    assert post(mod, lowering.run(mod), lowering) is None


@I.ir_module(s_tir=True)
class Softened:
    """Rows less their sums, on the host."""

    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((8, 16), "float32"), B: T.Buffer((8, 16), "float32")):
        S = T.sblock_alloc_buffer((8,), "float32")
        for i, k in T.grid(8, 16):
            with T.sblock("sum"):
                v, w = T.axis.remap("SR", [i, k])
                with T.init():
                    S[v] = T.float32(0)
                S[v] = S[v] + A[v, w]
        for i, j in T.grid(8, 16):
            with T.sblock("less"):
                v, w = T.axis.remap("SS", [i, j])
                B[v, w] = A[v, w] - S[v]


def test_rules_for_the_host_are_checked_on_functions_of_the_host() -> None:
    contract = catalogue["dlight.ApplyDefaultSchedule"]
    assert Stage.BOUND in contract.stages
    host = tirx.transform.BindTarget(tvm.target.Target("llvm", host="llvm"))(Softened)
    drawn = [contract.choose(Choices(bytes([i, 255 - i] * 4)), host) for i in range(256)]
    exprs = [each.expr for each in drawn if each is not None]
    assert all("dlight.cpu." in expr for expr in exprs)
    assert all(any(rule in expr for expr in exprs) for rule in ("cpu.GEMV", "cpu.Reduction"))
    call = next(each for each in drawn if each is not None and "on_a_copy" in each.expr)
    rule = "s_tir.dlight.ApplyDefaultSchedule(s_tir.dlight.cpu.Reduction())"
    reduction = PassCall(f"on_a_copy({rule})", imports=call.imports)
    assert "T.parallel" in reduction.run(host).script()
    found = check(Case(host, (reduction,)), oracles=EVERY)
    assert [violation for violation in found if violation.oracle != "idempotent"] == []


def less_and_wrong(first: str) -> tvm.IRModule:
    """`Softened` in parallel rows: the sum is one of a row, and `first` comes before it."""
    text = f"""
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((8, 16), "float32"), B: T.Buffer((8, 16), "float32")):
        S = T.sblock_alloc_buffer((1,), "float32")
        for i in T.parallel(8):
            {first}
            for k in range(16):
                S[0] = S[0] + A[i, k]
            for j in range(16):
                B[i, j] = A[i, j] - S[0]
"""
    return tvm.script.from_source(text)


@pytest.mark.parametrize(
    ("first", "kind"),
    [
        ("S[0] = T.float32(0)", None),
        ("S[0] = B[(i + 1) % 8, 0]", "race"),
        ("S[0] = A[i, i * 3]", "read outside"),
    ],
)
def test_only_races_for_what_is_placed_later_are_exempt(first: str, kind: str | None) -> None:
    func = less_and_wrong(first)["main"]
    args = [np.ones((8, 16), "float32"), np.ones((8, 16), "float32")]
    fault = sanitize(func, args, placed=False)
    assert (fault and fault.kind) == kind
    assert sanitize(func, args) is not None
    if kind is not None:
        assert fault.buffer in ("A", "B")


def test_the_rules_for_the_host_are_exempt_from_no_more_than_that() -> None:
    contract = catalogue["dlight.ApplyDefaultSchedule"]
    call = PassCall("s_tir.dlight.ApplyDefaultSchedule(s_tir.dlight.cpu.Reduction())")
    assert contract.exemption("sanitized", Softened, call) is None
    assert contract.exemption("allocations", Softened, call) is not None


@I.ir_module
class LastWord:
    @T.prim_func
    def main(A: T.Buffer((16,), "float32"), B: T.Buffer((1,), "float32")):
        tx = T.launch_thread("threadIdx.x", 16)
        S = T.alloc_buffer((1,), "float32", scope="shared")
        S[0] = A[tx]
        B[0] = S[0]


def test_what_one_statement_does_wrong_no_barrier_mends() -> None:
    sync = PassCall("s_tir.transform.ThreadSync('shared')")
    assert check(Case(LastWord, (sync,)), oracles=["sanitized"]) == []


def test_whether_a_sum_of_nothing_is_written_is_open() -> None:
    """The sum leaves what is there; scheduled, it begins with a zero."""
    length = te.var("n", "int64")
    a = te.placeholder((2, length), "float32", name="A")
    k = te.reduce_axis((0, length), name="k")
    total = te.compute((2,), lambda i: te.sum(a[i, k], axis=k), name="total")
    func = te.create_prim_func([a, total]).with_attr("global_symbol", "main")
    mod = tvm.IRModule({"main": func})
    target = tvm.target.Target({"kind": "opencl"}, host="llvm")
    bind = tirx.transform.BindTarget(target)
    expr = "on_a_copy(s_tir.dlight.ApplyDefaultSchedule(s_tir.dlight.gpu.Fallback()))"
    schedule = PassCall(expr, imports=("import tvm", definition(on_a_copy)))
    given = [np.zeros((2, 0), "float32"), np.ones(2, "float32")]
    before, after = (
        evaluate(each, "main", copies(given))[-1] for each in (mod, schedule.run(bind(mod)))
    )
    assert (list(before), list(after)) == ([1, 1], [0, 0])
    runs = PassRuns(bind(mod), (schedule,), contract_of(schedule), thorough=True)
    assert next(differences(runs), None) is None


def test_the_scope_of_a_step_that_is_given_a_copy() -> None:
    scope = catalogue["s_tir.ThreadSync"].synchronizes
    assert scope is not None
    for text in ("shared", "shared.dyn"):
        sync = f"s_tir.transform.ThreadSync({text!r})"
        assert scope(PassCall(sync)) == scope(PassCall(f"on_a_copy({sync})")) == text
