"""Each pass of the third set acts on a module, and shows its mistake on some of them only."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tvm_ffi
from tvm import relax

from relaxfuzz import evaluate
from relaxfuzz.oracles.structural.checkers import flaw
from tests.first_drafts import THIRD
from tests.first_drafts.modules import INTS, X, acted, module, of, pass_of, tensor

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
    ("SoftplusByLog", of(lambda x: op.nn.softplus(x, 0.5)), (X,), True),
    ("SoftplusByLog", of(op.nn.softplus), (X,), False),
    ("PointwiseConv", of(op.nn.conv2d), (IMAGE, KERNEL), False),
    ("FlipOfConcat", flipped(0, 1), (X,), True),
    ("FlipOfConcat", flipped(1, 1), (X,), False),
    ("GroupNormOfChannels", normalized(2, 0, 2), (SQUARE, SCALE, SCALE), True),
    ("GroupNormOfChannels", normalized(2, 1, 2, 3), (IMAGE, SCALE, SCALE), False),
]


def test_each_has_a_case() -> None:
    tests = Path(__file__).read_text()
    assert [s.name for s in THIRD if not re.search(rf'"{s.name}"', tests)] == []


@pytest.mark.parametrize(("name", "body", "args", "shows"), CASES)
def test_values_and_types(name: str, body: Any, args: Any, shows: bool) -> None:
    mod = module(body, *(tensor(*arg.shape, dtype=str(arg.dtype)) for arg in args))
    assert flaw(mod) is None
    after = acted(name, mod)
    kept = flaw(after) is None and tvm_ffi.structural_equal(mod["main"].ty, after["main"].ty)
    if kept:
        a, b = (evaluate(m, "main", [np.copy(arg) for arg in args]) for m in (mod, after))
        kept = np.allclose(a, b, rtol=1e-4, atol=1e-5)
    assert kept is not shows


def test_a_convolution_with_groups() -> None:
    body = of(lambda x, w: op.nn.conv2d(x, w, groups=2))
    mod = module(body, tensor(*IMAGE.shape), tensor(2, 1, 1, 1))
    assert flaw(mod) is None
    with pytest.raises(Exception, match=r"reshape|size|shape"):
        pass_of("PointwiseConv")(mod)
