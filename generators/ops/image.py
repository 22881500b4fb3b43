"""Resizing of images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from tvm import relax

from ..choices import Choices
from ..scope import Scope, Value
from .convolution import from_layout, to_layout
from .record import Op

__all__ = ["OPS"]

DTYPES = ("float32", "float64")


def _build_resize2d(c: Choices, s: Scope) -> relax.Expr:
    layout = c.pick(("NCHW", "NHWC"))

    def fits(x: Value) -> bool:
        return x.static and 0 not in (x.shape or ())

    dims = {"N": c.pick((1, 2)), "C": c.pick((2, 1, 3)), "H": c.pick((2, 4)), "W": c.pick((2, 3))}
    x = s.tensor(c, dtype=DTYPES, ndim=4, where=fits, fresh_shape=to_layout(dims, layout))
    size = (c.pick((4, 2, 3)), c.pick((4, 2, 6)))
    method, mode = c.pick(
        (
            ("linear", "half_pixel"),
            ("nearest_neighbor", "asymmetric"),
            ("linear", "align_corners"),
            ("linear", "asymmetric"),
        )
    )
    # Nearest neighbours at half-way places depend on the rounding, and "floor" has one answer.
    rounding = "floor" if method == "nearest_neighbor" else ""
    return relax.op.image.resize2d(
        x.expr,
        size if c.flag(0.7) else size[0],
        layout=layout,
        method=method,
        coordinate_transformation_mode=mode,
        rounding_method=rounding,
    )


def _places(length: int, target: int, mode: str) -> Any:
    """For each element of the result, where it lies in the source."""
    out = np.arange(target, dtype="float64")
    if mode == "half_pixel":
        return (out + 0.5) * length / target - 0.5
    if mode == "align_corners":
        return out * (length - 1) / max(target - 1, 1)
    return out * length / target


def _resize2d(args: Sequence[Any], attrs: Any) -> Any:
    layout, size = str(attrs.layout), args[1]
    x = from_layout(args[0], layout, "NCHW")
    dtype = x.dtype
    for axis, target in ((2, int(size[0])), (3, int(size[1]))):
        length = x.shape[axis]
        places = _places(length, target, str(attrs.coordinate_transformation_mode))
        # The tiny addend is what keeps a place like 2.9999999 from being taken for 2.
        low = np.floor(places + 1e-5 * (str(attrs.method) == "nearest_neighbor")).astype(int)
        below = x.take(np.clip(low, 0, length - 1), axis)
        if str(attrs.method) == "linear":
            above = x.take(np.clip(low + 1, 0, length - 1), axis)
            part = (places - low).reshape([-1 if a == axis else 1 for a in range(4)])
            x = below * (1 - part) + above * part
        else:
            x = below
    return from_layout(x.astype(dtype), "NCHW", layout)


OPS = (Op(name="image.resize2d", build=_build_resize2d, reference=_resize2d, dtypes=DTYPES),)
