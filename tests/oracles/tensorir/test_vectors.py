"""Vectors of code for CPUs in the sanitizer: each lane accesses an address of its own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tvm
from tvm import tirx
from tvm.script import tirx as T

from relaxfuzz.oracles.errors import TooLarge
from relaxfuzz.oracles.tensorir import sanitize
from relaxfuzz.oracles.tensorir.sanitizer.runtime import (
    CONVERSION,
    DIVISION,
    OVERFLOW,
    READ_OUTSIDE,
    SHIFT,
    UNINITIALISED,
    UNWRITTEN,
    WRITE_OUTSIDE,
)

from .native import assert_same_bits, copies, run_native
from .test_sanitizer import clean, floats, found, ints

Func = tirx.PrimFunc


def kind_of(func: Func, *args: Any, outputs: tuple[int, ...] = ()) -> str:
    return found(func, *args, outputs=outputs).kind


def like_compiled(func: Func, *args: Any, outputs: tuple[int, ...] = ()) -> list[Any]:
    """There is no fault, and the arguments are left as compiled code leaves them."""
    own = clean(func, *args, outputs=outputs)
    native = run_native({"f": func}, {"f": copies(args)})["f"]
    assert_same_bits(native, own)
    return own


@T.prim_func
def tail(A: T.Buffer((30,), "float32"), B: T.Buffer((30,), "float32")):
    for i in range(8):
        B[T.Ramp(i * 4, 1, 4)] = T.Broadcast(T.float32(1), 4)


@T.prim_func
def whole(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32")):
    for i in range(8):
        B[T.Ramp(i * 4, 1, 4)] = A[T.Ramp(i * 4, 1, 4)] * T.Broadcast(T.float32(2), 4)


def test_a_store_past_the_end() -> None:
    fault = found(tail, floats(30), floats(30))
    assert (fault.kind, fault.buffer, fault.index) == (WRITE_OUTSIDE, "B", (30,))
    assert fault.shape == (30,)
    assert "B[i * 4:i * 4 + 4]" in fault.statement
    _, b = like_compiled(whole, floats(32), floats(32), outputs=(1,))
    assert b[31] == 62


@T.prim_func
def one_before(A: T.Buffer((8,), "float32"), B: T.Buffer((4,), "float32")):
    B[T.Ramp(0, 1, 4)] = A[T.Ramp(2, -1, 4)]


@T.prim_func
def backwards(A: T.Buffer((8,), "float32"), B: T.Buffer((4,), "float32")):
    B[T.Ramp(0, 1, 4)] = A[T.Ramp(6, -2, 4)]


def test_a_read_before_the_begin() -> None:
    fault = found(one_before, floats(8), floats(4))
    assert (fault.kind, fault.buffer, fault.index) == (READ_OUTSIDE, "A", (-1,))
    _, b = like_compiled(backwards, floats(8), floats(4), outputs=(1,))
    assert b.tolist() == [6, 4, 2, 0]


@T.prim_func
def short_copy(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    C = T.alloc_buffer((8,))
    for i in range(7):
        C[i] = A[i]
    for i in range(2):
        B[T.Ramp(i * 4, 1, 4)] = C[T.Ramp(i * 4, 1, 4)]


@T.prim_func
def full_copy(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    C = T.alloc_buffer((8,))
    for i in range(2):
        C[T.Ramp(i, 2, 4)] = A[T.Ramp(i, 2, 4)]
    for i in range(2):
        B[T.Ramp(i * 4, 1, 4)] = C[T.Ramp(i * 4, 1, 4)]


def test_a_lane_that_nobody_wrote() -> None:
    fault = found(short_copy, floats(8), floats(8))
    assert (fault.kind, fault.buffer, fault.index) == (UNINITIALISED, "C", (7,))
    like_compiled(full_copy, floats(8), floats(8), outputs=(1,))
    assert kind_of(full_copy, floats(8), floats(8), outputs=(0,)) == UNINITIALISED


@T.prim_func
def half(B: T.Buffer((8,), "float32")):
    B[T.Ramp(0, 2, 4)] = T.Broadcast(T.float32(1), 4)


def test_an_output_of_which_lanes_are_left() -> None:
    fault = found(half, floats(8), outputs=(0,))
    assert (fault.kind, fault.index) == (UNWRITTEN, (1,))


@T.prim_func
def selected(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    C = T.alloc_buffer((4,))
    C[T.Ramp(0, 1, 2)] = A[T.Ramp(0, 1, 2)]
    B[T.Ramp(0, 1, 4)] = T.Select(
        T.Ramp(0, 1, 4) < T.Broadcast(2, 4),
        C[T.Ramp(0, 1, 4)],
        T.Select(
            T.Ramp(0, 1, 4) < T.Broadcast(3, 4),
            T.Broadcast(T.float32(7), 4),
            A[T.Ramp(0, 1, 4)],
        ),
    )


@T.prim_func
def selected_more(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    C = T.alloc_buffer((4,))
    C[T.Ramp(0, 1, 2)] = A[T.Ramp(0, 1, 2)]
    B[T.Ramp(0, 1, 4)] = T.Select(
        T.Ramp(0, 1, 4) < T.Broadcast(3, 4), C[T.Ramp(0, 1, 4)], T.Broadcast(T.float32(7), 4)
    )


@T.prim_func
def selected_outside(A: T.Buffer((3,), "float32"), B: T.Buffer((4,), "float32")):
    B[T.Ramp(0, 1, 4)] = T.Select(
        T.Ramp(0, 1, 4) < T.Broadcast(3, 4), A[T.Ramp(0, 1, 4)], T.Broadcast(T.float32(7), 4)
    )


def test_a_value_that_is_not_selected_is_read_but_not_used() -> None:
    _, b = like_compiled(selected, floats(4), floats(4), outputs=(1,))
    assert b.tolist() == [0, 1, 7, 3]
    fault = found(selected_more, floats(4), floats(4), outputs=(1,))
    assert (fault.kind, fault.index) == (UNINITIALISED, (2,))
    # Nothing makes a condition of it: RewriteUnsafeSelect leaves vectors as they are.
    assert kind_of(selected_outside, floats(3), floats(4), outputs=(1,)) == READ_OUTSIDE


@T.prim_func
def gathered(
    A: T.Buffer((4,), "float32"), K: T.Buffer((4,), "int32"), B: T.Buffer((4,), "float32")
):
    B[T.Ramp(0, 1, 4)] = A[K[T.Ramp(0, 1, 4)]]


@T.prim_func
def scattered(K: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32")):
    B[K[T.Ramp(0, 1, 4)]] = T.Ramp(0, 1, 4)


@T.prim_func
def far(K: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32")):
    B[T.Ramp(0, 1, 4)] = B[K[T.Ramp(0, 1, 4)] * K[T.Ramp(0, 1, 4)] % T.Broadcast(4, 4)]


def test_indices_that_are_loaded() -> None:
    a, b = floats(4), floats(4)
    clean(gathered, a, ints(3, 0, 0, 1), b, outputs=(2,))
    fault = found(gathered, a, ints(3, 0, -1, 1), b)
    assert (fault.kind, fault.index) == (READ_OUTSIDE, (-1,))
    clean(scattered, ints(3, 0, 1, 2), ints(0, 0, 0, 0), outputs=(1,))
    assert kind_of(scattered, ints(3, 0, 1, 1), ints(0, 0, 0, 0), outputs=(1,)) == UNWRITTEN
    assert kind_of(scattered, ints(3, 0, 1, 4), ints(0, 0, 0, 0)) == WRITE_OUTSIDE
    clean(far, ints(1, 2, 3, 4), ints(0, 0, 0, 0))
    assert kind_of(far, ints(1, 2, 1 << 16, 4), ints(0, 0, 0, 0)) == OVERFLOW


@T.prim_func
def last_one(A: T.Buffer((4,), "float32"), B: T.Buffer((2,), "float32")):
    B[T.Broadcast(1, 4)] = A[T.Ramp(0, 1, 4)]
    B[0] = B[1]


def test_of_a_vector_that_goes_to_one_element_the_last_lane_is_left() -> None:
    _, b = like_compiled(last_one, floats(4), floats(2), outputs=(1,))
    assert b.tolist() == [3, 3]


@T.prim_func
def divided(A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32")):
    B[T.Ramp(0, 1, 4)] = T.truncdiv(T.Broadcast(6, 4), A[T.Ramp(0, 1, 4)])


@T.prim_func
def moved(A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32")):
    B[T.Ramp(0, 1, 4)] = T.shift_left(T.Broadcast(1, 4), A[T.Ramp(0, 1, 4)])


@T.prim_func
def truncated(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "int8")):
    B[T.Ramp(0, 1, 4)] = T.Cast("int8x4", A[T.Ramp(0, 1, 4)])


def test_arithmetic_without_a_result_in_one_lane() -> None:
    zeros = ints(0, 0, 0, 0)
    _, b = like_compiled(divided, ints(1, 4, -4, 5), zeros, outputs=(1,))
    assert b.tolist() == [6, 1, -1, 1]
    assert kind_of(divided, ints(1, 2, 0, 4), zeros) == DIVISION
    like_compiled(moved, ints(0, 1, 2, 31), zeros, outputs=(1,))
    assert kind_of(moved, ints(0, 1, 2, 32), zeros) == SHIFT
    small = np.zeros(4, "int8")
    like_compiled(truncated, floats(4), small, outputs=(1,))
    assert kind_of(truncated, floats(4) * 100, small) == CONVERSION


def flat(mod: tvm.IRModule) -> tvm.IRModule:
    for each in (tirx.transform.FlattenBuffer(), tirx.transform.VectorizeLoop()):
        mod = each(mod)
    return mod


def test_the_budget_is_charged_for_each_lane() -> None:
    args = [floats(32), floats(32)]
    assert sanitize(whole, args, 8 * (1 + 4 + 4)) is None
    with pytest.raises(TooLarge):
        sanitize(whole, args, 8 * (1 + 4 + 4) - 1)
