"""What operators promise nothing for."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from relaxfuzz.generators.ops import table

NAN, INF = float("nan"), float("inf")


def ints(*values: Any, dtype: str = "int32") -> Any:
    return np.array(values, dtype)


def floats(*values: Any, dtype: str = "float32") -> Any:
    return np.array(values, dtype)


CASES: tuple[tuple[str, tuple[Any, ...], dict[str, Any] | None, bool], ...] = (
    ("divide", (ints(1), ints(0)), None, True),
    ("divide", (ints(6), ints(-1)), None, False),
    ("divide", (ints(-128, dtype="int8"), ints(-1, dtype="int8")), None, True),
    ("divide", (floats(1), floats(0)), None, True),
    ("divide", (floats(NAN), floats(INF)), None, False),
    ("add", (floats(NAN), floats(-INF)), None, False),
    ("maximum", (floats(1), floats(INF)), None, True),
    ("subtract", (floats(1), 2), None, False),
    ("subtract", (floats(1), ints(2)), None, True),
    ("not_equal", (floats(1), floats(NAN)), None, False),
    ("rsqrt", (floats(0.0),), None, True),
    ("rsqrt", (floats(-1.0),), None, False),
    ("power", (floats(0), floats(-1)), None, True),
    ("power", (floats(0), floats(2)), None, False),
    ("atan2", (floats(0), floats(-1)), None, True),
    ("atan2", (floats(0), floats(1)), None, False),
    ("right_shift", (ints(1, dtype="int8"), ints(8, dtype="int8")), None, True),
    ("right_shift", (ints(1), ints(8)), None, False),
    ("tan", (floats(1.57),), None, True),
    ("take", (floats(1, 2), ints(-1)), {"mode": "fast", "axis": 0}, True),
    ("take", (floats(1, 2), ints(-1)), {"mode": "wrap", "axis": 0}, False),
    ("scatter_elements", (ints(1, 2), ints(0, 0), ints(-1, -2)), None, True),
    (
        "scatter_elements",
        (ints(1, 2), ints(0, 0), ints(-1, -2)),
        {"axis": 0, "reduction": "add"},
        False,
    ),
    (
        "scatter_elements",
        (ints(1, 2), ints(0, 1), ints(-1, -2)),
        {"axis": 0, "reduction": "update"},
        False,
    ),
    ("scatter_nd", (ints(1, 2), ints([0], [0]), ints(3, 4)), {"reduction": "update"}, True),
    ("scatter_nd", (ints(1, 2), ints([0], [1]), ints(3, 4)), {"reduction": "update"}, False),
    ("index_put", (ints(1, 2), (ints(0, 0),), ints(3, 4)), {"accumulate": False}, True),
    ("index_put", (ints(1, 2), (ints(0, 0),), ints(3, 4)), {"accumulate": True}, False),
    ("index_tensor", (ints(1, 2), (ints(-1),)), None, False),
    ("nn.nll_loss", (floats([1, 2]), ints(-1)), {"ignore_index": -100}, True),
    ("nn.nll_loss", (floats([1, 2]), ints(-100)), {"ignore_index": -100}, False),
    ("reverse_sequence", (floats([1, 2]), ints(3)), {"seq_axis": 1}, True),
    ("reverse_sequence", (floats([1, 2]), ints(2)), {"seq_axis": 1}, False),
    ("bucketize", (floats(1), floats(1, 1)), None, True),
    ("bucketize", (floats(1), floats(1, 2)), None, False),
    ("sum", (floats(NAN),), None, False),
    ("sum", (floats(60000, dtype="float16"),), None, True),
    ("abs", (floats(60000, dtype="float16"),), None, False),
    ("mean", (np.zeros((0, 2), "float32"),), None, True),
    ("sum", (np.zeros((0, 2), "float32"),), None, False),
    ("log_add_exp", (floats(100), floats(1)), None, False),
    ("add", (ints(1, dtype="uint16"), ints(2, dtype="uint16")), None, False),
    ("add", (ints(1, dtype="bool"), ints(0, dtype="bool")), None, True),
    ("bitwise_and", (ints(1, dtype="bool"), ints(1)), None, True),
    ("outer", (ints(1), floats(1)), None, True),
    ("mean", (ints(1, 2),), None, True),
    ("logical_and", (ints(1), ints(1)), None, True),
    ("multinomial_from_uniform", (floats([0.5, 0.5]), floats([0.1])), None, False),
    ("multinomial_from_uniform", (floats([0.5, 0.4]), floats([0.1])), None, True),
    ("multinomial_from_uniform", (floats([0.5, 0.5]), floats([1.0])), None, True),
    ("grad.max_pool2d_backward", (floats(1), floats(1, 1)), None, True),
    ("grad.max_pool2d_backward", (floats(1), floats(1, 2)), None, False),
    ("nn.conv2d", (floats(1), floats(1)), None, False),
    ("nn.conv2d", (ints(1, dtype="uint8"), ints(1, dtype="int8")), None, False),
    ("nn.conv2d", (ints(1), ints(1)), None, True),
    ("nn.conv2d", (floats(1, dtype="float64"), floats(1)), None, True),
    ("image.resize2d", (ints(1, dtype="uint8"),), {"method": "linear"}, False),
    ("image.resize2d", (floats(1, dtype="float64"),), {"method": "linear"}, True),
    ("nn.softplus", (floats(12, dtype="float16"),), {"beta": 1.0, "threshold": 20.0}, True),
    ("nn.softplus", (floats(25, dtype="float16"),), {"beta": 1.0, "threshold": 20.0}, False),
)


@pytest.mark.parametrize(("name", "args", "attrs", "expected"), CASES)
def test_operands(
    name: str, args: tuple[Any, ...], attrs: dict[str, Any] | None, expected: bool
) -> None:
    given = None if attrs is None else SimpleNamespace(**attrs)
    assert table[name].is_undefined(args, floats(0), given) == expected


@pytest.mark.parametrize(
    ("value", "dtype", "expected"),
    [
        (100.9, "int8", False),
        (-100.9, "int8", False),
        (128.0, "int8", True),
        (-0.5, "uint8", False),
        (-1.0, "uint8", True),
        (NAN, "int32", True),
        (NAN, "bool", True),
        (NAN, "float16", False),
        (1e30, "float16", False),
    ],
)
def test_casts(value: float, dtype: str, expected: bool) -> None:
    assert table["astype"].is_undefined((floats(value),), np.zeros(1, dtype)) == expected


@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
@pytest.mark.parametrize(
    ("values", "dtype", "expected"),
    [((2.0, -1.0), "uint32", True), ((2.0, -1.0), "int32", False), ((-1.0,), "float64", False)],
)
def test_scans_of_floats_in_integers(
    name: str, values: tuple[float, ...], dtype: str, expected: bool
) -> None:
    args = (floats(*values),)
    assert table[name].is_undefined(args, np.ones(len(values), dtype)) == expected


def test_a_large_result_may_have_overflowed() -> None:
    op, args = table["multiply"], (ints(1), ints(1))
    assert not op.is_undefined(args, ints(1 << 15))
    assert op.is_undefined(args, (ints(0), ints((1 << 15) + 1)))
    assert op.is_undefined(args, ints(np.iinfo("int64").min, dtype="int64"))
    assert not op.is_undefined(args, ints(-128, dtype="int8"))


def test_a_product_in_a_dtype_that_does_not_hold_the_operands_is_undefined() -> None:
    operands = (floats(1.0), floats(-1.0))
    attrs = SimpleNamespace()
    assert table["matmul"].is_undefined(operands, ints(1, dtype="uint32"), attrs)
    assert not table["matmul"].is_undefined(operands, floats(-1, dtype="float64"), attrs)
