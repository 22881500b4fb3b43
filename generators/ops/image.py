"""Resizing and sampling of images and volumes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from tvm import relax

from ...compat.ops import relax_op
from ..choices import Choices
from ..scope import Scope
from ..values import Dim, Value
from . import laws
from .convolution import SPATIAL, any_layout, dims_by_letter, from_layout, to_layout
from .operands import some_dim
from .record import FLOATS, WIDE, Op, Tolerance
from .variation import RARE

__all__ = ["OPS"]

image = relax_op.image

Taps = list[tuple[Any, Any]]
"""The elements that are read along one axis, and their weights."""


# resize2d, resize3d

LAYOUTS = {2: ("NCHW", "NHWC"), 3: ("NCDHW", "NDHWC")}
DTYPES = (*FLOATS, "uint8")
MODES = (
    "half_pixel",
    "asymmetric",
    "align_corners",
    "pytorch_half_pixel",
    "tf_half_pixel_for_nn",
    "tf_crop_and_resize",
)


def _image(
    c: Choices,
    s: Scope,
    layout: str,
    dtypes: Sequence[str],
    *,
    symbolic: bool = False,
    rarely: bool = False,
) -> tuple[Value, str]:
    """An image and its layout: batch and channels of any size; spatial axes static, or symbolic.

    Rarely, the layout is arbitrary.
    """
    spatial = SPATIAL[len(layout) - 2]

    def fits(x: Value) -> bool:
        return x.shape is not None and all(
            0 < dim <= 8 if isinstance(dim, int) else symbolic or letter in "NC"
            for letter, dim in zip(layout, x.shape, strict=True)
        )

    dims: dict[str, Dim] = {"N": some_dim(c, s), "C": c.pick((2, 1, 3))}
    sizes: list[Dim] = [2, 3, 4, 1]
    if symbolic:
        sizes += [dim for dim in s.dims if not isinstance(dim, int)]
    dims |= dict(zip(spatial, c.picks(sizes, len(spatial)), strict=True))
    if rarely:
        layout = any_layout(c, dims, "c")
        return s.tensor(c, dtype=dtypes, shape=to_layout(dims, layout)), layout
    shape = to_layout(dims, layout)
    return s.tensor(c, dtype=dtypes, ndim=len(layout), where=fits, fresh_shape=shape), layout


def _build_resize(n: int, c: Choices, s: Scope) -> relax.Expr:
    rarely = c.flag(RARE)
    layout = c.pick(LAYOUTS[n])
    method = c.pick(("linear", "nearest_neighbor", "cubic"))
    dtypes = DTYPES if method == "nearest_neighbor" or rarely else FLOATS
    x, layout = _image(c, s, layout, dtypes, symbolic=True, rarely=rarely and c.flag())
    assert x.shape is not None
    assert x.dtype is not None
    dims = dims_by_letter(x.shape, layout)
    lengths = [dims[letter] for letter in SPATIAL[n]]
    mode = c.pick(MODES)
    sizes: list[Dim] = [
        c.pick((4, 2, 3, 6, 1) if isinstance(length, int) else (4, length * 2, length, 3))
        for length in lengths
    ]
    equal = c.flag(0.3)
    if equal:
        sizes = sizes[:1] * n
    roi = [*c.picks((0.0, 0.25, -0.5), n), *c.picks((1.0, 0.5, 1.25), n)]
    rounding = ""
    if method == "nearest_neighbor":
        rounding = c.pick(("floor", "ceil", "round"))
        if rarely:
            rounding = c.pick(("round_prefer_floor", "round_prefer_ceil", "round", ""))
        # The rounding of halves is not documented.
        elif rounding == "round" and any(
            not isinstance(length, int)
            or not isinstance(size, int)
            or bool((_places(length, size, mode, start, end) % 1 == 0.5).any())
            for length, size, start, end in zip(lengths, sizes, roi[:n], roi[n:], strict=True)
        ):
            rounding = "floor"
    wider = {"float16": "float32", "float32": "float64"}.get(x.dtype)
    out_dtype = wider if c.flag(RARE) else None
    return getattr(image, f"resize{n}d")(
        x.expr,
        sizes[0] if equal and c.flag() else tuple(sizes),
        roi=tuple(roi) if mode == "tf_crop_and_resize" else None,
        layout=layout,
        method=method,
        coordinate_transformation_mode=mode,
        rounding_method=rounding,
        cubic_alpha=c.pick((-0.75, -0.5)),
        cubic_exclude=c.below(2),
        extrapolation_value=c.pick((0.0, 1.5)),
        out_dtype=c.pick((*DTYPES, "int32")) if rarely and c.flag() else out_dtype,
    )


def _places(length: int, target: int, mode: str, start: float, end: float) -> Any:
    """The source coordinate of each element of the result, as ONNX's Resize defines it."""
    out = np.arange(target, dtype="float64")
    scale = length / target
    if mode == "half_pixel":
        return (out + 0.5) * scale - 0.5
    if mode == "pytorch_half_pixel":
        return (out + 0.5) * scale - 0.5 if target > 1 else out * 0
    if mode == "tf_half_pixel_for_nn":
        return (out + 0.5) * scale
    if mode == "align_corners":
        return out * (length - 1) / max(target - 1, 1)
    if mode == "asymmetric":
        return out * scale
    if mode == "tf_crop_and_resize":
        if target == 1:
            return np.full(1, 0.5 * (start + end) * (length - 1))
        return start * (length - 1) + out * (end - start) * (length - 1) / (target - 1)
    raise ValueError(f"Expected a coordinate transformation of {MODES} but got {mode!r}")


SINGLE = Tolerance(float64=1e-4, reason="places and weights are computed in float32")

TINY = 1e-5
"""Tolerance that prevents a position such as 2.9999999 from being taken for 2."""


def _not_half(places: Any) -> Any:
    if (np.abs(places % 1 - 0.5) < TINY).any():
        raise ValueError("how halves are rounded is not documented")
    return places


_ROUND: dict[str, Callable[[Any], Any]] = {
    "round": lambda x: np.rint(_not_half(x)),
    "round_prefer_floor": lambda x: np.ceil(x - 0.5),
    "round_prefer_ceil": lambda x: np.floor(x + 0.5),
    "floor": lambda x: np.floor(x + TINY),
    "ceil": lambda x: np.ceil(x - TINY),
}


def _cubic(part: Any, alpha: float) -> list[Any]:
    """Keys' weights of the four elements around a position; the second one is just below it."""

    def near(t: Any) -> Any:
        return ((alpha + 2) * t - (alpha + 3)) * t * t + 1

    def far(t: Any) -> Any:
        return ((alpha * t - 5 * alpha) * t + 8 * alpha) * t - 4 * alpha

    return [far(part + 1), near(part), near(1 - part), far(2 - part)]


def _resize_taps(places: Any, length: int, attrs: Any) -> Taps:
    method = str(attrs.method)
    if method == "nearest_neighbor":
        return [(_ROUND[str(attrs.rounding_method)](places), np.ones(places.shape))]
    low = np.floor(places)
    part = places - low
    if method == "linear":
        return [(low, 1 - part), (low + 1, part)]
    if method != "cubic":
        raise ValueError(f"Expected a known method but got {method!r}")
    at = [low - 1 + i for i in range(4)]
    weights = _cubic(part, float(attrs.cubic_alpha))
    if attrs.cubic_exclude:
        weights = [
            np.where((where < 0) | (where >= length), 0, weight)
            for where, weight in zip(at, weights, strict=True)
        ]
        total = sum(weights)
        weights = [weight / total for weight in weights]
    return list(zip(at, weights, strict=True))


def _resize(args: Sequence[Any], attrs: Any) -> Any:
    layout, size = str(attrs.layout), [int(dim) for dim in args[1]]
    n = len(size)
    x = from_layout(args[0], layout, "NC" + SPATIAL[n])
    dtype = x.dtype if attrs.out_dtype is None else np.dtype(str(attrs.out_dtype))
    mode, roi = str(attrs.coordinate_transformation_mode), [float(v.value) for v in attrs.roi]
    result, outside = x.astype("float64"), np.zeros((1,) * (n + 2), "bool")
    for i, target in enumerate(size):
        axis, length = i + 2, x.shape[i + 2]
        places = _places(length, target, mode, roi[i], roi[n + i])
        along = [-1 if a == axis else 1 for a in range(n + 2)]
        result = sum(
            result.take(np.clip(where, 0, length - 1).astype(int), axis) * weight.reshape(along)
            for where, weight in _resize_taps(places, length, attrs)
        )
        outside = outside | ((places < 0) | (places > length - 1)).reshape(along)
    if mode == "tf_crop_and_resize":
        result = np.where(outside, float(attrs.extrapolation_value), result)
    return from_layout(np.asarray(result).astype(dtype), "NC" + SPATIAL[n], layout)


def _rounded(args: Sequence[Any], attrs: Any, result: Any) -> bool:
    """Integers and narrower floats: no document says when results are rounded, or which way."""
    x = args[0]
    if x.dtype.kind in "iu" and x.size and float(np.abs(x.astype("float64")).max()) > 1 << 24:
        return True  # nor does any document say whether elements go through float32 on the way
    exact = attrs is not None and str(attrs.method) == "nearest_neighbor"
    return not np.can_cast(x.dtype, result.dtype) or (result.dtype.kind in "iub" and not exact)


def _between(attrs: Any) -> str | None:
    """Cubic interpolation overshoots; outside the image the value is a different number."""
    inside = str(attrs.coordinate_transformation_mode) != "tf_crop_and_resize"
    return "result" if inside and str(attrs.method) != "cubic" else None


def _resize_op(n: int) -> Op:
    return Op(
        name=f"image.resize{n}d",
        build=partial(_build_resize, n),
        reference=_resize,
        dtypes=DTYPES,
        tolerance=SINGLE,
        undefined=_rounded,
        laws=(laws.within(view=_between),),
    )


# grid_sample, affine_grid


def _build_grid_sample(c: Choices, s: Scope) -> relax.Expr:
    rarely = c.flag(RARE)
    n = c.pick((2, 2, 3))
    # Type inference knows only one layout of volumes by name.
    other = rarely and n == 2 and c.flag()
    x, layout = _image(c, s, LAYOUTS[n][0], WIDE, symbolic=rarely, rarely=other)
    assert x.shape is not None
    points = c.picks((2, 3, 1, *s.dims) if rarely else (2, 3, 1), n)
    grid = (dims_by_letter(x.shape, layout)["N"], n, *points)
    return image.grid_sample(
        x.expr,
        s.tensor(c, dtype=x.dtype, shape=grid).expr,
        method=c.pick(("bilinear", "nearest", "bicubic") if n == 2 else ("bilinear", "nearest")),
        layout=layout,
        padding_mode=c.pick(("zeros", "border", "reflection")),
        align_corners=c.flag(),
    )


def _inside(places: Any, length: int, attrs: Any) -> Any:
    """The positions; those outside are moved to the border, reflected there, or unchanged."""
    padding = str(attrs.padding_mode)
    if padding == "zeros":
        return places
    if padding == "reflection":
        low, high = (0, length - 1) if attrs.align_corners else (-0.5, length - 0.5)
        span = high - low
        if span == 0:
            return np.zeros(places.shape)
        distance = np.abs(places - low)
        rest, turns = np.fmod(distance, span), np.floor(distance / span)
        places = low + np.where(turns % 2 == 0, rest, span - rest)
    return np.clip(places, 0, length - 1)


def _sample_taps(places: Any, length: int, attrs: Any) -> Taps:
    method = str(attrs.method)
    if method == "bicubic":
        low = np.floor(places)
        weights = _cubic(places - low, -0.75)
        return [(_inside(low - 1 + i, length, attrs), weight) for i, weight in enumerate(weights)]
    places = _inside(places, length, attrs)
    if method == "nearest":
        return [(np.rint(places), np.ones(places.shape))]
    low = np.floor(places)
    return [(low, 1 - (places - low)), (low + 1, places - low)]


def _grid_sample(args: Sequence[Any], attrs: Any) -> Any:
    """As in PyTorch, but the coordinates of the grid (x, then y, then z) are its second axis."""
    layout = str(attrs.layout)
    n = layout.count("D") + 2
    x, grid = from_layout(args[0], layout, "NC" + SPATIAL[n]), args[1].astype("float64")
    if len(x) != len(grid) or grid.shape[1] != n:
        raise ValueError(f"samples of {x.shape} by {grid.shape}")
    taps = []
    for axis in range(n):
        length, place = x.shape[axis + 2], grid[:, n - 1 - axis] + 1
        scaled = place * (length - 1) / 2 if attrs.align_corners else place * length / 2 - 0.5
        taps.append(_sample_taps(scaled, length, attrs))
    result = np.zeros((x.shape[0], x.shape[1], *grid.shape[2:]))
    batch = np.arange(x.shape[0]).reshape(-1, *[1] * n)
    for choice in np.ndindex(*map(len, taps)):
        chosen = [taps[axis][i] for axis, i in enumerate(choice)]
        weight = np.prod([weight for _, weight in chosen], axis=0)
        index = []
        for (where, _), length in zip(chosen, x.shape[2:], strict=True):
            weight = np.where((where >= 0) & (where < length), weight, 0)
            index.append(np.clip(where, 0, length - 1).astype(int))
        # The indexing puts the channels last.
        pixels = np.moveaxis(x, 1, -1)[(batch, *index)]
        result += np.moveaxis(pixels * weight[..., None], -1, 1)
    return from_layout(result.astype(x.dtype), "NC" + SPATIAL[n], layout)


def _build_affine_grid(c: Choices, s: Scope) -> relax.Expr:
    rarely = c.flag(RARE)
    n = c.pick((2, 2, 3))
    matrix = s.tensor(c, dtype=WIDE, shape=(some_dim(c, s), n, n + 1))
    corners = c.flag()
    # The message that refuses sizes below 2 documents this.
    usual = (2, 3, 4) if corners else (2, 3, 1)
    sizes = c.picks((*usual, 1, *s.dims) if rarely else usual, n)
    return image.affine_grid(
        matrix.expr, sizes[0] if n == 2 and c.flag(0.2) else tuple(sizes), align_corners=corners
    )


def _affine_grid(args: Sequence[Any], attrs: Any) -> Any:
    """As in PyTorch, but the coordinates (x, then y, then z) are the second axis of the result."""
    matrix, size = args[0].astype("float64"), [int(dim) for dim in args[1]]
    if 0 in size or (attrs.align_corners and 1 in size):
        raise ValueError(f"a grid of {size}")
    lines = [
        np.linspace(-1, 1, d) if attrs.align_corners else (2 * np.arange(d) + 1) / d - 1
        for d in size
    ]
    *places, one = (*reversed(np.meshgrid(*lines, indexing="ij")), np.ones(size))
    return np.tensordot(matrix, np.stack([*places, one]), axes=1).astype(args[0].dtype)


OPS = (
    *map(_resize_op, (2, 3)),
    Op(
        name="image.grid_sample",
        build=_build_grid_sample,
        reference=_grid_sample,
        dtypes=WIDE,
        tolerance=SINGLE,
    ),
    Op(
        name="image.affine_grid",
        build=_build_affine_grid,
        reference=_affine_grid,
        dtypes=WIDE,
        tolerance=Tolerance(float64=1e-4, reason="the step is some 1e-7 short of reaching 1"),
    ),
)
