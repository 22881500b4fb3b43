"""PrimFuncs on which passes are wrong, and others on which they are not."""

from __future__ import annotations

from typing import Any

import numpy as np
import tvm
from tvm.script import tirx as T

from ..table import SPECIMENS
from ..witness import Problem, Witness


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


@T.prim_func(s_tir=True)
def asked_again(A: T.Buffer((6,), "int32"), B: T.Buffer((6,), "int32")):
    for i in range(6):
        B[i] = A[i]
        if B[i] < 4:
            B[i] = 5
        if B[i] < 4:
            B[i] = 0


@T.prim_func(s_tir=True)
def asked_of_input(A: T.Buffer((6,), "int32"), B: T.Buffer((6,), "int32")):
    for i in range(6):
        B[i] = A[i]
        if A[i] < 4:
            B[i] = 5
        if A[i] < 4:
            B[i] = B[i] + 1


@T.prim_func(s_tir=True)
def half_a_tile(A: T.Buffer((6,), "int32"), B: T.Buffer((6,), "int32")):
    for i in range(20):
        B[i // 4] = A[i // 4] - 1


@T.prim_func(s_tir=True)
def whole_tiles(A: T.Buffer((6,), "int32"), B: T.Buffer((6,), "int32")):
    for i in range(24):
        B[i // 4] = A[i // 4] - 1


SHOWN: list[tuple[str, tuple[Any, ...]]] = [
    ("lowers_floor_division", (clipped_division,)),
    ("folds_scaled_remainders", (far_remainder,)),
    ("divides_comparisons", (window,)),
    ("computes_in_narrow_types", (wide_sum,)),
    ("partitions_loops", (indivisible,)),
    ("hoists_conditions", (bound_condition,)),
    ("vectorizes_bindings", (vector_binding,)),
    ("shares_scratch_buffers", (scratch_in_binding,)),
    ("reuses_small_buffers", (growing_scratch,)),
    ("merges_conditions", (asked_again,)),
    ("tiles_long_loops", (half_a_tile,)),
]

RIGHT: list[tuple[str, tuple[Any, ...]]] = [
    ("lowers_floor_division", (plain_division, tiles)),
    ("folds_scaled_remainders", (near_remainder,)),
    ("divides_comparisons", (tiles,)),
    ("computes_in_narrow_types", (wide_sum,)),
    ("partitions_loops", (tiles,)),
    ("hoists_conditions", (free_condition,)),
    ("vectorizes_bindings", (vector_store,)),
    ("shares_scratch_buffers", (scratch,)),
    ("reuses_small_buffers", (scratch,)),
    ("merges_conditions", (asked_of_input,)),
    ("tiles_long_loops", (whole_tiles,)),
]

SMALL = np.array([3, -2, 5, 1, 4, -7], "int32")
LARGE = np.array([2**31 - 1, -2, 5, 1, 2**31 - 2, -7], "int32")


def witness(name: str, problem: Problem | None, func: Any, numbers: Any) -> Witness:
    mod = tvm.IRModule({"main": func.with_attr("global_symbol", "main")})
    args = (numbers, np.zeros(6, str(func.params[1].ty.dtype)))
    return Witness(name, problem, mod, args, SPECIMENS[name].stages[0])


PROBLEMS: dict[str, Problem] = {
    "vectorizes_bindings": "crash",
    "hoists_conditions": "ill-formed",
    "shares_scratch_buffers": "ill-formed",
}

WITNESSES = (
    *(witness(name, PROBLEMS.get(name, "values"), func, LARGE) for name, (func,) in SHOWN),
    *(witness(name, None, func, SMALL) for name, funcs in RIGHT for func in funcs),
)
