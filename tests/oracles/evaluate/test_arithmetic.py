"""Symbolic arithmetic, alone and as the dimensions of shapes."""

from __future__ import annotations

from typing import Any

import pytest
from tvm import relax, tirx
from tvm.ir import PrimType

from relaxfuzz.compat import ir
from relaxfuzz.oracles.errors import Undefined, Unsupported
from relaxfuzz.oracles.evaluate import Evaluator

N, M = tirx.Var("n", "int64"), tirx.Var("m", "int64")


def value(expr: Any, n: int = 7, m: int = 3) -> Any:
    """What a function of two numbers gives that returns the expression."""
    result = relax.Var("result", PrimType(str(expr.ty.dtype)))
    block = relax.BindingBlock([relax.VarBinding(result, expr)])
    func = relax.Function([N, M], relax.SeqExpr([block], result), result.ty)
    mod = relax.BlockBuilder().get()
    mod["main"] = func
    return Evaluator(mod).run("main", [n, m])


def i64(number: int) -> tirx.IntImm:
    return tirx.IntImm("int64", number)


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        (N * 4 + M - 1, 30),
        (N // M, 2),
        (N % M, 1),
        (tirx.truncdiv(-N, M), -2),
        (tirx.truncmod(-N, M), -1),
        (tirx.floordiv(-N, M), -3),
        (tirx.floormod(-N, M), 2),
        (tirx.ceildiv(N, M), 3),
        (ir.Min(N, M), 3),
        (ir.Max(N, M), 7),
        (ir.Select(N > M, M, N), 3),
        (tirx.if_then_else(N < M, M, N), 7),
        (tirx.shift_left(N, i64(2)), 28),
        (tirx.shift_right(N, i64(1)), 3),
        (N & M, 3),
        (N | 8, 15),
        (N ^ M, 4),
        (tirx.bitwise_not(N), -8),
        (tirx.all(N >= M, ir.Not(N == M)), True),
        (tirx.any(N < M, N != M), True),
        (ir.Cast("int8", N * 37), 3),
        (ir.Cast("uint8", -N), 249),
        (ir.Cast("int64", ir.Cast("float32", N) / tirx.FloatImm("float32", 2)), 3),
        (ir.Cast("float32", i64(2**24 + 1)), 2.0**24),
        (ir.Let(M, N + 1, M * M), 64),
        (tirx.sqrt(ir.Cast("float64", N + 2)), 3.0),
        (tirx.power(ir.Cast("float64", M), tirx.FloatImm("float64", 2)), 9.0),
        (ir.Cast("int64", tirx.likely(N > M)), 1),
    ],
    ids=str,
)
def test_arithmetic(expr: Any, expected: float) -> None:
    assert value(expr) == expected


def test_int64_wraps_around() -> None:
    assert value(N * M, n=2**62, m=2) == -(2**63)


@pytest.mark.parametrize(
    "expr",
    [N // (M - 3), tirx.shift_left(N, M + 61), tirx.log(ir.Cast("float64", M - 4))],
    ids=str,
)
def test_undefined_arithmetic_raises(expr: Any) -> None:
    with pytest.raises(Undefined):
        value(expr)


def test_an_intrinsic_that_is_not_known_is_named() -> None:
    with pytest.raises(Unsupported, match="clz"):
        value(tirx.clz(N))
