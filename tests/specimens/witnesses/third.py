"""Modules on which the third set of drafts is wrong, and others on which it is right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from tvm import relax

from ..witness import Problem, Witness
from .building import INTS, X, of, of_args

op = relax.op

IMAGE = np.arange(24, dtype="float32").reshape(1, 2, 3, 4) / 8
KERNEL = np.array([[1, 2], [3, -1], [0, 1]], "float32").reshape(3, 2, 1, 1)
SCALE = np.array([2, 3], "float32")
SQUARE = np.arange(16, dtype="float32").reshape(2, 2, 4) ** 2
PLACES = np.array([[0, 1, 3], [2, 3, 1]], "int64")


def one_hot(axis: int) -> Callable[..., relax.Expr]:
    return of(lambda x: op.one_hot(x, relax.prim_value(1.0), relax.prim_value(0.0), 4, axis))


def pooled(layout: str) -> Callable[..., relax.Expr]:
    return of(lambda x: op.nn.adaptive_avg_pool2d(x, (1, 1), layout))


def flipped(joined: int, axis: int) -> Callable[..., relax.Expr]:
    return lambda b, x: op.flip(b.emit(op.concat([x, b.emit(op.exp(x))], joined)), axis)


def normalized(groups: int, axis: int, *axes: int) -> Callable[..., relax.Expr]:
    return of(lambda x, a, b: op.nn.group_norm(x, a, b, groups, axis, list(axes)))


CASES: list[tuple[str, Callable[..., relax.Expr], tuple[Any, ...], bool]] = [
    ("drop_tile_of_ones", of(lambda x: op.tile(x, (1, 1, 1))), (X,), True),
    ("drop_tile_of_ones", of(lambda x: op.tile(x, (1, 1))), (X,), False),
    ("argsort_by_flip", of(lambda x: op.argsort(x, 1, True)), (np.ones((2, 3)),), True),
    ("argsort_by_flip", of(lambda x: op.argsort(x, 0, True)), (INTS,), False),
    ("one_hot_by_equal", one_hot(0), (PLACES,), True),
    ("one_hot_by_equal", one_hot(-1), (PLACES,), False),
    ("GlobalPoolAsMean", pooled("NHWC"), (IMAGE,), True),
    ("GlobalPoolAsMean", pooled("NCHW"), (IMAGE,), False),
    ("PointwiseConv", of(op.nn.conv2d), (IMAGE, KERNEL), False),
    ("FlipOfConcat", flipped(0, 1), (X,), True),
    ("FlipOfConcat", flipped(1, 1), (X,), False),
    ("GroupNormOfChannels", normalized(2, 0, 2), (SQUARE, SCALE, SCALE), True),
    ("GroupNormOfChannels", normalized(2, 1, 2, 3), (IMAGE, SCALE, SCALE), False),
]


PROBLEMS: dict[str, Problem] = {
    "drop_tile_of_ones": "interface",
    "one_hot_by_equal": "interface",
    "GlobalPoolAsMean": "ill-formed",
}

WITNESSES = (
    *(
        Witness(name, PROBLEMS.get(name, "values") if shows else None, of_args(body, *args), args)
        for name, body, args, shows in CASES
    ),
    Witness(
        "PointwiseConv",
        "crash",
        of_args(of(lambda x, w: op.nn.conv2d(x, w, groups=2)), IMAGE, KERNEL[:2, :1]),
    ),
)
