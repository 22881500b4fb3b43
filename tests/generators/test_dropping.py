"""What stands in the place of a value whose binding is dropped."""

from __future__ import annotations

import pytest
from tvm import relax

from relaxfuzz.generators.rewrite.dropping import small_constant


@pytest.mark.parametrize("shape", [(-1, 2), (-1, -1), (0, 2)])
def test_there_is_no_constant_of_such_a_shape(shape: tuple[int, ...]) -> None:
    assert small_constant(relax.TensorType(shape, "float32")) is None


def test_a_constant_of_a_small_shape() -> None:
    assert small_constant(relax.TensorType((2, 3), "float32")) is not None
