"""References of sorts and selections where type inference takes more than NumPy does."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from tvm import relax

from relaxfuzz.generators.ops import table


def call(build: Callable[[relax.Expr], relax.Call], shape: tuple[int, ...]) -> relax.Call:
    return build(relax.Var("x", relax.TensorType(shape, "float32")))


@pytest.mark.parametrize(
    ("name", "expected"), [("sort", np.float32(2.5)), ("argsort", np.int32(0))]
)
def test_a_scalar_is_sorted(name: str, expected: object) -> None:
    made = call(getattr(relax.op, name), ())
    result = table[name].reference([np.array(2.5, "float32")], made.attrs)
    np.testing.assert_array_equal(result, expected, strict=True)


@pytest.mark.parametrize(("k", "count"), [(2, 2), (3, 3), (9, 3), (0, 3), (-5, 3)])
def test_no_more_is_selected_than_there_is(k: int, count: int) -> None:
    made = call(lambda x: relax.op.topk(x, k), (3,))
    values, indices = table["topk"].reference([np.array([1, 3, 2], "float32")], made.attrs)
    assert values.tolist() == [3, 2, 1][:count]
    assert indices.tolist() == [1, 2, 0][:count]
