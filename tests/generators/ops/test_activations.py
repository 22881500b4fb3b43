"""References of activations where the operands are at an end of the range of the floats."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from relaxfuzz.generators.ops import table


@pytest.mark.parametrize(
    ("dtype", "x", "threshold"),
    [("float16", 12, 20), ("float16", 19, 20), ("float32", 95, 200), ("float64", 800, 1000)],
)
def test_softplus_is_finite_where_its_exponential_is_not(
    dtype: str, x: float, threshold: float
) -> None:
    operand = np.array([x, -x, 0], dtype)
    attrs = SimpleNamespace(beta=1.0, threshold=threshold)
    op = table["nn.softplus"]
    result = op.reference([operand], attrs)
    np.testing.assert_allclose(result, np.array([x, 0, np.log(2)], dtype), rtol=1e-3, atol=1e-4)
    assert op.undefined_for([operand], result, attrs) is None
