"""One PrimFunc for each kind of fault, and a near twin that has none."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
import pytest
import tvm
import tvm_ffi
from tvm import relax, te, tirx
from tvm.script import tirx as T

from relaxfuzz.generators.choices import Choices
from relaxfuzz.generators.functions import finish
from relaxfuzz.generators.module_scope import ModuleScope
from relaxfuzz.generators.ops import table
from relaxfuzz.generators.ops.record import Op
from relaxfuzz.generators.scope import Scope
from relaxfuzz.oracles.errors import Undefined, Unsupported
from relaxfuzz.oracles.evaluate import Evaluator
from relaxfuzz.oracles.expected.inputs import InputKind, drawn
from relaxfuzz.oracles.tensorir import Fault, sanitize, translate
from relaxfuzz.oracles.tensorir.sanitizer.run import checked_run
from relaxfuzz.oracles.tensorir.sanitizer.runtime import (
    ALIASED,
    CONVERSION,
    DIVISION,
    KINDS,
    OVERFLOW,
    RACE,
    READ_OUTSIDE,
    SHIFT,
    UNINITIALISED,
    WRITE_OUTSIDE,
)
from tests.faulty_kernels import FAULTY_KERNELS

from .native import assert_same_bits


def floats(*shape: int) -> np.ndarray[Any, Any]:
    return np.arange(np.prod(shape, dtype=int), dtype="float32").reshape(shape)


def ints(*values: int, dtype: str = "int32") -> np.ndarray[Any, Any]:
    return np.array(values, dtype)


def found(func: tirx.PrimFunc, *args: Any, outputs: tuple[int, ...] = ()) -> Fault:
    before = [arg.copy() for arg in args]
    fault = sanitize(func, args, outputs=outputs)
    assert fault is not None
    assert fault.kind in KINDS
    for arg, copy in zip(args, before, strict=True):
        assert arg.tobytes() == copy.tobytes(), "the arguments are not to be changed"
    return fault


def clean(func: tirx.PrimFunc, *args: Any, outputs: tuple[int, ...] = ()) -> list[Any]:
    fault, own = checked_run(func, args, outputs=outputs)
    assert fault is None, str(fault)
    return own


# Accesses outside


@T.prim_func(private=True, s_tir=True)
def shifted(A: T.Buffer((4, 3), "float32"), B: T.Buffer((4, 3), "float32")):
    for i, j in T.grid(4, 3):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj + 1]


@T.prim_func(private=True, s_tir=True)
def shifted_padded(A: T.Buffer((4, 3), "float32"), B: T.Buffer((4, 3), "float32")):
    for i, j in T.grid(4, 3):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = T.if_then_else(vj < 2, A[vi, vj + 1], T.float32(0))


def test_a_read_past_a_row_is_outside_though_its_memory_is_there() -> None:
    fault = found(shifted, floats(4, 3), floats(4, 3), outputs=(1,))
    assert (fault.kind, fault.buffer) == (READ_OUTSIDE, "A")
    assert (fault.index, fault.shape) == ((0, 3), (4, 3))
    assert fault.statement == "B[vi, vj] = A[vi, vj + 1]"
    (_, b) = clean(shifted_padded, floats(4, 3), floats(4, 3), outputs=(1,))
    assert b[0].tolist() == [1, 2, 0]


@T.prim_func(private=True)
def gather(A: T.Buffer((4,), "float32"), K: T.Buffer((3,), "int32"), B: T.Buffer((3,), "float32")):
    for i in range(3):
        B[i] = A[K[i]]


@T.prim_func(private=True)
def scatter(K: T.Buffer((3,), "int32"), B: T.Buffer((3,), "float32")):
    for i in range(3):
        B[K[i]] = T.float32(1)


def test_indices_that_are_loaded() -> None:
    clean(gather, floats(4), ints(0, 3, 2), floats(3), outputs=(2,))
    assert found(gather, floats(4), ints(0, 1, -1), floats(3)).index == (-1,)
    assert found(gather, floats(4), ints(0, 4, 0), floats(3)).kind == READ_OUTSIDE
    clean(scatter, ints(2, 1, 0), floats(3), outputs=(1,))
    fault = found(scatter, ints(0, 3, 0), floats(3))
    assert (fault.kind, fault.buffer, fault.index) == (WRITE_OUTSIDE, "B", (3,))


@T.prim_func(private=True)
def guarded(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    for i in range(4):
        if i > 0 and A[i - 1] > T.float32(0):
            B[i] = A[i - 1]
        else:
            B[i] = T.float32(0)


@T.prim_func(private=True)
def unguarded(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    for i in range(4):
        if A[i - 1] > T.float32(0) and i > 0:
            B[i] = A[i - 1]
        else:
            B[i] = T.float32(0)


@T.prim_func(private=True, s_tir=True)
def tiled(A: T.Buffer((5,), "float32"), B: T.Buffer((5,), "float32")):
    for o, i in T.grid(2, 3):
        with T.sblock("B"):
            v = T.axis.spatial(5, o * 3 + i)
            T.where(o * 3 + i < 5)
            B[v] = A[v]


@T.prim_func(private=True, s_tir=True)
def tiled_without_predicate(A: T.Buffer((5,), "float32"), B: T.Buffer((5,), "float32")):
    for o, i in T.grid(2, 3):
        with T.sblock("B"):
            v = T.axis.spatial(6, o * 3 + i)
            B[v] = A[v]


def test_what_a_condition_keeps_from_happening_is_no_access() -> None:
    clean(guarded, floats(4), floats(4), outputs=(1,))
    assert found(unguarded, floats(4), floats(4)).index == (-1,)
    clean(tiled, floats(5), floats(5), outputs=(1,))
    assert found(tiled_without_predicate, floats(5), floats(5)).index == (5,)


@T.prim_func(private=True)
def first_half(a: T.handle, b: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n * 2,), "float32")
    B = T.match_buffer(b, (n,), "float32")
    for i in range(n):
        B[i] = A[i + n]


@T.prim_func(private=True)
def past_second_half(a: T.handle, b: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n * 2,), "float32")
    B = T.match_buffer(b, (n,), "float32")
    for i in range(n):
        B[i] = A[i + n + T.int64(1)]


def test_symbolic_shapes() -> None:
    clean(first_half, floats(6), floats(3), outputs=(1,))
    fault = found(past_second_half, floats(6), floats(3), outputs=(1,))
    assert (fault.index, fault.shape) == ((6,), (6,))


# Uninitialised memory


@T.prim_func(private=True, s_tir=True)
def sums(A: T.Buffer((2, 3), "float32"), B: T.Buffer((2,), "float32")):
    for i, k in T.grid(2, 3):
        with T.sblock("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi, vk]


@T.prim_func(private=True, s_tir=True)
def sums_without_init(A: T.Buffer((2, 3), "float32"), B: T.Buffer((2,), "float32")):
    for i, k in T.grid(2, 3):
        with T.sblock("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            B[vi] = B[vi] + A[vi, vk]


def test_an_output_is_written_before_it_is_read() -> None:
    assert clean(sums, floats(2, 3), floats(2), outputs=(1,))[1].tolist() == [3, 12]
    fault = found(sums_without_init, floats(2, 3), floats(2), outputs=(1,))
    assert (fault.kind, fault.index) == (UNINITIALISED, (0,))
    clean(sums_without_init, floats(2, 3), floats(2))  # in place: the buffer holds values


@T.prim_func(private=True, s_tir=True)
def through_short_copy(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    C = T.sblock_alloc_buffer((4,), "float32")
    for i in range(3):
        with T.sblock("C"):
            v = T.axis.spatial(3, i)
            C[v] = A[v]
    for i in range(4):
        with T.sblock("B"):
            v = T.axis.spatial(4, i)
            B[v] = C[v]


@T.prim_func(private=True, s_tir=True)
def through_views(A: T.Buffer((4, 4), "float32"), B: T.Buffer((4, 4), "float32")):
    C = T.sblock_alloc_buffer((4, 4), "float32")
    for i, j in T.grid(2, 2):
        with T.sblock("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(A[vi * 2 : vi * 2 + 2, vj * 2 : vj * 2 + 2])
            T.writes(C[vi * 2 : vi * 2 + 2, vj * 2 : vj * 2 + 2])
            P = T.match_buffer(
                C[vi * 2 : vi * 2 + 2, vj * 2 : vj * 2 + 2], (2, 2), strides=[4, 1], offset_factor=1
            )
            for a, b in T.grid(2, 2):
                P[a, b] = A[vi * 2 + a, vj * 2 + b]
    for i, j in T.grid(4, 4):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = C[vi, vj]


@T.prim_func(private=True, s_tir=True)
def through_small_views(A: T.Buffer((4, 4), "float32"), B: T.Buffer((4, 4), "float32")):
    C = T.sblock_alloc_buffer((4, 4), "float32")
    for i, j in T.grid(2, 2):
        with T.sblock("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(A[vi * 2 : vi * 2 + 2, vj * 2 : vj * 2 + 2])
            T.writes(C[vi * 2 : vi * 2 + 2, vj * 2 : vj * 2 + 2])
            P = T.match_buffer(
                C[vi * 2 : vi * 2 + 2, vj * 2 : vj * 2 + 2], (2, 2), strides=[4, 1], offset_factor=1
            )
            for a, b in T.grid(2, 1):
                P[a, b] = A[vi * 2 + a, vj * 2 + b]
    for i, j in T.grid(4, 4):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = C[vi, vj]


def test_reads_of_memory_that_is_partly_written() -> None:
    fault = found(through_short_copy, floats(4), floats(4))
    assert (fault.kind, fault.buffer, fault.index) == (UNINITIALISED, "C", (3,))
    a = floats(4, 4)
    assert np.array_equal(clean(through_views, a, floats(4, 4), outputs=(1,))[1], a)
    fault = found(through_small_views, a, floats(4, 4))
    assert (fault.kind, fault.buffer, fault.index) == (UNINITIALISED, "C", (0, 1))


# Races


@T.prim_func(private=True)
def parallel_scatter(K: T.Buffer((3,), "int32"), B: T.Buffer((3,), "float32")):
    for i in T.parallel(3):
        B[K[i]] = T.float32(1)


@T.prim_func(private=True)
def parallel_scan(B: T.Buffer((3,), "float32")):
    for i in T.parallel(2):
        B[i + 1] = B[i] + T.float32(1)


@T.prim_func(private=True)
def serial_scan(B: T.Buffer((3,), "float32")):
    for i in range(2):
        B[i + 1] = B[i] + T.float32(1)


@T.prim_func(private=True)
def vectorized_sum(A: T.Buffer((4,), "float32"), B: T.Buffer((1,), "float32")):
    for i in T.vectorized(4):
        B[0] = B[0] + A[i]


@T.prim_func(private=True)
def shared_scratch(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    C = T.alloc_buffer((1,), "float32")
    for i in T.parallel(4):
        C[0] = A[i]
        B[i] = C[0]


@T.prim_func(private=True)
def own_scratch(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    for i in T.parallel(4):
        C = T.alloc_buffer((1,), "float32")
        C[0] = A[i]
        B[i] = C[0]


def test_parallel_iterations_that_meet() -> None:
    clean(parallel_scatter, ints(2, 0, 1), floats(3), outputs=(1,))
    fault = found(parallel_scatter, ints(2, 0, 2), floats(3))
    assert (fault.kind, fault.buffer, fault.index) == (RACE, "B", (2,))
    clean(scatter, ints(2, 0, 2), floats(3))
    assert found(parallel_scan, floats(3)).kind == RACE
    clean(serial_scan, floats(3))
    assert found(vectorized_sum, floats(4), floats(1)).kind == RACE
    assert found(shared_scratch, floats(4), floats(4)).buffer == "C"
    clean(own_scratch, floats(4), floats(4), outputs=(1,))


@T.prim_func(private=True, s_tir=True)
def spatial_sum(A: T.Buffer((2, 3), "float32"), B: T.Buffer((2,), "float32")):
    for i, k in T.grid(2, 3):
        with T.sblock("B"):
            vi, vk = T.axis.remap("SS", [i, k])
            B[vi] = B[vi] + A[vi, vk]


@T.prim_func(private=True, s_tir=True)
def spatial_scan(B: T.Buffer((4,), "float32")):
    for i in range(3):
        with T.sblock("B"):
            v = T.axis.spatial(3, i)
            B[v + 1] = B[v]


@T.prim_func(private=True, s_tir=True)
def ordered_scan(B: T.Buffer((4,), "float32")):
    for i in range(3):
        with T.sblock("B"):
            v = T.axis.scan(3, i)
            B[v + 1] = B[v]


@T.prim_func(private=True, s_tir=True)
def smoothed(A: T.Buffer((2, 4), "float32")):
    for t, i in T.grid(3, 4):
        with T.sblock("A"):
            vt = T.axis.opaque(3, t)
            v = T.axis.spatial(4, i)
            A[(vt + 1) % 2, v] = A[vt % 2, v] + A[vt % 2, (v + 1) % 4]


@T.prim_func(private=True, s_tir=True)
def smoothed_in_place(A: T.Buffer((2, 4), "float32")):
    for t, i in T.grid(3, 4):
        with T.sblock("A"):
            vt = T.axis.opaque(3, t)
            v = T.axis.spatial(4, i)
            A[0, v] = A[0, v] + A[vt * 0, (v + 1) % 4]


@T.prim_func(private=True, s_tir=True)
def recomputed(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    for _, i in T.grid(2, 4):
        with T.sblock("B"):
            v = T.axis.spatial(4, i)
            B[v] = A[v]


def test_instances_of_a_block_that_meet() -> None:
    assert found(spatial_sum, floats(2, 3), floats(2)).kind == RACE
    assert found(spatial_scan, floats(4)).kind == RACE
    clean(ordered_scan, floats(4))
    clean(smoothed, floats(2, 4))
    assert found(smoothed_in_place, floats(2, 4)).kind == RACE
    clean(recomputed, floats(4), floats(4), outputs=(1,))


# Arithmetic, aliases


@T.prim_func(private=True)
def quotient(A: T.Buffer((2,), "int32"), B: T.Buffer((2,), "int32")):
    for i in range(2):
        B[i] = T.if_then_else(A[i] > -5, T.truncdiv(7, A[i]), 0)


@T.prim_func(private=True)
def divided_condition(A: T.Buffer((2,), "int32"), B: T.Buffer((2,), "int32")):
    for i in range(2):
        if T.floordiv(6, A[i]) > 1:
            B[i] = 0


@T.prim_func(private=True)
def power(A: T.Buffer((2,), "int32"), B: T.Buffer((2,), "int32")):
    for i in range(2):
        B[i] = T.shift_left(1, A[i])


@T.prim_func(private=True)
def truncated(A: T.Buffer((2,), "float32"), B: T.Buffer((2,), "int8")):
    for i in range(2):
        B[i] = T.Cast("int8", A[i])


@T.prim_func(private=True)
def far(A: T.Buffer((2,), "int32"), B: T.Buffer((4,), "float32")):
    for i in range(2):
        B[T.floormod(A[i] * 2, 4)] = T.float32(0)


def test_arithmetic_without_a_result() -> None:
    clean(quotient, ints(2, -5), ints(0, 0), outputs=(1,))
    fault = found(quotient, ints(2, 0), ints(0, 0))
    assert (fault.kind, fault.buffer) == (DIVISION, "")
    assert fault.statement.startswith("B[i] = ")
    assert found(divided_condition, ints(0, 1), ints(0, 0)).statement == "6 // A[i]"
    clean(power, ints(0, 31), ints(0, 0))
    assert found(power, ints(0, 32), ints(0, 0)).kind == SHIFT
    assert found(power, ints(0, -1), ints(0, 0)).kind == SHIFT
    short = ints(0, 0, dtype="int8")
    clean(truncated, np.float32([-128.9, 127.9]), short)
    assert found(truncated, np.float32([0, 128]), short).kind == CONVERSION
    assert found(truncated, np.float32([0, np.nan]), short).kind == CONVERSION
    clean(far, ints(3, (1 << 30) - 1), floats(4))
    assert found(far, ints(3, 1 << 30), floats(4)).kind == OVERFLOW


@T.prim_func(private=True)
def copied(A: T.Buffer((3,), "float32"), B: T.Buffer((3,), "float32")):
    T.func_attr({"tirx.noalias": True})
    for i in range(3):
        B[i] = A[i]


@T.prim_func(private=True)
def copied_anywhere(A: T.Buffer((3,), "float32"), B: T.Buffer((3,), "float32")):
    for i in range(3):
        B[i] = A[i]


def test_parameters_that_share_memory() -> None:
    memory = floats(6)
    clean(copied, memory[:3], memory[3:], outputs=(1,))
    assert found(copied, memory[:3], memory[2:5]).kind == ALIASED
    with pytest.raises(Unsupported, match="share memory"):
        sanitize(copied_anywhere, [memory[:3], memory[2:5]])


# Bounds of the sanitizer itself


def doubled(name: str) -> tirx.PrimFunc:
    x = te.placeholder((3,), "float32", name=name)
    return te.create_prim_func([x, te.compute((3,), lambda i: x[i + 1] * x[i], name=f"{name}2")])


def test_names_are_those_of_the_function_at_hand() -> None:
    assert tvm_ffi.structural_equal(doubled("a"), doubled("b"))
    assert found(doubled("a"), floats(3), floats(3)).buffer == "a"
    assert found(doubled("b"), floats(3), floats(3)).buffer == "b"


# What TVM makes of operators


class Watching:
    """Runs PrimFuncs for an evaluator: checked, then not, with the same results."""

    def __init__(self) -> None:
        self.faults: set[str] = set()

    def __call__(self, func: tirx.PrimFunc, args: list[Any], outputs: list[int], _: Any) -> Any:
        fault, own = checked_run(func, args, outputs=outputs)
        if fault is not None:
            self.faults.add(fault.kind)
        result = translate(func)(*args)
        if fault is None:
            assert_same_bits(args, own, str(func))
        return result


def legalized(op: Op, number: int) -> tvm.IRModule:
    """A module with one call of the operator, as TVM lowers it."""
    module = ModuleScope(frozenset())
    choices = Choices(np.random.default_rng([len(op.name), number]).bytes(48 * number))
    scope = Scope(module, [(2, 3, 4)[number % 3], 4, 3, 1], [op.dtypes[0], op.dtypes[-1]])
    scope.dataflow(op.pure)
    scope.exporting = True
    result = scope.bind(op.build(choices, scope))
    scope.pure = op.pure
    scope.close()
    module.add("main", finish(scope, result).with_attr("global_symbol", "main"))
    with tvm.target.Target("llvm"):
        return relax.transform.LegalizeOps()(tvm.IRModule(module.functions))


KNOWN = {
    *("index_put", "slice_scatter", "grad.max_pool2d_backward"),
    *("grad.take_backward", "grad.nll_loss_backward"),
}
"""Operators with faults for some operands, which are on record."""

LEGALIZED = [
    op
    for op in table.values()
    if op.legalizes
    and op.executes
    and op.needs is None
    and op.name not in {*KNOWN, *FAULTY_KERNELS}
][::4]


@pytest.mark.parametrize("op", LEGALIZED, ids=lambda op: op.name)
def test_legalized_operators(op: Op) -> None:
    for number in (0, 1):
        mod = legalized(op, number)
        watching = Watching()
        kind = InputKind.POSITIVE if op.domain[0] >= 0 else InputKind.WHOLE
        args = drawn(mod["main"], kind, number)
        with contextlib.suppress(Unsupported, Undefined):
            Evaluator(mod, prim=watching).run("main", args)
        assert not watching.faults
