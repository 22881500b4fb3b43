"""What operators promise nothing for."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from relaxfuzz.generators.ops import table
from relaxfuzz.generators.ops.undefined import Behaviour, OutsideError

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
    ("nn.softmax", (floats(1, -INF),), {"axis": 0}, False),
    ("nn.softmax", (floats(1, INF),), {"axis": 0}, True),
    ("full", ((2,), np.array(True)), {"dtype": None}, False),
    ("tan", (floats(1.57),), None, True),
    ("tan", (floats(2.2),), None, False),
    ("tan", (floats(4.71),), None, True),
    ("take", (floats(1, 2), ints(-1)), {"mode": "fast", "axis": 0}, True),
    ("take", (floats(1, 2), ints(-1)), {"mode": "wrap", "axis": 0}, False),
    ("scatter_elements", (ints(1, 2), ints(0, 0), ints(-1, -2)), None, True),
    *(
        (
            "scatter_elements",
            (floats(1, x), ints(0, 1), floats(-1, 2)),
            {"axis": 0, "reduction": reduction},
            undefined,
        )
        for x, reduction, undefined in (
            (NAN, "max", True),
            (INF, "max", False),
            (NAN, "add", False),
            (3e38, "add", True),
            (NAN, "update", False),
            (3e38, "update", False),
        )
    ),
    ("nonzero", (floats(0, NAN),), None, False),
    ("collapse_sum_to", (floats(1, NAN), (1,)), None, False),
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
    (
        "scatter_elements",
        (ints(1, 2), ints(0, -1), ints(-1, -2)),
        {"axis": 0, "reduction": "update"},
        False,
    ),
    (
        "scatter_elements",
        (ints(1, 2), ints(1, -1), ints(-1, -2)),
        {"axis": 0, "reduction": "update"},
        True,
    ),
    (
        "scatter_elements",
        (floats(1, 2), ints(0, 0), floats(3, 4)),
        {"axis": 0, "reduction": "mean"},
        True,
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
    ("multinomial_from_uniform", (floats([0.5, 0.5]), floats([0.1]), ints([0])), None, False),
    ("multinomial_from_uniform", (floats([0.5, 0.4]), floats([0.1]), ints([0])), None, True),
    ("multinomial_from_uniform", (floats([0.5, 0.5]), floats([1.0]), ints([0])), None, True),
    ("multinomial_from_uniform", (floats([0.5, 0.5]), floats([0.1]), ints([-1])), None, True),
    ("multinomial_from_uniform", (floats([0.5, 0.5]), floats([0.1]), ints([1])), None, True),
    ("grad.max_pool2d_backward", (floats(1), floats(1, 1)), None, True),
    ("grad.max_pool2d_backward", (floats(1), floats(1, 2)), None, False),
    ("nn.conv2d", (floats(1), floats(1)), None, False),
    ("nn.conv2d", (ints(1, dtype="uint8"), ints(1, dtype="int8")), None, False),
    ("nn.conv2d", (ints(1), ints(1)), None, True),
    ("nn.conv2d", (floats(1, dtype="float64"), floats(1)), None, True),
    ("image.resize2d", (ints(1, dtype="uint8"),), {"method": "linear"}, False),
    ("image.resize2d", (floats(1, dtype="float64"),), {"method": "linear"}, True),
    ("nn.softplus", (floats(12, dtype="float16"),), {"beta": 1.0, "threshold": 20.0}, False),
    ("nn.softplus", (floats(25, dtype="float16"),), {"beta": 1.0, "threshold": 20.0}, False),
)


@pytest.mark.parametrize(("name", "args", "attrs", "expected"), CASES)
def test_operands(
    name: str, args: tuple[Any, ...], attrs: dict[str, Any] | None, expected: bool
) -> None:
    given = None if attrs is None else SimpleNamespace(**attrs)
    assert (table[name].undefined_for(args, floats(0), given) is not None) == expected


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
    found = table["astype"].undefined_for((floats(value),), np.zeros(1, dtype))
    assert (found is not None) == expected


@pytest.mark.parametrize("name", ["full", "full_like"])
def test_values_to_fill_with(name: str) -> None:
    first = ints(2) if name == "full" else ints(1, 2, dtype="int8")
    for value, expected in ((floats(2**24), True), (floats(-3), False)):
        found = table[name].undefined_for((first, value), np.zeros(2, "int8"))
        assert (found is not None) == expected


@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
@pytest.mark.parametrize(
    ("values", "dtype", "expected"),
    [((2.0, -1.0), "uint32", True), ((2.0, -1.0), "int32", False), ((-1.0,), "float64", False)],
)
def test_scans_of_floats_in_integers(
    name: str, values: tuple[float, ...], dtype: str, expected: bool
) -> None:
    args = (floats(*values),)
    attrs = SimpleNamespace(axis=None, dtype=dtype, exclusive=False)
    found = table[name].undefined_for(args, np.array(values).astype(dtype), attrs)
    assert (found is not None) == expected


@pytest.mark.parametrize(
    ("name", "args", "expected"),
    [
        ("add", (ints(2**31 - 1), ints(0)), None),
        ("add", (ints(2**31 - 1), ints(1)), Behaviour.OVERFLOW),
        ("add", (ints(2**62, dtype="int64"), ints(2**40, dtype="int64")), None),
        ("add", (ints(2**62, dtype="int64"), ints(2**62, dtype="int64")), Behaviour.OVERFLOW),
        ("add", (ints(127, dtype="int8"), ints(127, dtype="int8")), None),
        ("multiply", (ints(2**16), ints(2**16)), Behaviour.OVERFLOW),
        ("multiply", (ints(2**53 + 1, dtype="int64"), ints(-1, dtype="int64")), None),
        ("negative", (ints(-(2**31)),), Behaviour.OVERFLOW),
        ("left_shift", (ints(2**30), ints(2)), None),
        ("maximum", (ints(-(2**31)), ints(2**31 - 1)), None),
        ("floor_divide", (ints(-(2**31)), ints(-1)), Behaviour.OVERFLOW),
        ("floor_divide", (ints(1), ints(0)), Behaviour.DIVISION),
        ("right_shift", (ints(1), ints(32)), Behaviour.SHIFT),
        ("divide", (floats(1), floats(0)), Behaviour.OPEN),
        ("astype", (floats(2.0**31),), Behaviour.CONVERSION),
        ("astype", (floats(-(2.0**31)),), None),
    ],
)
def test_why(name: str, args: tuple[Any, ...], expected: Behaviour | None) -> None:
    op, attrs = table[name], SimpleNamespace(dtype="int32")
    with np.errstate(all="ignore"):
        result = op.reference(args, attrs)
        assert op.undefined_for(args, result, attrs) is expected


def test_sums_wrap_around_where_that_is_asked_for() -> None:
    args = (ints(2**31 - 1), ints(1))
    result = table["add"].reference(args, None)
    assert table["add"].undefined_for(args, result, None, wraps=True) is None


def test_a_product_in_a_dtype_that_does_not_hold_the_operands_is_undefined() -> None:
    operands = (floats(1.0), floats(-1.0))
    attrs = SimpleNamespace()
    assert table["matmul"].undefined_for(operands, ints(1, dtype="uint32"), attrs)
    assert not table["matmul"].undefined_for(operands, floats(-1, dtype="float64"), attrs)


@pytest.mark.parametrize(
    ("name", "args", "attrs"),
    [
        ("nn.nll_loss", [np.zeros((2, 3), "float32"), np.array([0, -1])], {"ignore_index": -100}),
        ("reverse_sequence", [np.zeros((2, 3), "float32"), np.array([4, 1])], {"seq_axis": 1}),
        (
            "multinomial_from_uniform",
            [np.full((1, 2), 0.5, "float32"), np.zeros((1, 1), "float32"), np.array([[1]])],
            {},
        ),
    ],
)
def test_places_outside_are_undefined_behaviour(
    name: str, args: list[Any], attrs: dict[str, int]
) -> None:
    found = table[name].undefined_for(args, args[0], SimpleNamespace(**attrs))
    assert found is Behaviour.INDEX


@pytest.mark.parametrize(("name", "dtype"), [("sort", "uint16"), ("equal", "bool")])
def test_further_kinds_of_numbers_have_a_result(name: str, dtype: str) -> None:
    x = np.zeros(3, dtype)
    assert table[name].undefined_for([x, x], x) is None
    assert table["topk"].undefined_for([x.astype(bool)], x) is Behaviour.KIND


@pytest.mark.parametrize("channels", [1, 2, 3])
def test_a_transposed_convolution_wants_a_weight_for_each_channel(channels: int) -> None:
    """One channel is not taken for several, as NumPy would do."""
    record = table["nn.conv1d_transpose"]
    attrs = {
        "strides": [1],
        "padding": [0, 0],
        "output_padding": [0],
        "dilation": [1],
        "groups": 1,
        "data_layout": "NCW",
        "kernel_layout": "IOW",
        "out_layout": "NCW",
        "out_dtype": None,
    }
    args = [np.ones((1, 2, 3), "float32"), np.ones((channels, 1, 1), "float32")]
    if channels == 2:
        result = record.reference(args, SimpleNamespace(**attrs))
        np.testing.assert_array_equal(result, np.full((1, 1, 3), 2, "float32"))
    else:
        with pytest.raises(ValueError, match=f"2 channels and a weight for {channels}"):
            record.reference(args, SimpleNamespace(**attrs))


def test_sizes_that_only_a_call_decides_must_fit() -> None:
    attrs = SimpleNamespace(subscripts="ij,jk->ik", axis=0, reduction="update")
    x = floats([1, 2], [3, 4])
    with pytest.raises(ValueError, match="j is 1 and 2"):
        table["einsum"].reference([(x[:, :1], x)], attrs)
    with pytest.raises(OutsideError, match="updates"):
        table["scatter_elements"].reference([x, ints([1, 0]), x], attrs)
