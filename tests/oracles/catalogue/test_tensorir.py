"""Contracts of passes of TensorIR hold on generated modules, and each promise can be broken."""

from __future__ import annotations

import functools
import itertools
import textwrap
from collections.abc import Iterator

import pytest
import tvm
import tvm_ffi
from tvm import tirx
from tvm.script import ir as I
from tvm.script import tirx as T

from relaxfuzz.compat import availability
from relaxfuzz.compat.serialization import load_json, save_json
from relaxfuzz.compat.structural import structural_equal
from relaxfuzz.fuzz.jobs.draw import example
from relaxfuzz.generators import stages
from relaxfuzz.generators.choices import Choices
from relaxfuzz.generators.families import FAMILIES
from relaxfuzz.generators.prim_funcs import is_well_formed
from relaxfuzz.generators.stages import DEVICE, TENSORIR, Stage
from relaxfuzz.oracles.catalogue import LEFT_OUT, catalogue, of_family, tensorir_rare
from relaxfuzz.oracles.check import check
from relaxfuzz.oracles.contract import no_post
from relaxfuzz.oracles.passcall import BELOW_RELAX, PassCall, public_passes
from relaxfuzz.oracles.violation import Case

OFF = availability.current().passes
CONTRACTS = {
    name: each
    for family in ("tensorir", "dlight")
    for name, each in of_family(family).items()
    if name not in OFF
}

COUNT = 24

SEEDS = {"tensorir": 7, "dlight": 9}
"""Of modules that have something for all passes, and on which none misses its promise."""


@functools.cache
def at_stages() -> dict[Stage, list[tvm.IRModule]]:
    """Generated modules for a CPU and for devices, as far as they come."""
    found: dict[Stage, list[tvm.IRModule]] = {stage: [] for stage in (*TENSORIR, *DEVICE)}
    for (name, seed), index in itertools.product(SEEDS.items(), range(COUNT)):
        family = FAMILIES[name]
        mod = example(family.modules(), seed, index)
        for stage in family.stages:
            # ApplyDefaultSchedule changes what it is given: a known bug.
            mod = load_json(save_json(mod))
            try:
                for each in stages.steps(stage):
                    mod = stages.step(mod, each)
            except Exception:
                break
            if not is_well_formed(mod):
                break
            found[stage].append(mod)
    return found


def modules(name: str) -> Iterator[tvm.IRModule]:
    contract = CONTRACTS[name]
    for stage in contract.stages:
        for mod in at_stages()[stage]:
            if contract.requires(mod) is None:
                yield mod


def test_most_modules_come_to_the_end() -> None:
    assert len(at_stages()[Stage.HOST_LOWERED]) > COUNT // 2
    # LowerOpaqueBlock breaks many kernels: a known bug.
    assert len(at_stages()[Stage.DEVICE_SPLIT]) > COUNT // 3


def test_every_pass_of_tensorir_is_covered_or_left_out() -> None:
    passes = {name for name in public_passes() if name.partition(".")[0] in BELOW_RELAX}
    covered = {name for name in CONTRACTS if name.partition(".")[0] in BELOW_RELAX}
    assert passes == covered | (LEFT_OUT.keys() & passes)
    assert not any("." in name for name in of_family("relax"))


def call_of(name: str, mod: tvm.IRModule) -> PassCall:
    call = catalogue[name].choose(Choices(b""), mod)
    assert call is not None
    return call


RARE = [each for each in tensorir_rare.CONTRACTS if each.post is not no_post]

WITH_POST = [name for name, contract in CONTRACTS.items() if contract.post is not no_post]


@pytest.mark.parametrize("name", WITH_POST)
def test_the_pass_does_what_it_promises(name: str) -> None:
    checked = 0
    for mod in modules(name):
        call = call_of(name, mod)
        try:
            after = call.run(mod)
        except Exception:  # other oracles look at that
            continue
        assert CONTRACTS[name].post(mod, after, call) is None
        checked += 1
    assert checked


NEEDS_MORE = (
    *("s_tir.ConvertSSA", "tirx.ConvertSSA", "s_tir.CompactBufferAllocation"),
    *("s_tir.LowerThreadAllreduce", "s_tir.MergeSharedMemoryAllocations"),
    *("tirx.SkipAssert", "tirx.AnnotateEntryFunc", "tirx.FP8ComputeLegalize"),
    "s_tir.RemoveStoreUndef",
    *(contract.name for contract in tensorir_rare.CONTRACTS),
)
"""What no generated module breaks by itself."""


@pytest.mark.parametrize("name", [n for n in WITH_POST if n not in NEEDS_MORE])
def test_a_pass_that_does_nothing_breaks_the_promise(name: str) -> None:
    broken = (CONTRACTS[name].post(mod, mod, call_of(name, mod)) for mod in modules(name))
    assert any(problem is not None for problem in broken)


@pytest.mark.parametrize("name", [name for name in NEEDS_MORE[:2] if name in CONTRACTS])
def test_a_variable_that_is_defined_twice_is_no_ssa(name: str) -> None:
    var = tirx.Var("i", "int32")
    loop = tirx.For(var, 0, 4, tirx.ForKind.SERIAL, tirx.Evaluate(var))
    mod = tvm.IRModule({"main": tirx.PrimFunc([], tirx.SeqStmt([loop, loop]))})
    call = call_of(name, mod)
    assert CONTRACTS[name].post(mod, mod, call) == "the result is not in SSA form"
    assert CONTRACTS[name].post(mod, call.run(mod), call) is None


def test_branches_that_are_decided_may_go() -> None:
    store = tirx.Evaluate(1)
    mod, other, empty = (
        tvm.IRModule({"main": tirx.PrimFunc([], body)})
        for body in (
            tirx.IfThenElse(tirx.const(True), store, None),
            tirx.IfThenElse(tirx.const(False), store, None),
            tirx.Evaluate(0),
        )
    )
    call = PassCall("s_tir.transform.InjectPermutedLayout()")
    post = CONTRACTS["s_tir.InjectPermutedLayout"].post
    assert not structural_equal(mod, call.run(mod))
    assert post(mod, call.run(mod), call) is None
    assert post(other, empty, call) is None
    assert post(mod, empty, call) == "a module is changed that has nothing for the pass"


@pytest.mark.parametrize("dtype", ["float64", "int8"])
def test_a_float_may_be_out_of_the_range_that_is_forced(dtype: str) -> None:
    a = tirx.decl_buffer((1,), dtype, "A")
    body = tirx.BufferStore(a, (a[0].astype("int64") + 1).astype(dtype), [0])
    mod = tvm.IRModule({"main": tirx.PrimFunc([a], body)})
    call = PassCall("tirx.transform.ForceNarrowIndexToInt32()")
    exempt = CONTRACTS["tirx.ForceNarrowIndexToInt32"].exemption("values", mod, call)
    assert (exempt is not None) == (dtype == "float64")


@pytest.mark.parametrize("name", [c.name for c in RARE])
def test_what_a_pass_has_nothing_to_do_with_stays(name: str) -> None:
    (mod, other) = (tvm.IRModule({"main": tirx.PrimFunc([], tirx.Evaluate(n))}) for n in (1, 2))
    call = call_of(name, mod)
    post = CONTRACTS[name].post
    assert post(mod, other, call) == "a module is changed that has nothing for the pass"
    assert post(mod, call.run(mod), call) is None


def test_what_a_pass_is_made_for_may_change() -> None:
    @I.ir_module
    class Module:
        @T.prim_func(s_tir=True)
        def main(A: T.Buffer((8,), "float32")):
            C = T.alloc_buffer((8,), "float32", scope="global.vtcm")
            for i in range(8):
                C[i] = A[i]
            for i in range(8):
                A[i] = C[i] + C[0]

    mod = stages.advance(Module, Stage.LOOPS_LOWERED)
    call = call_of("s_tir.LowerVtcmAlloc", mod)
    after = call.run(mod)
    assert not structural_equal(mod, after)
    assert CONTRACTS[call.name].post(mod, after, call) is None


def allocating(size: int) -> tvm.IRModule:
    @I.ir_module
    class Module:
        @T.prim_func(s_tir=True)
        def main(B: T.Buffer((4,), "float32")):
            C = T.sblock_alloc_buffer((size,), "float32")
            for i in range(4):
                with T.sblock("write"):
                    C[i] = T.float32(1)
            for i in range(4):
                with T.sblock("read"):
                    B[i] = C[i]

    return Module


def test_a_buffer_must_not_grow() -> None:
    call = call_of(NEEDS_MORE[2], allocating(8))
    post = CONTRACTS[call.name].post
    assert post(allocating(8), allocating(9), call) == "a buffer has grown"
    assert post(allocating(8), call.run(allocating(8)), call) is None
    loose = PassCall("s_tir.transform.CompactBufferAllocation(is_strict=False)")
    assert post(allocating(8), allocating(9), loose) is None


def test_an_assertion_must_go() -> None:
    @I.ir_module
    class Module:
        @T.prim_func
        def main(n: T.int32):
            assert n > 0, "n"
            T.evaluate(n)

    call = call_of("tirx.SkipAssert", Module)
    assert CONTRACTS[call.name].post(Module, Module, call) == "an AssertStmt is left"
    assert CONTRACTS[call.name].post(Module, call.run(Module), call) is None


def doubling(dtype: str) -> tvm.IRModule:
    """A module that computes in the dtype."""

    @I.ir_module
    class Module:
        @T.prim_func
        def main(A: T.Buffer((4,), dtype), B: T.Buffer((4,), dtype)):
            for i in range(4):
                B[i] = A[i] + A[i]

    return Module


@pytest.mark.parametrize(
    ("name", "dtype"),
    [("tirx.BF16ComputeLegalize", "bfloat16"), ("tirx.FP8ComputeLegalize", "float8_e4m3fn")],
)
def test_nothing_may_be_computed_in_a_dtype_that_is_legalized(name: str, dtype: str) -> None:
    mod = doubling(dtype)
    call = call_of(name, mod)
    post = CONTRACTS[name].post
    left = f"an operation on {dtype.partition('_')[0]} is left"
    assert post(mod, mod, call) == left
    assert post(mod, call.run(mod), call) is None


@pytest.mark.parametrize(
    ("name", "dtype"),
    [("tirx.BF16StorageLegalize", "bfloat16"), ("tirx.FP8StorageLegalize", "float8_e4m3fn")],
)
def test_what_is_computed_is_legalized_before_it_is_stored(name: str, dtype: str) -> None:
    mod = doubling(dtype)

    def behind(mod: tvm.IRModule) -> tvm.IRModule:
        target = tvm.target.Target("llvm", host="llvm")
        return tirx.transform.MakePackedAPI()(tirx.transform.BindTarget(target)(mod))

    compute = call_of(name.replace("Storage", "Compute"), mod)
    contract = CONTRACTS[name]
    assert "comes first" in contract.requires(behind(mod))
    legal = behind(compute.run(mod))
    assert contract.requires(legal) is None
    assert contract.looks_for.has(legal)
    assert not contract.looks_for.has(call_of(name, legal).run(legal))


def test_the_only_function_is_an_entry() -> None:
    mod = tvm.IRModule({"main": tirx.PrimFunc([], tirx.Evaluate(0))})
    call = call_of("tirx.AnnotateEntryFunc", mod)
    post = CONTRACTS[call.name].post
    assert post(mod, mod, call) == "the only PrimFunc is no entry point"
    assert post(mod, call.run(mod), call) is None


def on_vulkan(mod: tvm.IRModule) -> tvm.IRModule:
    target = tvm.target.Target({"kind": "vulkan"}, host="llvm")
    return tirx.transform.BindTarget(target)(mod)


def test_a_kernel_that_is_split_off_is_public() -> None:
    @I.ir_module
    class Module:
        @T.prim_func
        def main(A: T.Buffer((4,), "float32")):
            tx = T.launch_thread("threadIdx.x", 4)
            A[tx] = T.float32(1)

    mod = on_vulkan(Module)
    split = PassCall("tirx.transform.SplitHostDevice()")
    assert len(split.run(on_vulkan(Module)).functions) == 2
    assert [each.title for each in check(Case(mod, (split,)), oracles=("functions",))] == []


def test_what_a_device_has_no_type_for_may_be_refused() -> None:
    @I.ir_module
    class Module:
        @T.prim_func
        def main(A: T.Buffer((4,), "float64")):
            for i in range(4):
                A[i] = T.erf(A[i])

    target = tvm.target.Target({"kind": "metal"}, host="llvm")
    mod = tirx.transform.BindTarget(target)(Module)
    lowers = PassCall("tirx.transform.LowerIntrin()")
    with pytest.raises(RuntimeError, match="Unsupported type in Metal"):
        lowers.run(mod)
    assert check(Case(mod, (lowers,)), oracles=("crash",)) == []


def test_products_of_fixed_point_numbers_keep_their_value() -> None:
    """Half of the largest number: the code adds 1 in int32 before it shifts."""

    @I.ir_module
    class Module:
        @T.prim_func(s_tir=True)
        def main(A: T.Buffer((4,), "int32")):
            for i in range(4):
                A[i] = T.q_multiply_shift(A[i], T.int32(1 << 30), T.int32(31), T.int32(0))

    mod = tirx.transform.BindTarget(tvm.target.Target("llvm", host="llvm"))(Module)
    case = Case(mod, (PassCall("tirx.transform.LowerIntrin()"),))
    (violation,) = check(case, oracles=("evaluated",), all_kinds=True)
    assert violation.pass_name == "tirx.LowerIntrin"


def test_virtual_threads_come_before_storage_is_rewritten() -> None:
    @I.ir_module
    class Module:
        @T.prim_func
        def main(A: T.Buffer((8,), "float32")):
            tx = T.launch_thread("threadIdx.x", 4)
            with T.attr(
                T.iter_var(T.int32(), (0, 2), "ThreadIndex", "vthread.x"), "virtual_thread", 2
            ):
                A[tx] = T.float32(1)

    requires = CONTRACTS["tirx.StorageRewrite"].requires
    assert requires(Module) == "virtual threads"
    assert requires(tvm.s_tir.transform.InjectVirtualThread()(Module)) is None


@pytest.mark.parametrize(
    "name", ["tirx.AnnotateEntryFunc", "tirx.SplitHostDevice", "dlight.ApplyDefaultSchedule"]
)
def test_what_is_known_to_change_its_module_mostly_gets_a_copy(name: str) -> None:
    stage = CONTRACTS[name].stages[0]
    mod = next(mod for mod in at_stages()[stage] if len(mod.functions) == 1)
    calls = [CONTRACTS[name].choose(Choices(bytes([n]) * 40), mod) for n in range(0, 256, 8)]
    copied = [call for call in calls if call is not None and "on_a_copy" in call.expr]
    assert 0.6 < len(copied) / len(calls) < 1
    assert all(call is not None and call.name == name for call in calls)
    before = load_json(save_json(mod))
    copied[0].run(mod)
    assert structural_equal(mod, before, map_free_vars=True)


@I.ir_module
class AsWritten:
    @T.prim_func
    def main(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            B[i] = T.exp(A[i])


@pytest.mark.parametrize(
    "name",
    # What a pipeline takes is said by the contracts of its steps.
    [name for name, contract in sorted(CONTRACTS.items()) if contract.steps is None],
)
def test_a_function_as_people_write_it_is_taken_or_refused_in_words(name: str) -> None:
    """It has no target yet, and buffers as parameters."""
    violations = check(Case(AsWritten, (call_of(name, AsWritten),)), oracles=("crash",))
    assert [each.title for each in violations] == []


def test_split_host_device_takes_dynamic_shared_memory_that_is_merged() -> None:
    @I.ir_module
    class Pieces:
        @T.prim_func
        def main(A: T.Buffer((16,), "float32")):
            T.func_attr({"target": T.target({"kind": "cuda", "arch": "sm_80"})})
            tx = T.launch_thread("threadIdx.x", 16)
            R = T.alloc_buffer((16,), "float32", scope="shared.dyn")
            S = T.alloc_buffer((16,), "float32", scope="shared.dyn")
            R[tx] = A[tx]
            S[tx] = R[tx]
            A[tx] = S[tx]

    requires = CONTRACTS["tirx.SplitHostDevice"].requires
    assert "MergeSharedMemoryAllocations" in requires(Pieces)
    assert requires(tvm.s_tir.transform.MergeSharedMemoryAllocations()(Pieces)) is None


def test_dynamic_shared_memory_is_merged_behind_barriers_between_all_of_it() -> None:
    @I.ir_module
    class InTurn:
        @T.prim_func
        def main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
            tx = T.launch_thread("threadIdx.x", 64)
            R = T.alloc_buffer((64,), "float32", scope="shared.dyn")
            S = T.alloc_buffer((64,), "float32", scope="shared.dyn")
            R[tx] = A[tx]
            T.tvm_storage_sync("shared.dyn")
            B[tx] = R[63 - tx]
            S[tx] = A[tx]
            T.tvm_storage_sync("shared.dyn")
            A[tx] = S[63 - tx]

    requires = CONTRACTS["s_tir.MergeSharedMemoryAllocations"].requires
    assert "ThreadSync" in requires(InTurn)
    synchronized = tvm.s_tir.transform.ThreadSync("shared.dyn")(InTurn)
    assert requires(synchronized) is None
    merged = tvm.s_tir.transform.MergeSharedMemoryAllocations()
    assert requires(merged(synchronized)) is None


@pytest.mark.parametrize("value", [T.bfloat16(1), T.Cast("bfloat16", T.float32(1))], ids=str)
def test_what_is_computed_in_bfloat16_is_legalized_before_its_storage(value: object) -> None:
    """Of bits, what comes of it would be something else."""
    buffer = tirx.decl_buffer((1,), "bfloat16", "A", layout=None)

    def stores(value: object) -> tvm.IRModule:
        store = tirx.BufferStore(buffer, value, [tirx.const(0, "int32")])
        func = tirx.PrimFunc([], tirx.SeqStmt([tirx.AllocBuffer(buffer), store]))
        return tvm.IRModule({"main": func.with_attr("global_symbol", "main")})

    requires = CONTRACTS["tirx.BF16StorageLegalize"].requires
    assert "comes first" in requires(stores(value))
    assert requires(tirx.transform.BF16ComputeLegalize()(stores(value))) is None


def stored(value: str) -> tvm.IRModule:
    """A module that stores an undefined value, or nearly one, to an output."""
    text = f"""
        @I.ir_module(s_tir=True)
        class Module:
            @T.prim_func(s_tir=True)
            def main(A: T.Buffer((2,), "int32")):
                T.func_attr({{"global_symbol": "main"}})
                u: T.let[T.int32] = T.undef()
                held: T.int32 = T.undef()
                row = T.alloc_buffer((4,), "int32")
                row[1] = held
                mixed = T.alloc_buffer((2,), "int32")
                mixed[0] = u
                mixed[1] = 5
                A[0] = {value}
                A[1] = 3
    """
    return tvm.script.from_source(textwrap.dedent(text), extra_vars={"I": I, "T": T})


UNDEFINED = ("T.undef()", "u", "held", "row[2]", 'T.Cast("int32", T.Cast("int64", held))')


@pytest.mark.parametrize("value", UNDEFINED)
def test_no_store_of_an_undefined_value_is_left(value: str) -> None:
    post = CONTRACTS["s_tir.RemoveStoreUndef"].post
    call = PassCall("s_tir.transform.RemoveStoreUndef()")
    mod = stored(value)
    assert post(mod, mod, call) == "a store of an undefined value is left"
    assert post(mod, without_undefined(mod), call) is None


@pytest.mark.parametrize("value", ["mixed[1]", "1 + A[1]", "T.if_then_else(A[1] > 0, u, 2)"])
def test_a_store_of_another_value_stays(value: str) -> None:
    post = CONTRACTS["s_tir.RemoveStoreUndef"].post
    mod = without_undefined(stored(value), only=("row", "held", "mixed"))
    assert post(stored(value), mod, PassCall("s_tir.transform.RemoveStoreUndef()")) is None


def without_undefined(
    mod: tvm.IRModule, only: tuple[str, ...] = ("row", "held", "mixed", "A")
) -> tvm.IRModule:
    """The module without the stores of undefined values, as people would leave them out."""

    def rewrite(store: tirx.BufferStore) -> tirx.Stmt:
        name, index = str(store.buffer.name), int(store.indices[0])
        if name not in only or (name, index) in (("mixed", 1), ("A", 1)):
            return store
        return tirx.Evaluate(tirx.IntImm("int32", 0))

    body = tvm_ffi.structural_map(mod["main"].body, (tirx.BufferStore, rewrite), order="post")
    return tvm.IRModule({"main": mod["main"].with_body(body)})
