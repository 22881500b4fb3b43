"""Comparison of results: exact where it must be, lenient where rounding decides."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from relaxfuzz.generators.ops.record import Tolerance
from relaxfuzz.oracles.expected.comparison import COARSE, difference, finite, perturbed
from relaxfuzz.oracles.expected.expectation import PHASES


def array(*items: Any, dtype: Any = "float32") -> np.ndarray:
    return np.array(items, dtype)


@pytest.mark.parametrize(
    ("actual", "kind"),
    [
        (array(1.0, 2.0), None),
        (array(1.0, 2.0005), None),
        (array(1.0, 2.1), "values"),
        (array(1.0, 2.0, dtype="float64"), "dtype"),
        (array(1.0), "shape"),
        ((array(1.0), array(2.0)), "structure"),
    ],
)
def test_floats(actual: Any, kind: str | None) -> None:
    found = difference(array(1.0, 2.0), actual)
    assert (found and found.split(":")[0]) == kind


def test_integers_are_exact() -> None:
    assert difference(array(1, 2, dtype="int64"), array(1, 3, dtype="int64")) is not None


def test_order_of_fields_counts() -> None:
    one, two = array(1.0), array(2.0)
    assert difference((one, two), (two, one)) is not None
    assert difference((one, (two,)), (one, two)) is not None


def test_nan_equals_nan_and_infinity_itself() -> None:
    odd = array(np.nan, np.inf)
    assert difference(odd, odd) is None
    assert difference(odd, array(np.nan, -np.inf)) is not None


def test_what_moves_with_rounding_may_differ_by_as_much() -> None:
    expected, sensitive = array(1.0, 1.0), array(1.1, 1.0)
    assert difference(expected, array(1.5, 1.0), [sensitive]) is None
    assert difference(expected, array(1.0, 1.5), [sensitive]) is not None


def test_an_index_that_moves_with_rounding_is_not_compared() -> None:
    expected, sensitive = array(3, 4, dtype="int32"), array(2, 4, dtype="int32")
    assert difference(expected, array(9, 4, dtype="int32"), [sensitive]) is None
    assert difference(expected, array(3, 9, dtype="int32"), [sensitive]) is not None


def test_a_loose_tolerance_is_looser() -> None:
    loose = Tolerance(float32=0.2)
    assert difference(array(1.0), array(1.1)) is not None
    assert difference(array(1.0), array(1.1), tolerance=loose) is None


def test_bfloat16_is_a_float() -> None:
    one, near = array(1.0, dtype=ml_dtypes.bfloat16), array(1.0078, dtype=ml_dtypes.bfloat16)
    assert difference(one, near) is None
    assert difference(one, array(2.0, dtype=ml_dtypes.bfloat16)) is not None


def test_the_leeway_of_short_floats_is_not_half_of_their_value() -> None:
    two = array(2.0, dtype=ml_dtypes.bfloat16)
    shaken = [perturbed(two, phase) for phase in PHASES]
    assert difference(two, array(3.0, dtype=ml_dtypes.bfloat16), shaken) is not None
    assert difference(two, array(2.0625, dtype=ml_dtypes.bfloat16), shaken) is None


def test_perturbed_moves_floats_by_a_few_units_and_nothing_else() -> None:
    value = (array(1.0, -2.0), array(3, dtype="int32"), (2, 3))
    floats, ints, shape = perturbed(value)
    assert (floats != value[0]).all()
    assert np.abs(floats - value[0]).max() < 1e-5
    assert (ints == value[1]).all()
    assert shape == (2, 3)


def test_perturbed_leaves_a_tensor_of_rank_0_a_tensor() -> None:
    moved = perturbed(np.array(16777215.0, "float32"))
    assert isinstance(moved, np.ndarray)
    assert moved.shape == ()
    assert moved != 16777215.0


def test_each_number_is_moved_up_and_down() -> None:
    """Else what float16 rounds up to 1 is no whole number for a floor behind it."""
    value = np.full((8, 2), 0.9998, "float32")
    moved = [np.floor(perturbed(value, phase, COARSE)) for phase in PHASES]
    assert (np.max(moved, axis=0) == 1).all()
    assert (np.min(moved, axis=0) == 0).all()


def test_finite() -> None:
    assert finite((array(1.0), array(1, dtype="int8"), finite))  # a function is no number
    assert not finite((array(1.0), array(np.inf)))
    assert not finite(array(np.nan, dtype=ml_dtypes.bfloat16))


def test_perturbed_moves_subnormal_numbers_and_leaves_zeros_and_infinities() -> None:
    value = array(1.4e-45, -1.2e-38, 0.0, np.inf, -np.inf)
    moved = perturbed(value)
    assert (moved[:2] != value[:2]).all()
    np.testing.assert_array_equal(moved[2:], value[2:])
