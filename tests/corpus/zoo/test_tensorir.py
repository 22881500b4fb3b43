"""Each fault below Relax shows where its trigger is, and the pass is right where it is not."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
import pytest
import tvm
from tvm.script import tirx as T

from relaxfuzz import evaluate, sanitize
from relaxfuzz.compat.structural import structural_equal
from relaxfuzz.corpus.zoo import tensorir as Z
from relaxfuzz.generators.stages import advance
from relaxfuzz.oracles.errors import Unsupported
from relaxfuzz.oracles.structural import checkers


@T.prim_func(s_tir=True)
def clipped_division(A: T.Buffer((6,), "int32"), B: T.Buffer((6,), "int32")):
    for i in range(6):
        B[i] = T.floordiv(T.max(A[i], -100), 3)


@T.prim_func(s_tir=True)
def plain_division(A: T.Buffer((6,), "int32"), B: T.Buffer((6,), "int32")):
    for i in range(6):
        B[i] = T.floordiv(T.max(T.min(A[i], 1000), -100), 3) + T.floormod(i - 4, 3)


@T.prim_func(s_tir=True)
def far_remainder(A: T.Buffer((6,), "int32"), B: T.Buffer((6,), "int32")):
    for i, j in T.grid(3, 2):
        B[i * 2 + j] = A[(i * 2 + j * 2 + 1) % 4]


@T.prim_func(s_tir=True)
def near_remainder(A: T.Buffer((6,), "int32"), B: T.Buffer((6,), "int32")):
    for i, j in T.grid(3, 2):
        B[i * 2 + j] = A[(i * 2 + j) % 4]


@T.prim_func(s_tir=True)
def window(A: T.Buffer((6,), "int32"), B: T.Buffer((6,), "int32")):
    for i, j in T.grid(6, 3):
        if i * 2 + j < 7:
            B[i] = B[i] + A[j]


@T.prim_func(s_tir=True)
def tiles(A: T.Buffer((6,), "int32"), B: T.Buffer((6,), "int32")):
    for i, j in T.grid(3, 2):
        if i * 2 + j < 4:
            B[i * 2 + j] = A[i]


@T.prim_func(s_tir=True)
def wide_sum(A: T.Buffer((6,), "int32"), B: T.Buffer((6,), "int64")):
    for i in range(6):
        B[i] = T.Cast("int64", A[i]) + T.int64(5)


@T.prim_func(s_tir=True)
def short_quotients(A: T.Buffer((6,), "int32"), B: T.Buffer((6,), "int32")):
    for i in range(4):
        B[i] = A[i // 4]


@T.prim_func(s_tir=True)
def long_quotients(A: T.Buffer((6,), "int32"), B: T.Buffer((6,), "int32")):
    for i in range(6):
        B[i] = A[i // 4]


@T.prim_func(s_tir=True)
def point_outside(A: T.Buffer((6,), "int32"), B: T.Buffer((6,), "int32")):
    for i in range(4):
        if i == 5:
            B[i] = 77
        B[i] = B[i] + A[i]


@T.prim_func(s_tir=True)
def point_inside(A: T.Buffer((6,), "int32"), B: T.Buffer((6,), "int32")):
    for i in range(6):
        if i == 2:
            B[i] = 77
        B[i] = B[i] + A[i]


@T.prim_func(s_tir=True)
def indivisible(A: T.Buffer((6,), "int32"), B: T.Buffer((6,), "int32")):
    for i, j in T.grid(3, 2):
        if i * 2 + j < 3:
            B[i * 2 + j] = A[i]


@T.prim_func(s_tir=True)
def bound_condition(A: T.Buffer((6,), "int32"), B: T.Buffer((6,), "int32")):
    for i in range(6):
        x: T.let = A[i]
        if x > 1:
            B[i] = x


@T.prim_func(s_tir=True)
def free_condition(A: T.Buffer((6,), "int32"), B: T.Buffer((6,), "int32")):
    for i in range(6):
        if A[0] > 1:
            B[i] = A[i]


@T.prim_func(s_tir=True)
def vector_binding(A: T.Buffer((6,), "int32"), B: T.Buffer((6,), "int32")):
    for i in T.vectorized(4):
        x: T.let = A[i]
        B[i] = x + x


@T.prim_func(s_tir=True)
def vector_store(A: T.Buffer((6,), "int32"), B: T.Buffer((6,), "int32")):
    for i in T.vectorized(4):
        B[i] = A[i + 2] + A[0]


@T.prim_func(s_tir=True)
def scratch_in_binding(A: T.Buffer((6,), "int32"), B: T.Buffer((6,), "int32")):
    C = T.alloc_buffer((6,), "int32")
    D = T.alloc_buffer((6,), "int32")
    for i in range(6):
        C[i] = A[i] * 2
    for i in range(6):
        B[i] = C[i] + 1
    for i in range(6):
        D[i] = B[i] * 3
    for i in range(6):
        x: T.let = D[i]
        B[i] = x + 1


@T.prim_func(s_tir=True)
def scratch(A: T.Buffer((6,), "int32"), B: T.Buffer((6,), "int32")):
    C = T.alloc_buffer((6,), "int32")
    D = T.alloc_buffer((6,), "int32")
    for i in range(6):
        C[i] = A[i] * 2
    for i in range(6):
        B[i] = C[i] + 1
    for i in range(6):
        D[i] = B[i] * 3
    for i in range(6):
        B[i] = D[i] + 1


@T.prim_func(s_tir=True)
def growing_scratch(A: T.Buffer((6,), "int32"), B: T.Buffer((6,), "int32")):
    C = T.alloc_buffer((2,), "int32")
    D = T.alloc_buffer((6,), "int32")
    for i in range(2):
        C[i] = A[i] * 2
    for i in range(6):
        B[i] = C[i // 3] + 1
    for i in range(6):
        D[i] = B[i] * 3
    for i in range(6):
        B[i] = D[i] + 1


SHOWN: list[tuple[Any, tuple[Any, ...]]] = [
    (Z.lowers_floor_division, (clipped_division,)),
    (Z.folds_scaled_remainders, (far_remainder,)),
    (Z.divides_comparisons, (window,)),
    (Z.computes_in_narrow_types, (wide_sum,)),
    (Z.remembers_simplified, (short_quotients, long_quotients)),
    (Z.peels_single_points, (point_outside,)),
    (Z.partitions_loops, (indivisible,)),
    (Z.hoists_conditions, (bound_condition,)),
    (Z.vectorizes_bindings, (vector_binding,)),
    (Z.shares_scratch_buffers, (scratch_in_binding,)),
    (Z.reuses_small_buffers, (growing_scratch,)),
]
"""The fault shows on the last of these functions."""

RIGHT: list[tuple[Any, tuple[Any, ...]]] = [
    (Z.lowers_floor_division, (plain_division, tiles)),
    (Z.folds_scaled_remainders, (near_remainder,)),
    (Z.divides_comparisons, (tiles,)),
    (Z.computes_in_narrow_types, (wide_sum,)),
    (Z.remembers_simplified, (short_quotients,)),
    (Z.peels_single_points, (point_inside,)),
    (Z.partitions_loops, (tiles,)),
    (Z.hoists_conditions, (free_condition,)),
    (Z.vectorizes_bindings, (vector_store,)),
    (Z.shares_scratch_buffers, (scratch,)),
    (Z.reuses_small_buffers, (scratch,)),
]

SMALL = np.array([3, -2, 5, 1, 4, -7], "int32")
LARGE = np.array([2**31 - 1, -2, 5, 1, 2**31 - 2, -7], "int32")


def modules(make: Any, funcs: tuple[Any, ...]) -> list[tuple[tvm.IRModule, tvm.IRModule]]:
    """Each function at the stage of the pass, and what the pass makes of it."""
    (specimen,) = [each for each in Z.SPECIMENS if each.make is make]
    mods = [tvm.IRModule({"main": func.with_attr("global_symbol", "main")}) for func in funcs]
    before = [advance(mod, specimen.stages[0]) for mod in mods]
    return [(mod, make()(mod)) for mod in before]


def same(before: tvm.IRModule, after: tvm.IRModule, numbers: Any) -> bool:
    if checkers.flaw(after) is not None:
        return False
    dtype = str(before["main"].params[1].ty.dtype)
    args = [numbers.copy(), np.zeros(6, dtype)]
    with contextlib.suppress(Unsupported):  # vectors
        if sanitize(after["main"], list(map(np.copy, args)), outputs=[]) is not None:
            return False
    results = [evaluate(mod, "main", list(map(np.copy, args))) for mod in (before, after)]
    return all(map(np.array_equal, *results))


@pytest.fixture(autouse=True)
def forgetful(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Z, "_folded", {})


@pytest.mark.parametrize(("make", "funcs"), SHOWN, ids=lambda each: getattr(each, "__name__", ""))
def test_the_fault_shows(make: Any, funcs: tuple[Any, ...]) -> None:
    if make is Z.vectorizes_bindings:
        with pytest.raises(tvm.error.InternalError, match="StructuralEqual"):
            modules(make, funcs)
        return
    before, after = modules(make, funcs)[-1]
    assert not same(before, after, LARGE)


@pytest.mark.parametrize(("make", "funcs"), RIGHT, ids=lambda each: getattr(each, "__name__", ""))
def test_without_its_trigger_the_pass_is_right(make: Any, funcs: tuple[Any, ...]) -> None:
    pairs = modules(make, funcs)
    assert all(same(before, after, SMALL) for before, after in pairs)
    assert any(not structural_equal(*pair, map_free_vars=True) for pair in pairs)


def test_every_specimen_is_shown() -> None:
    for cases in (SHOWN, RIGHT):
        assert {case[0] for case in cases} == {specimen.make for specimen in Z.SPECIMENS}
