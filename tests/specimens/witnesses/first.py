"""Modules on which the first set of drafts is wrong, and others on which it is right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tvm
from tvm import relax

from ..witness import Witness
from .building import INTS, X, const, module, of, of_args, private_calls, tensor

op = relax.op


def split(b: relax.BlockBuilder, x: relax.Expr, *order: int) -> relax.Expr:
    parts = b.emit(op.split(x, 3, 1))
    return op.concat([b.emit(relax.TupleGetItem(parts, i)) for i in order], 1)


def softmaxes(b: relax.BlockBuilder, x: relax.Expr, *axes: int) -> relax.Expr:
    first, second = (b.emit(op.nn.softmax(x, axis)) for axis in axes)
    return op.subtract(first, b.emit(op.multiply(second, const(2.0))))


VALUES: list[tuple[str, Callable[..., relax.Expr], tuple[Any, ...], bool]] = [
    ("divide_by_reciprocal", of(lambda x: op.divide(x, const(2, "int32"))), (INTS,), True),
    ("divide_by_reciprocal", of(lambda x: op.divide(x, const(2.0))), (X,), False),
    ("strength_reduce_power", of(lambda x: op.power(x, const(2.5))), (abs(X),), True),
    ("strength_reduce_power", of(lambda x: op.power(x, const(3.0))), (X,), False),
    ("LowerLeakyRelu", of(lambda x: op.nn.leakyrelu(x, 2.0)), (X,), True),
    ("LowerLeakyRelu", of(lambda x: op.nn.leakyrelu(x, 0.1)), (X,), False),
    ("DropTrivialScans", of(lambda x: op.cumsum(x, 1, exclusive=True)), (X[:, :1],), True),
    ("DropTrivialScans", of(lambda x: op.cumsum(x, 1)), (X[:, :1],), False),
    (
        "FuseMatmulBias",
        of(lambda x, w, b: op.subtract(b, op.matmul(x, w))),
        (X, X.T, X[0, :2]),
        True,
    ),
    ("FuseMatmulBias", of(lambda x, w, b: op.add(b, op.matmul(x, w))), (X, X.T, X[0, :2]), False),
    ("concat_of_split", lambda b, x: split(b, x, 2, 0, 1), (X,), True),
    ("concat_of_split", lambda b, x: split(b, x, 0, 1, 2), (X,), False),
    ("combine_equal_calls", lambda b, x: softmaxes(b, x, 0, 1), (X,), True),
    ("combine_equal_calls", lambda b, x: softmaxes(b, x, 1, 1), (X,), False),
    ("drop_inner_reshape", of(lambda x: op.reshape(op.reshape(x, (6,)), (3, 2))), (X,), False),
]


def add_relu(b: relax.BlockBuilder, x: relax.Expr, *, twice: bool) -> relax.Expr:
    total = b.emit(op.add(x, x))
    active = b.emit(op.nn.relu(total))
    return op.multiply(active, total if twice else x)


def matmul(x: relax.Expr, dtype: str | None) -> relax.Expr:
    return op.matmul(x, op.permute_dims(x), out_dtype=dtype)


def transposed(x: relax.Expr, axes: list[int]) -> relax.Expr:
    return op.permute_dims(op.permute_dims(x, axes), axes)


RETYPED = ("cancel_transposes", "split_big_matmul")
"""Drafts after which a function has another type."""

ILL_FORMED: list[tuple[str, tvm.IRModule, bool]] = [
    ("FuseAddRelu", module(lambda b, x: add_relu(b, x, twice=True), tensor(2, 3)), True),
    ("FuseAddRelu", module(lambda b, x: add_relu(b, x, twice=False), tensor(2, 3)), False),
    (
        "cancel_transposes",
        module(of(lambda x: transposed(x, [1, 2, 0])), tensor(2, 3, 4)),
        True,
    ),
    (
        "cancel_transposes",
        module(of(lambda x: transposed(x, [1, 0, 2])), tensor(2, 3, 4)),
        False,
    ),
    (
        "split_big_matmul",
        module(of(lambda x: matmul(x, "float32")), tensor(2, 8, dtype="float16")),
        True,
    ),
    ("split_big_matmul", module(of(lambda x: matmul(x, None)), tensor(2, 8)), False),
    ("InlinePrivate", private_calls(2), True),
    ("InlinePrivate", private_calls(1), False),
]


def bound_by_match_cast(b: relax.BlockBuilder, x: relax.Expr) -> relax.Expr:
    return op.nn.relu(b.match_cast(x, tensor(2, 3)))


CRASHES: list[tuple[str, tvm.IRModule, tvm.IRModule]] = [
    (
        "drop_repeated_relu",
        module(bound_by_match_cast, tensor(2, 3)),
        module(of(lambda x: op.nn.relu(op.nn.relu(x))), tensor(2, 3)),
    ),
]


WITNESSES = (
    *(
        Witness(name, "values" if shows else None, of_args(body, *args), args)
        for name, body, args, shows in VALUES
    ),
    *(
        Witness(name, None if not shows else "interface" if name in RETYPED else "ill-formed", mod)
        for name, mod, shows in ILL_FORMED
    ),
    *(Witness(name, "crash", bad) for name, bad, _ in CRASHES),
    *(Witness(name, None, good) for name, _, good in CRASHES),
)
