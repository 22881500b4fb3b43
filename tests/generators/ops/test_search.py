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
