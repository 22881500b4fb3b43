"""Convolutions over one to three spatial axes, and their transposes."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
from tvm import relax

from ...compat.ops import relax_op
from ..choices import Choices
from ..scope import Scope
from ..values import Dim, Value
from . import undefined
from .operands import HALVES
from .record import FLOATS, Op
from .variation import RARE

__all__ = ["OPS", "any_layout", "dims_by_letter", "from_layout", "to_layout", "windows"]

SPATIAL = {1: "W", 2: "HW", 3: "DHW"}

LAYOUTS = {
    1: (("NCW", "OIW"), ("NWC", "WIO")),
    2: (("NCHW", "OIHW"), ("NHWC", "HWIO"), ("NHWC", "OHWI"), ("NCHW", "HWIO")),
    3: (("NCDHW", "OIDHW"), ("NDHWC", "DHWIO")),
}
"""Layouts of data and kernel by the number of spatial axes."""

DTYPES = (*FLOATS, "int32", "int8", "uint8")
OUT_DTYPES = {"float16": "float32", "float32": "float64", "int8": "int32"}


def from_layout(x: Any, layout: str, to: str) -> Any:
    """The array with its axes, named by the letters of the layout, in another order.

    A number and a small letter stand for an inner part of the axis: in NCHW4c the channels are
    split into groups of four, and the last axis is the position in the group.
    """
    if layout.isalpha() and to.isalpha():
        return np.transpose(x, [layout.index(letter) for letter in to])
    source, target = list(_axes(layout)), _axes(to)
    for inner in [axis for axis in source if axis.islower()]:
        outer = source.index(inner.upper())
        x = np.moveaxis(x, source.index(inner), -1)
        source.remove(inner)
        x = np.moveaxis(x, -1, outer + 1)
        x = x.reshape(*x.shape[:outer], x.shape[outer] * x.shape[outer + 1], *x.shape[outer + 2 :])
    plain = [axis for axis in target if axis.isupper()]
    x = np.transpose(x, [source.index(axis) for axis in plain])
    for inner, size in target.items():
        if inner.islower():
            outer = plain.index(inner.upper())
            if x.shape[outer] % size:
                raise ValueError(f"Expected groups of {size} in {target} but got {x.shape}")
            parts = (x.shape[outer] // size, size)
            x = x.reshape(*x.shape[:outer], *parts, *x.shape[outer + 1 :])
            plain.insert(outer + 1, inner)
    return np.transpose(x, [plain.index(axis) for axis in target])


def _axes(layout: str) -> dict[str, int]:
    """The axes of a layout in order, with the sizes of the inner ones (0 for the others)."""
    return {axis: int(size or 0) for size, axis in re.findall(r"(\d*)([A-Za-z])", layout)}


def to_layout(dims: Mapping[str, Any], layout: str) -> list[Any]:
    """Dims by letter, in the order of the layout; an inner axis takes its part of the outer one."""
    axes = _axes(layout)
    return [
        axes[axis] or (dims[axis] // axes[axis.lower()] if axis.lower() in axes else dims[axis])
        for axis in axes
    ]


def dims_by_letter(shape: Sequence[Dim], layout: str) -> dict[str, Dim]:
    """Dims by letter, inner axes joined with the outer ones: the inverse of `to_layout`."""
    dims = dict(zip(_axes(layout), shape, strict=True))
    return {
        axis: dim * dims[axis.lower()] if axis.lower() in dims else dim
        for axis, dim in dims.items()
        if axis.isupper()
    }


BLOCK = 2
"""The size of inner axes."""

FORMS = 10
"""The bytes for rare dtypes and layouts, set aside before the other decisions use them up."""

SHORT = 3
"""Assumed length of a symbolic axis, so that a window fits into it."""


@cache
def _orders(letters: str) -> tuple[str, ...]:
    return tuple(map("".join, itertools.permutations(letters)))


def any_layout(c: Choices, dims: Mapping[str, Dim], inner: str) -> str:
    """A layout with axes in any order, some of them split; type inference accepts any of them.

    Args:
        c: the source of the decisions.
        dims: the axes, with their sizes.
        inner: lower-case letters of axes that may have an inner part if the size allows it.
    """
    layout = c.pick(_orders("".join(dims)))
    for axis in inner:
        size = dims[axis.upper()]
        if isinstance(size, int) and size % BLOCK == 0 and c.flag():
            layout += f"{BLOCK}{axis}"
    return layout


def windows(
    x: Any,
    kernel: Sequence[int],
    strides: Sequence[int],
    dilation: Sequence[int],
    out: Sequence[int],
) -> Iterator[tuple[tuple[int, ...], Any]]:
    """Yield each place in the kernel, with the elements of x that it meets in the shape `out`.

    Raises:
        ValueError: a negative size of the result, or a step that is not forward.
    """
    if min((0, *out)) < 0 or min((1, *strides)) < 1:
        raise ValueError(f"windows over {x.shape} by {strides} for a result of {out}")
    for place in np.ndindex(*kernel):
        index = [
            slice(p * d, p * d + s * (o - 1) + 1, s) if o else slice(0, 0)
            for p, d, s, o in zip(place, dilation, strides, out, strict=True)
        ]
        yield place, x[(..., *index)]


def _at_place(weight: Any, place: Sequence[int]) -> Any:
    """The matrices of weights at a place in the kernel; the last axes of `weight` are the places.

    The result is contiguous: otherwise NumPy multiplies without BLAS, which takes 20 times as long.
    """
    return np.ascontiguousarray(weight[(..., *place)])


def _complete(padding: Sequence[Any]) -> tuple[list[int], list[int]]:
    """The padding before each axis, then the padding after each axis."""
    widths = [int(width) for width in padding]
    half = len(widths) // 2
    return widths[:half], widths[half:]


def _operand(c: Choices, s: Scope, layout: str, rarely: bool) -> tuple[Value, str, dict[str, Dim]]:
    """The data, its layout, and its dims by letter; all static except the batch, see `data`."""
    dims: dict[str, Dim] = {"N": s.shape(c, 1)[0], "C": c.pick((2, 4, 1, 3))}
    if isinstance(dims["N"], int):
        dims["N"] = max(dims["N"], 1)
    return data(c, s, layout, dims, DTYPES, rarely, symbolic="N")


def data(
    c: Choices,
    s: Scope,
    layout: str,
    dims: dict[str, Dim],
    dtypes: Sequence[str],
    rarely: bool,
    *,
    symbolic: str,
) -> tuple[Value, str, dict[str, Dim]]:
    """A tensor of batch, channels and spatial axes, its layout, and its dims by letter.

    Rarely, its spatial axes are symbolic, or its layout is arbitrary.

    Args:
        dims: dims of batch and channels if the tensor is fresh; the spatial dims are chosen here.
        symbolic: letters of the axes that may be symbolic in a tensor in scope; none has size 0.
    """
    n = len(layout) - 2

    def fits(x: Value) -> bool:
        return x.shape is not None and all(
            (isinstance(dim, int) and 0 < dim <= 12) or (letter in symbolic and dim != 0)
            for letter, dim in zip(layout, x.shape, strict=True)
        )

    lengths: list[Dim] = [4, 5, 3] if n < 3 else [3, 2]
    if rarely:
        lengths += [dim for dim in s.dims if not isinstance(dim, int)]
    dims |= dict(zip(SPATIAL[n], c.picks(lengths, n), strict=True))
    if rarely and c.flag():
        layout = any_layout(c, dims, "c")
        return s.tensor(c, dtype=dtypes, shape=to_layout(dims, layout)), layout, dims
    x = s.tensor(c, dtype=dtypes, ndim=n + 2, where=fits, fresh_shape=to_layout(dims, layout))
    assert x.shape is not None
    return x, layout, dims_by_letter(x.shape, layout)


def _dtypes(c: Choices, dtype: str, rarely: bool) -> tuple[str, str | None]:
    """The weight's dtype, and `out_dtype`; if the latter is given, the operands may differ."""
    if rarely and c.flag():
        # The first dtypes in the list hold most products exactly.
        return c.pick((dtype, *DTYPES)), c.pick(("float64", "int64", "int32", "int16", *DTYPES))
    return dtype, OUT_DTYPES.get(dtype) if c.flag(0.2) else None


def _form(c: Choices, values: list[int]) -> int | list[int]:
    """One number instead of a list of equal ones, as users write it."""
    return values[0] if len(set(values)) == 1 and c.flag() else values


def _conv(n: int) -> Op:
    name = f"nn.conv{n}d"
    call = getattr(relax_op.nn, f"conv{n}d")
    letters = SPATIAL[n]

    def build(c: Choices, s: Scope) -> relax.Expr:
        rarely = c.flag(RARE)
        forms = c.part(FORMS if rarely else 0)
        layout, kernel_layout = c.pick(LAYOUTS[n])
        x, layout, dims = _operand(c, s, layout, rarely)
        assert x.dtype is not None
        channels = dims["C"]
        assert isinstance(channels, int)
        padding = c.picks((0, 1), n) if c.flag() else [0] * n
        after = c.picks((0, 1), n) if c.flag(0.2) else padding
        kernel: dict[str, Dim] = {}
        widths, dilation = c.picks((1, 3, 2), n), c.picks((1, 1, 2), n)
        for i, letter in enumerate(letters):
            size = dims[letter]
            total = (size if isinstance(size, int) else SHORT) + padding[i] + after[i]
            kernel[letter] = width = min(widths[i], total)
            most = (total - 1) // max(width - 1, 1)
            dilation[i] = min(dilation[i], max(most, 1))
        groups = c.pick([g for g in (1, 1, 2, channels) if channels % g == 0])
        kernel |= {"O": groups * c.pick((1, 2)), "I": channels // groups}
        strides = c.picks((1, 2), n)
        weight_dtype, out_dtype = _dtypes(forms if rarely else c, x.dtype, rarely)
        if rarely and forms.flag():
            kernel_layout = any_layout(forms, kernel, "io")
        weight = s.tensor(c, dtype=weight_dtype, shape=to_layout(kernel, kernel_layout))
        return call(
            x.expr,
            weight.expr,
            strides=_form(c, strides),
            padding=_form(c, padding) if padding == after else [*padding, *after],
            dilation=_form(c, dilation),
            groups=groups,
            data_layout=layout,
            kernel_layout=kernel_layout,
            out_layout=any_layout(forms, dims | {"C": kernel["O"]}, "c")
            if rarely and forms.flag()
            else None,
            out_dtype=out_dtype,
        )

    def evaluate(args: Sequence[Any], attrs: Any) -> Any:
        x = from_layout(args[0], str(attrs.data_layout), "NC" + letters)
        weight = from_layout(args[1], str(attrs.kernel_layout), "OI" + letters)
        dtype = _result_dtype(args[0], attrs)
        before, after = _complete(attrs.padding)
        strides, dilation = ([int(v) for v in part] for part in (attrs.strides, attrs.dilation))
        x = np.pad(x, [(0, 0), (0, 0), *zip(before, after, strict=True)])
        kernel = weight.shape[2:]
        out_dims = [
            (size - d * (k - 1) - 1) // s + 1
            for size, k, d, s in zip(x.shape[2:], kernel, dilation, strides, strict=True)
        ]
        groups = int(attrs.groups)
        if x.shape[1] != groups * weight.shape[1]:
            raise ValueError(f"{x.shape[1]} channels in {groups} groups of {weight.shape[1]}")
        x = _grouped(_wide(x, dtype), 1, groups)
        weight = _grouped(_wide(weight, dtype), 0, groups)
        out = np.zeros((x.shape[0], groups, weight.shape[1], *out_dims), x.dtype)
        for place, part in windows(x, kernel, strides, dilation, out_dims):
            out += (_at_place(weight, place) @ part.reshape(*part.shape[:3], -1)).reshape(out.shape)
        out = out.reshape(out.shape[0], -1, *out_dims).astype(dtype)
        return from_layout(out, "NC" + letters, str(attrs.out_layout))

    return Op(
        name=name,
        build=build,
        reference=evaluate,
        dtypes=DTYPES,
        undefined=undefined.accumulation,
        arithmetic=(0, 1),
    )


def _result_dtype(x: Any, attrs: Any) -> Any:
    return x.dtype if attrs.out_dtype is None else np.dtype(str(attrs.out_dtype))


def _wide(x: Any, dtype: Any) -> Any:
    """x in the dtype of the result, or in float32 for half precision."""
    return x.astype(np.float32 if dtype.name in HALVES else dtype)


def _grouped(x: Any, axis: int, groups: int) -> Any:
    shape = x.shape
    return x.reshape(*shape[:axis], groups, shape[axis] // groups, *shape[axis + 1 :])


def _transpose(n: int) -> Op:
    name = f"nn.conv{n}d_transpose"
    call = getattr(relax_op.nn, f"conv{n}d_transpose")
    letters = SPATIAL[n]

    def build(c: Choices, s: Scope) -> relax.Expr:
        rarely = c.flag(RARE)
        forms = c.part(FORMS if rarely else 0)
        x, layout, dims = _operand(c, s, "NC" + letters, rarely)
        assert x.dtype is not None
        channels = dims["C"]
        assert isinstance(channels, int)
        groups = c.pick([g for g in (1, 1, 2, channels) if channels % g == 0])
        widths, strides = c.picks((2, 3, 1), n), c.picks((1, 2), n)
        # Padding crops the result; with a kernel of 3, some elements always remain.
        padding = [
            min(pad, width // 3) for pad, width in zip(c.picks((0, 1), n), widths, strict=True)
        ]
        extra = [
            min(pad, stride - 1) for pad, stride in zip(c.picks((0, 1), n), strides, strict=True)
        ]
        dilation = c.picks((1, 1, 2), n)
        kernel = {"I": channels, "O": c.pick((2, 1)), **dict(zip(letters, widths, strict=True))}
        weight_dtype, out_dtype = _dtypes(forms if rarely else c, x.dtype, rarely)
        kernel_layout = (
            any_layout(forms, kernel, "io") if rarely and forms.flag() else "IO" + letters
        )
        weight = s.tensor(c, dtype=weight_dtype, shape=to_layout(kernel, kernel_layout))
        made = dims | {"C": groups * kernel["O"]}
        return call(
            x.expr,
            weight.expr,
            strides=_form(c, strides),
            padding=_form(c, padding),
            output_padding=_form(c, extra),
            dilation=_form(c, dilation),
            groups=groups,
            data_layout=layout,
            kernel_layout=kernel_layout,
            out_layout=any_layout(forms, made, "c") if rarely and forms.flag() else None,
            out_dtype=out_dtype,
        )

    def evaluate(args: Sequence[Any], attrs: Any) -> Any:
        dtype = _result_dtype(args[0], attrs)
        data = from_layout(args[0], str(attrs.data_layout), "NC" + letters)
        kernels = from_layout(args[1], str(attrs.kernel_layout), "IO" + letters)
        x, weight = _wide(data, dtype), _wide(kernels, dtype)
        before, after = _complete(attrs.padding)
        strides, dilation, extra = (
            [int(v) for v in part] for part in (attrs.strides, attrs.dilation, attrs.output_padding)
        )
        groups = int(attrs.groups)
        if x.shape[1] != weight.shape[0]:
            raise ValueError(f"{x.shape[1]} channels and a weight for {weight.shape[0]}")
        kernel = weight.shape[2:]
        full = [
            (size - 1) * s + d * (k - 1) + 1 + e
            for size, s, d, k, e in zip(x.shape[2:], strides, dilation, kernel, extra, strict=True)
        ]
        x, weight = _grouped(x, 1, groups), _grouped(weight, 0, groups)
        out = np.zeros((x.shape[0], groups, weight.shape[2], *full), x.dtype)
        # Each window is a view of the result: the transpose adds where the forward operator reads.
        flat = x.reshape(*x.shape[:3], -1)
        for place, part in windows(out, kernel, strides, dilation, x.shape[3:]):
            part += (_at_place(weight.swapaxes(1, 2), place) @ flat).reshape(part.shape)
        out = out.reshape(out.shape[0], -1, *full)
        if any(b < 0 or a < 0 or f < a + b for b, a, f in zip(before, after, full, strict=True)):
            raise ValueError(f"a result of {full} without {before} and {after}")
        cut: list[Any] = [slice(b, f - a) for b, a, f in zip(before, after, full, strict=True)]
        return from_layout(out[(..., *cut)].astype(dtype), "NC" + letters, str(attrs.out_layout))

    return Op(
        name=name,
        build=build,
        reference=evaluate,
        dtypes=DTYPES,
        undefined=undefined.accumulation,
        arithmetic=(0, 1),
    )


OPS = (
    _conv(2),
    _conv(1),
    _conv(3),
    _transpose(2),
    _transpose(1),
    _transpose(3),
)
