"""Pooling over one to three spatial axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from tvm import relax

from ...compat.ops import relax_op
from ..choices import Choices
from ..scope import Scope
from ..values import Dim, Value
from . import laws, undefined
from .convolution import (
    SHORT,
    SPATIAL,
    any_layout,
    data,
    from_layout,
    windows,
)
from .operands import HALVES
from .record import FLOATS, Op
from .variation import RARE

__all__ = ["OPS"]

LAYOUTS = {1: ("NCW", "NWC"), 2: ("NCHW", "NHWC"), 3: ("NCDHW", "NDHWC")}
MAX_DTYPES = (*FLOATS, "int32", "int8", "uint8", "int64")


def _operand(
    c: Choices, s: Scope, n: int, dtypes: tuple[str, ...], rarely: bool
) -> tuple[Value, str, dict[str, Dim]]:
    """The data, its layout, and its dims by letter; see `data`."""
    layout = c.pick(LAYOUTS[n])
    batch, channels = (max(d, 1) if isinstance(d, int) else d for d in s.shape(c, 2))
    dims: dict[str, Dim] = {"N": batch, "C": channels}
    return data(c, s, layout, dims, dtypes, rarely, symbolic="NC")


def _out_layout(c: Choices, dims: dict[str, Dim], rarely: bool) -> str | None:
    return any_layout(c, dims, "c") if rarely and c.flag() else None


def _pool(n: int, kind: str) -> Op:
    call = getattr(relax_op.nn, f"{kind}_pool{n}d")
    dtypes = MAX_DTYPES if kind == "max" else FLOATS
    letters = SPATIAL[n]

    def build(c: Choices, s: Scope) -> relax.Expr:
        rarely = c.flag(RARE)
        forms = c.part(3 if rarely else 0)
        x, layout, dims = _operand(c, s, n, dtypes, rarely)
        kernel, dilation, before = c.picks((2, 1, 3), n), [1] * n, [0] * n
        wide, padded = c.picks((False,) * 4 + (True,), n), c.picks((0, 1), n)
        for i, letter in enumerate(letters):
            length = dims[letter]
            length = length if isinstance(length, int) else SHORT
            kernel[i] = min(kernel[i], length)
            if wide[i] and 2 * (kernel[i] - 1) + 1 <= length:
                dilation[i] = 2
            # No window has only padding, over which the maximum is undefined.
            elif kernel[i] > 1:
                before[i] = padded[i]
        after = [min(pad, most) for pad, most in zip(before, c.picks((1, 0), n), strict=True)]
        if rarely and c.flag():
            before = c.picks((0, 1, 2), n)
        return call(
            x.expr,
            pool_size=kernel,
            strides=c.picks((1, 2, 3), n),
            padding=before if before == after and c.flag() else [*before, *after],
            dilation=dilation,
            ceil_mode=c.flag(0.3),
            count_include_pad=c.flag(0.3),
            layout=layout,
            out_layout=_out_layout(forms, dims, rarely),
        )

    def evaluate(args: Sequence[Any], attrs: Any) -> Any:
        x = from_layout(args[0], str(attrs.layout), "NC" + letters)
        dtype = x.dtype
        kernel, strides, dilation, padding = (
            [int(v) for v in part]
            for part in (attrs.pool_size, attrs.strides, attrs.dilation, attrs.padding)
        )
        before, after = padding[:n], padding[n:]
        out_dims = [
            out_size(length, k, s, d, b, a, bool(attrs.ceil_mode))
            for length, k, s, d, b, a in zip(
                x.shape[2:], kernel, strides, dilation, before, after, strict=True
            )
        ]
        # The padding that the last window needs; in ceil_mode it exceeds the attribute.
        ends = [
            max(a, (o - 1) * s + d * (k - 1) + 1 - length - b)
            for a, o, s, d, k, length, b in zip(
                after, out_dims, strides, dilation, kernel, x.shape[2:], before, strict=True
            )
        ]
        widths = [(0, 0), (0, 0), *zip(before, ends, strict=True)]

        def pooled(padded: Any) -> Any:
            return [part for _, part in windows(padded, kernel, strides, dilation, out_dims)]

        counted = [(0, 0), (0, 0), *zip(before, after, strict=True)]
        rest = [(0, 0), (0, 0), *((0, e - a) for e, a in zip(ends, after, strict=True))]
        padding_counts = kind == "avg" and bool(attrs.count_include_pad)
        inside = np.pad(np.ones(x.shape, "float32"), counted, constant_values=int(padding_counts))
        counts = sum(pooled(np.pad(inside, rest)))
        if not np.all(counts):
            raise ValueError("a window of nothing but padding")
        if kind == "max":
            least = np.iinfo(dtype).min if dtype.kind in "iu" else -np.inf
            out = np.max(pooled(np.pad(x, widths, constant_values=least)), axis=0)
        elif dtype.kind in "iub":
            raise TypeError(f"an average of {dtype}")
        else:
            wide = x.astype(np.float32) if dtype.name in HALVES else x
            out = sum(pooled(np.pad(wide, widths))) / counts
        return from_layout(np.asarray(out).astype(dtype), "NC" + letters, str(attrs.out_layout))

    return Op(
        name=f"nn.{kind}_pool{n}d",
        build=build,
        reference=evaluate,
        dtypes=dtypes,
        undefined=undefined.average if kind == "avg" else None,
        laws=(laws.MIRRORED, laws.within(ends=kind == "max")),
    )


def out_size(
    length: int, kernel: int, stride: int, dilation: int, before: int, after: int, ceil: bool
) -> int:
    """As in PyTorch: in ceil_mode the last window must begin in the data or the padding before."""
    room = length + before + after - dilation * (kernel - 1) - 1
    size = -(-room // stride) + 1 if ceil else room // stride + 1
    return size - 1 if ceil and (size - 1) * stride >= length + before else size


def _adaptive(n: int) -> Op:
    call = getattr(relax_op.nn, f"adaptive_avg_pool{n}d")
    letters = SPATIAL[n]

    def build(c: Choices, s: Scope) -> relax.Expr:
        rarely = c.flag(RARE)
        forms = c.part(3 if rarely else 0)
        x, layout, dims = _operand(c, s, n, FLOATS, rarely)
        sizes = c.picks((1, 2, 3, 7) if rarely else (1, 2, 3), n)
        target = (sizes[0], sizes, None)[c.below(3)]
        return call(x.expr, target, layout, _out_layout(forms, dims, rarely))

    def evaluate(args: Sequence[Any], attrs: Any) -> Any:
        x = from_layout(args[0], str(attrs.layout), "NC" + letters)
        dtype = x.dtype
        if dtype.kind in "iub":
            raise TypeError(f"an average of {dtype}")
        sizes = attrs.output_size
        targets = x.shape[2:] if sizes is None else [int(size) for size in sizes]
        out = x.astype(np.float32) if dtype.name in HALVES else x
        for axis, target in enumerate(targets, start=2):
            length = x.shape[axis]
            # Bin i covers [floor(i * length / target), ceil((i + 1) * length / target)).
            bins = [
                out.take(range(i * length // target, -(-(i + 1) * length // target)), axis)
                for i in range(target)
            ]
            out = np.stack([part.mean(axis=axis) for part in bins], axis=axis)
        return from_layout(out.astype(dtype), "NC" + letters, str(attrs.out_layout))

    return Op(
        name=f"nn.adaptive_avg_pool{n}d",
        build=build,
        reference=evaluate,
        dtypes=FLOATS,
        undefined=undefined.average,
        laws=(laws.MIRRORED, laws.within()),
    )


OPS = (
    *(_pool(n, "max") for n in (2, 1, 3)),
    *(_pool(n, "avg") for n in (2, 1, 3)),
    *(_adaptive(n) for n in (2, 1, 3)),
)
