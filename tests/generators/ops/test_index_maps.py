"""An index map moves all elements at once to where TVM says that it moves each."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tvm import tirx

from relaxfuzz.generators.ops import table

MAPS: list[tuple[Callable[..., Any], tuple[int, ...]]] = [
    (lambda i, j: (j, i), (3, 4)),
    (lambda i, j: (i // 2, j, i % 2), (5, 4)),
    (lambda a, b, c, d, e: (a, b * 4 + e, c, d), (2, 3, 2, 2, 4)),
    (lambda i: (i // 8 % 2, i // 16, i % 8), (32,)),
    (lambda i, j: (j,), (1, 6)),
]


@pytest.mark.parametrize(("mapping", "shape"), MAPS)
def test_elements_go_where_tvm_says(mapping: Callable[..., Any], shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(0).integers(0, 99, shape)
    index_map = tirx.IndexMap.from_func(mapping, ndim=len(shape))
    attrs = SimpleNamespace(index_map=index_map, pad_value=SimpleNamespace(value=7))
    expected = np.full([int(dim) for dim in index_map.map_shape(list(shape))], 7, x.dtype)
    for place in np.ndindex(shape):
        expected[tuple(int(i) for i in index_map.map_indices(list(place)))] = x[place]
    reference = table["layout_transform"].reference
    assert reference is not None
    np.testing.assert_array_equal(reference([x], attrs), expected)


def test_an_index_that_is_not_known_is_refused() -> None:
    index_map = tirx.IndexMap.from_func(lambda i: (tirx.truncmod(i, 4),), ndim=1)
    attrs = SimpleNamespace(index_map=index_map, pad_value=SimpleNamespace(value=0))
    reference = table["layout_transform"].reference
    assert reference is not None
    with pytest.raises(ValueError, match="an index map with Mod"):
        reference([np.arange(4)], attrs)
