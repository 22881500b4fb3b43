"""Each faulty schedule shows its fault where the trigger is, and is right where it is not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tvm
from tvm import te, tirx
from tvm.script import tirx as T

from relaxfuzz import evaluate, sanitize
from relaxfuzz.compat.structural import structural_equal
from relaxfuzz.corpus.zoo import correct_tensorir as C
from relaxfuzz.corpus.zoo import schedules as Z
from relaxfuzz.generators.stages import Stage, advance
from relaxfuzz.oracles.catalogue import catalogue
from relaxfuzz.oracles.structural import checkers
from relaxfuzz.oracles.tensorir.threads.limits import over_limits, shared_buffers


def kernel(*operands: Any, target: str = "cuda") -> tvm.IRModule:
    """A PrimFunc of these tensors, bound to a device."""
    func = te.create_prim_func(list(operands)).with_attr("global_symbol", "main")
    bound = tvm.target.Target({"kind": target}, host="llvm")
    return tirx.transform.BindTarget(bound)(tvm.IRModule({"main": func}))


def elementwise(*shape: int, target: str = "cuda") -> tvm.IRModule:
    a = te.placeholder(shape, "float32", "A")
    return kernel(a, te.compute(shape, lambda *i: a(*i) * 2.0, "B"), target=target)


def chain(*shape: int) -> tvm.IRModule:
    a = te.placeholder(shape, "float32", "A")
    b = te.compute(shape, lambda *i: a(*i) * 2.0, "B")
    return kernel(a, te.compute(shape, lambda *i: b(*i) + 1.0, "C"))


def reduction(
    *shape: int, by: Any = te.sum, dtype: str = "float32", wide: str = ""
) -> tvm.IRModule:
    a = te.placeholder(shape, dtype, "A")
    k = te.reduce_axis((0, shape[-1]), "k")

    def value(*i: Any) -> Any:
        return by(a(*i, k).astype(wide or dtype), axis=k)

    return kernel(a, te.compute(shape[:-1], value, "B"))


def normalized(*shape: int) -> tvm.IRModule:
    """Sums over the last axis, and a row of them added to the elements of another tensor."""
    a = te.placeholder(shape, "float32", "A")
    k = te.reduce_axis((0, shape[-1]), "k")
    b = te.compute(shape[:-1], lambda *i: te.sum(a(*i, k), axis=k), "B")
    return kernel(a, te.compute(shape[:-1], lambda *i: b(*i) * 2.0 + te.exp(b(*i)), "C"))


@T.prim_func(s_tir=True)
def one_thread_stores(A: T.Buffer((4, 32), "float32"), B: T.Buffer((4, 32), "float32")):
    bx = T.launch_thread("blockIdx.x", 4)
    tx = T.launch_thread("threadIdx.x", 32)
    S = T.alloc_buffer((1,), "float32", scope="shared")
    if tx == 3:
        S[0] = A[bx, tx]
    B[bx, tx] = S[0]


@T.prim_func(s_tir=True)
def threads_swap(A: T.Buffer((4, 32), "float32"), B: T.Buffer((4, 32), "float32")):
    bx = T.launch_thread("blockIdx.x", 4)
    tx = T.launch_thread("threadIdx.x", 32)
    S = T.alloc_buffer((32,), "float32", scope="shared")
    for i in range(2):
        S[tx] = A[bx, tx] + T.Cast("float32", i)
        B[bx, tx] = S[31 - tx]


def _two_buffers(again: bool) -> tvm.IRModule:
    @T.prim_func(s_tir=True)
    def later(A: T.Buffer((4, 32), "float32"), B: T.Buffer((4, 32), "float32")):
        bx = T.launch_thread("blockIdx.x", 4)
        tx = T.launch_thread("threadIdx.x", 32)
        S = T.alloc_buffer((32,), "float32", scope="shared")
        U = T.alloc_buffer((32,), "float32", scope="shared")
        S[tx] = A[bx, tx]
        B[bx, tx] = S[tx]
        U[tx] = A[bx, tx] * T.float32(2)
        B[bx, tx] = U[tx] + B[bx, tx]

    @T.prim_func(s_tir=True)
    def both(A: T.Buffer((4, 32), "float32"), B: T.Buffer((4, 32), "float32")):
        bx = T.launch_thread("blockIdx.x", 4)
        tx = T.launch_thread("threadIdx.x", 32)
        S = T.alloc_buffer((32,), "float32", scope="shared")
        U = T.alloc_buffer((32,), "float32", scope="shared")
        S[tx] = A[bx, tx]
        B[bx, tx] = S[tx]
        U[tx] = A[bx, tx] * T.float32(2)
        B[bx, tx] = U[tx] + S[tx]

    return module(both if again else later)


def module(func: tirx.PrimFunc) -> tvm.IRModule:
    return tvm.IRModule({"main": func.with_attr("global_symbol", "main")})


def two_kernels(size: int) -> tvm.IRModule:
    a = te.placeholder((40,), "float32", "A")
    b = te.compute((40,), lambda i: a[i] * 2.0, "B")
    c = te.compute((size,), lambda i: a[i % 40] + 3.0, "C")
    return advance(kernel(a, b, c), Stage.THREADS_LIFTED)


SHOWN: list[tuple[Any, tvm.IRModule]] = [
    (Z.fuses_all_loops, elementwise()),
    (Z.binds_many_threads, elementwise(4, 100, target="vulkan")),
    (Z.reduces_on_threads, reduction(7, 1)),
    (Z.binds_epilogues, normalized(3, 5, 70)),
    (Z.stages_rows, elementwise(40)),
    (Z.keeps_tiles_in_registers, chain(3, 40)),
    (Z.accumulates_in_operand_type, reduction(3, 300, dtype="int8", wide="int32")),
    (Z.pads_reductions, reduction(3, 20, by=te.max)),
    (Z.unifies_threads, two_kernels(4000)),
    (Z.synchronizes_threads, module(one_thread_stores)),
    (Z.merges_shared_buffers, _two_buffers(again=True)),
]

RIGHT: list[tuple[Any, tvm.IRModule]] = [
    (Z.fuses_all_loops, elementwise(3, 40)),
    (Z.binds_many_threads, elementwise(3, 1000)),
    (Z.reduces_on_threads, reduction(7, 50)),
    (Z.binds_epilogues, normalized(3, 32, 70)),
    (Z.stages_rows, elementwise(3, 40)),
    (Z.keeps_tiles_in_registers, chain(3, 128)),
    (Z.accumulates_in_operand_type, reduction(3, 70)),
    (Z.pads_reductions, reduction(3, 20)),
    (Z.unifies_threads, two_kernels(50)),
    (Z.synchronizes_threads, module(threads_swap)),
    (Z.merges_shared_buffers, _two_buffers(again=False)),
]


def arguments(mod: tvm.IRModule) -> list[Any]:
    """Negative numbers too; the last one is the output."""
    args = []
    for param in mod["main"].params:
        shape = [int(dim.value) for dim in param.ty.shape]
        size = int(np.prod(shape))
        values = (np.arange(size) * 7 % 90 - 100).reshape(shape)
        args.append(values.astype(str(param.ty.dtype)))
    return args


def is_right(make: Any, before: tvm.IRModule, after: tvm.IRModule) -> bool:
    if checkers.flaw(after) is not None or over_limits(after["main"]) is not None:
        return False
    args = arguments(before)
    fault = sanitize(
        after["main"],
        list(map(np.copy, args)),
        outputs=[len(args) - 1],
        synchronised=make in (Z.synchronizes_threads, Z.merges_shared_buffers),
    )
    if fault is not None:
        return False
    results = [evaluate(mod, "main", list(map(np.copy, args))) for mod in (before, after)]
    return all(np.allclose(a, b, rtol=1e-3) for a, b in zip(*results, strict=True))


@pytest.mark.parametrize(("make", "mod"), SHOWN, ids=lambda each: getattr(each, "__name__", ""))
def test_the_fault_shows(make: Any, mod: tvm.IRModule) -> None:
    if make in (Z.fuses_all_loops, Z.reduces_on_threads, Z.stages_rows):
        with pytest.raises((ValueError, IndexError, RuntimeError)):
            make()(mod)
        return
    if make is Z.binds_epilogues:
        after = make()(mod)
        (specimen,) = [each for each in Z.SPECIMENS if each.make is make]
        problem = catalogue["dlight.ApplyDefaultSchedule"].post(mod, after, specimen.call)
        assert problem == "a kernel has two extents of one thread axis"
        return
    assert not is_right(make, mod, make()(mod))


@pytest.mark.parametrize(("make", "mod"), RIGHT, ids=lambda each: getattr(each, "__name__", ""))
def test_without_its_trigger_the_schedule_is_right(make: Any, mod: tvm.IRModule) -> None:
    after = make()(mod)
    assert is_right(make, mod, after)
    assert make is Z.unifies_threads or not structural_equal(mod, after, map_free_vars=True)


def test_every_specimen_is_shown() -> None:
    for cases in (SHOWN, RIGHT):
        assert {case[0] for case in cases} == {specimen.make for specimen in Z.SPECIMENS}


CORRECT: list[tuple[Any, tvm.IRModule]] = [
    (C.halves_loops, advance(reduction(7, 50), Stage.FLATTENED)),
    (C.renews_loops, reduction(7, 50)),
    (C.loads_through_shared_memory, elementwise(3, 40)),
    (C.loads_through_shared_memory, elementwise(130)),
    (C.copies_on_every_thread, elementwise(3, 40)),
]


@pytest.mark.parametrize(("make", "mod"), CORRECT, ids=lambda each: getattr(each, "__name__", ""))
def test_correct_passes(make: Any, mod: tvm.IRModule) -> None:
    after = make()(mod)
    assert is_right(make, mod, after)
    assert not structural_equal(mod, after) or make is C.renews_loops
    assert {case[0] for case in CORRECT} == {specimen.make for specimen in C.SPECIMENS}


def test_shared_buffers_are_merged_where_the_pass_of_tvm_runs() -> None:
    """StorageRewrite has moved allocations out of the statements that bind threads."""
    target = tvm.target.Target("cuda", host="llvm")
    scheduled = _two_buffers(again=True)["main"].with_attr("tirx.is_scheduled", True)
    bound = tirx.transform.BindTarget(target)(module(scheduled))
    mod = advance(bound, Stage.ALLREDUCED)
    after = Z.merges_shared_buffers()(mod)
    assert [len(shared_buffers(each["main"])) for each in (mod, after)] == [2, 1]
    assert is_right(Z.merges_shared_buffers, mod, mod)
    assert not is_right(Z.merges_shared_buffers, mod, after)


@pytest.mark.parametrize("make", [Z.synchronizes_threads, Z.merges_shared_buffers])
@pytest.mark.parametrize("func", [threads_swap, one_thread_stores])
def test_a_second_run_changes_nothing(make: Any, func: tirx.PrimFunc) -> None:
    once = make()(module(func))
    assert structural_equal(once, make()(once), map_free_vars=True)
