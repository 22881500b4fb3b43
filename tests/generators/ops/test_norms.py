"""References of normalizations."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from relaxfuzz.generators.ops import table

ATTRS = SimpleNamespace(
    num_groups=1,
    channel_axis=1,
    axis=1,
    axes=[1],
    epsilon=1e-5,
    center=True,
    scale=True,
    training=False,
)


@pytest.mark.parametrize(
    ("name", "weights"),
    [
        ("nn.layer_norm", 2),
        ("nn.group_norm", 2),
        ("nn.instance_norm", 2),
        ("nn.batch_norm", 4),
        ("nn.rms_norm", 1),
        ("nn.prelu", 1),
    ],
)
def test_weights_have_the_size_of_the_data(name: str, weights: int) -> None:
    """One of a symbolic size may have a single element, which NumPy would broadcast."""
    x, good, bad = (np.ones(shape, "float32") for shape in ((2, 3, 2), (3,), (1,)))
    attrs = SimpleNamespace(**{**vars(ATTRS), "axes": [2] if "group" in name else ATTRS.axes})
    reference = table[name].reference
    assert reference is not None
    reference([x, *[good] * weights], attrs)
    for place in range(weights):
        args = [good] * weights
        args[place] = bad
        with pytest.raises(ValueError, match="Expected a weight of shape"):
            reference([x, *args], attrs)
