"""A fused loop is run as the loops that it stands for, and gives what it gives as it stands."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tvm import s_tir, tirx
from tvm.script import tirx as T

from relaxfuzz.oracles.tensorir import STEPS, translate
from relaxfuzz.oracles.tensorir.program import compiled
from relaxfuzz.oracles.tensorir.statements import Statements

from .native import assert_same_bits, copies
from .test_contraction import convolution

RNG = np.random.default_rng(0)


@T.prim_func(s_tir=True)
def fused(
    A: T.Buffer((2, 3, 8), "int32"), B: T.Buffer((3, 8), "int32"), C: T.Buffer((2, 8), "int32")
):
    for f in range(48):
        with T.sblock("sums"):
            i = T.axis.spatial(2, f // 24)
            k = T.axis.reduce(3, f % 24 // 8)
            j = T.axis.spatial(8, f % 8)
            with T.init():
                C[i, j] = 0
            C[i, j] = C[i, j] + A[i, k, j] * B[k, j]


@T.prim_func
def also_whole(A: T.Buffer((12,), "int32"), C: T.Buffer((3,), "int32")):
    for f in range(12):
        C[f // 4] = C[f // 4] * 2 + A[f] * (f % 4)


@T.prim_func
def no_digits(A: T.Buffer((4, 6), "int32"), C: T.Buffer((3,), "int32")):
    for f in range(12):
        C[f // 4] = C[f // 4] * 2 + A[f // 6, f % 6]


@T.prim_func
def in_order(A: T.Buffer((4, 5), "int32"), C: T.Buffer((5,), "int32")):
    for f in range(20):
        C[f % 5] = C[f % 5] * 3 - A[f // 5, f % 5]


def arguments(func: tirx.PrimFunc) -> list[Any]:
    """Whole numbers for its parameters."""
    types = [param.ty for param in func.params]
    return [
        RNG.integers(-9, 9, [int(dim) for dim in ty.shape]).astype(str(ty.dtype)) for ty in types
    ]


@pytest.mark.parametrize("func", [fused, also_whole, no_digits, in_order])
def test_it_gives_what_the_loop_gives(func: tirx.PrimFunc) -> None:
    mine = arguments(func)
    theirs = copies(mine)
    translate(func)(*mine)
    compiled(Statements().function(func))(STEPS, *theirs)
    assert_same_bits(mine, theirs)


@pytest.mark.parametrize(("func", "loops"), [(fused, 0), (in_order, 1), (no_digits, 1)])
def test_only_what_needs_an_order_is_run_in_turn(func: tirx.PrimFunc, loops: int) -> None:
    assert translate(func).text.count("for ") == loops


def test_a_convolution_with_all_loops_fused_is_one_contraction() -> None:
    schedule = s_tir.Schedule(convolution)
    schedule.fuse(*schedule.get_loops(schedule.get_sblock("conv")))
    func = schedule.mod["main"]
    text = translate(func).text
    assert "fold_product" in text
    assert "for " not in text
    mine = arguments(func)
    theirs = copies(mine)
    translate(func)(*mine)
    translate(convolution)(*theirs)
    assert_same_bits(mine, theirs)
