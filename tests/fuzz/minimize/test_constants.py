"""Constants hold ones, zeros, or a plain sequence where their data does not matter."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import tvm

from relaxfuzz.fuzz.minimize.attributes import plain_constants
from relaxfuzz.fuzz.minimize.search import minimize
from relaxfuzz.oracles.inspect import calls_of

Written = Callable[[str], tvm.IRModule]

BODY = """
@R.function
def main(x: R.Tensor((3,), "float32")):
    lv = R.add(x, R.const([5, 0, 0.5], "float32"))
    lv1 = R.multiply(lv, R.const([9, 8, 7], "float32"))
    return lv1
"""


def data(mod: tvm.IRModule) -> list[list[float]]:
    return [
        calls_of(mod, op)[0].args[1].value.numpy().tolist()
        for op in ("relax.add", "relax.multiply")
    ]


def test_all_become_ones(written: Written) -> None:
    small = minimize(written(BODY), lambda mod: True, reductions=(plain_constants,))
    assert data(small) == [[1, 1, 1], [1, 1, 1]]


@pytest.mark.parametrize(
    ("needed", "left"),
    [
        (lambda values: values.any(), [1, 1, 1]),
        (lambda values: 0 in values, [0, 0, 0]),
        (lambda values: len(set(values)) == 3, [0, 1, 2]),
        (lambda values: 5 in values, [5, 0, 0.5]),
    ],
)
def test_what_is_needed_of_one_stays(
    written: Written, needed: Callable[[np.ndarray], bool], left: list[float]
) -> None:
    def holds(mod: tvm.IRModule) -> bool:
        return needed(np.array(data(mod)[0]))

    small = minimize(written(BODY), holds, reductions=(plain_constants,))
    assert data(small) == [left, [1, 1, 1]]
