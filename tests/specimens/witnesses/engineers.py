"""Modules on which passes of engineers are wrong, and others on which they are right."""

from __future__ import annotations

from typing import Any

import numpy as np
import tvm
from tvm import relax

from ..witness import Problem, Witness
from .building import INTS, Body, X, const, of, of_args

op = relax.op

CUBE = np.arange(8, dtype="float32").reshape(2, 2, 2)
BYTES = np.array([[100, -3, 5], [7, 12, 16]], "int8")


def pads(value: float) -> Body:
    """Two pads, the first with 0 and the second with this."""
    return lambda b, x: op.nn.pad(
        b.emit(op.nn.pad(x, [1, 1, 0, 0])), [0, 1, 1, 0], "constant", value
    )


def expanded(axis: int) -> Body:
    return lambda b, x: op.expand_dims(b.emit(op.sum(x, [0])), axis)


def halves(b: relax.BlockBuilder, x: relax.Expr) -> relax.Expr:
    return relax.TupleGetItem(b.emit(op.split(x, 2, 1)), 0)


def absolute_square(b: relax.BlockBuilder, x: relax.Expr) -> relax.Expr:
    return op.abs(b.emit(op.multiply(x, x)))


def transposed_product(b: relax.BlockBuilder, x: relax.Expr, y: relax.Expr) -> relax.Expr:
    return op.permute_dims(b.emit(op.matmul(x, y)))


def maximum(same: bool) -> Body:
    return lambda b, x, y: op.maximum(x, b.emit(op.negative(x if same else y)))


def summed(dtype: str) -> Body:
    return lambda b, x: op.add(x, b.emit(op.sum(const([100, 100, 100], dtype), [0])))


def left_sums(b: relax.BlockBuilder, *xs: relax.Expr) -> relax.Expr:
    total = xs[0]
    for x in xs[1:]:
        total = b.emit(op.add(total, x))
    return total


ROWS: list[tuple[str, Problem | None, tvm.IRModule, tuple[Any, ...]]] = [
    ("merge_pads", "values", of_args(pads(2.0), X), (X,)),
    ("merge_pads", None, of_args(pads(0.0), X), (X,)),
    ("keepdims_for_expand_dims", "interface", of_args(expanded(-1), X), (X,)),
    ("keepdims_for_expand_dims", None, of_args(expanded(0), X), (X,)),
    ("split_to_slices", "interface", of_args(halves, X), (X,)),
    ("split_to_slices", None, of_args(halves, X[:, :2]), (X[:, :2],)),
    ("drop_abs_of_square", "values", of_args(absolute_square, BYTES), (BYTES,)),
    ("drop_abs_of_square", None, of_args(absolute_square, X), (X,)),
    ("transpose_of_matmul", "values", of_args(transposed_product, CUBE, CUBE), (CUBE, CUBE)),
    ("transpose_of_matmul", None, of_args(transposed_product, X, X.T), (X, X.T)),
    ("abs_from_maximum", "values", of_args(maximum(False), X, 2 * X), (X, 2 * X)),
    ("abs_from_maximum", None, of_args(maximum(True), X, X), (X, X)),
    ("fold_constant_sums", "crash", of_args(summed("int8"), BYTES), (BYTES,)),
    ("fold_constant_sums", None, of_args(summed("float32"), X), (X,)),
    (
        "lower_rsqrt",
        "crash",
        of_args(of(op.rsqrt), X.astype("float16")),
        (abs(X).astype("float16"),),
    ),
    ("lower_rsqrt", None, of_args(of(op.rsqrt), X), (abs(X),)),
    ("lean_sums_right", "unstable", of_args(left_sums, *[INTS] * 4), (INTS,) * 4),
    ("lean_sums_right", None, of_args(left_sums, *[INTS] * 3), (INTS,) * 3),
]

WITNESSES = tuple(Witness(name, problem, mod, args) for name, problem, mod, args in ROWS)
