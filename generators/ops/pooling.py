"""Pooling over one to three spatial axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from tvm import relax

from ...compat.ops import relax_op
from ..choices import Choices
from ..scope import Dim, Scope, Value
from . import batching, undefined
from .convolution import SPATIAL, from_layout, to_layout, windows
from .operands import HALVES
from .record import FLOATS, Op

__all__ = ["OPS"]

LAYOUTS = {1: ("NCW", "NWC"), 2: ("NCHW", "NHWC"), 3: ("NCDHW", "NDHWC")}
MAX_DTYPES = (*FLOATS, "int32", "int8", "uint8", "int64")


def _operand(c: Choices, s: Scope, n: int, layout: str, dtypes: tuple[str, ...]) -> Value:
    def fits(x: Value) -> bool:
        return x.shape is not None and all(
            (isinstance(dim, int) and 0 < dim <= 12) or (letter in "NC" and dim != 0)
            for letter, dim in zip(layout, x.shape, strict=True)
        )

    batch, channels = (max(d, 1) if isinstance(d, int) else d for d in s.shape(c, 2))
    dims: dict[str, Dim] = {"N": batch, "C": channels}
    dims |= {letter: c.pick((4, 5, 3) if n < 3 else (3, 2)) for letter in SPATIAL[n]}
    return s.tensor(c, dtype=dtypes, ndim=n + 2, where=fits, fresh_shape=to_layout(dims, layout))


def _pool(n: int, kind: str) -> Op:
    call = getattr(relax_op.nn, f"{kind}_pool{n}d")
    dtypes = MAX_DTYPES if kind == "max" else FLOATS
    letters = SPATIAL[n]

    def build(c: Choices, s: Scope) -> relax.Expr:
        layout = c.pick(LAYOUTS[n])
        x = _operand(c, s, n, layout, dtypes)
        assert x.shape is not None
        dims = dict(zip(layout, x.shape, strict=True))
        size, strides, dilation, before, after = [], [], [], [], []
        for letter in letters:
            length = dims[letter]
            assert isinstance(length, int)
            kernel = min(c.pick((2, 1, 3)), length)
            wide = c.flag(0.2) and 2 * (kernel - 1) + 1 <= length
            # No window of nothing but padding, over which the maximum is undefined.
            pad = 0 if wide or kernel == 1 else c.pick((0, 1))
            size.append(kernel)
            strides.append(c.pick((1, 2, 3)))
            dilation.append(2 if wide else 1)
            before.append(pad)
            after.append(c.pick((pad, 0)))
        return call(
            x.expr,
            pool_size=size,
            strides=strides,
            padding=before if before == after and c.flag() else [*before, *after],
            dilation=dilation,
            ceil_mode=c.flag(0.3),
            count_include_pad=c.flag(0.3),
            layout=layout,
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
        # What the last window needs beyond the padding, in ceil_mode.
        ends = [
            max(a, (o - 1) * s + d * (k - 1) + 1 - length - b)
            for a, o, s, d, k, length, b in zip(
                after, out_dims, strides, dilation, kernel, x.shape[2:], before, strict=True
            )
        ]
        widths = [(0, 0), (0, 0), *zip(before, ends, strict=True)]
        if kind == "max":
            least = np.iinfo(dtype).min if dtype.kind in "iu" else -np.inf
            parts = windows(
                np.pad(x, widths, constant_values=least), kernel, strides, dilation, out_dims
            )
            out = np.max([part for _, part in parts], axis=0)
        elif dtype.kind in "iub":
            raise TypeError(f"an average of {dtype}")
        else:
            wide = np.pad(x.astype(np.float32) if dtype.name in HALVES else x, widths)
            out = sum(part for _, part in windows(wide, kernel, strides, dilation, out_dims))
            inside = np.pad(
                np.ones(x.shape, wide.dtype),
                [(0, 0), (0, 0), *zip(before, after, strict=True)],
                constant_values=1 if attrs.count_include_pad else 0,
            )
            rest = [(0, e - a) for e, a in zip(ends, after, strict=True)]
            inside = np.pad(inside, [(0, 0), (0, 0), *rest])
            counts = sum(part for _, part in windows(inside, kernel, strides, dilation, out_dims))
            out = out / counts
        return from_layout(np.asarray(out).astype(dtype), "NC" + letters, str(attrs.out_layout))

    return Op(
        name=f"nn.{kind}_pool{n}d",
        build=build,
        reference=evaluate,
        dtypes=dtypes,
        batching=batching.images,
        undefined=undefined.average if kind == "avg" else None,
    )


def out_size(
    length: int, kernel: int, stride: int, dilation: int, before: int, after: int, ceil: bool
) -> int:
    """As PyTorch: in ceil_mode the last window must begin inside the data or the padding before."""
    room = length + before + after - dilation * (kernel - 1) - 1
    size = -(-room // stride) + 1 if ceil else room // stride + 1
    return size - 1 if ceil and (size - 1) * stride >= length + before else size


def _adaptive(n: int) -> Op:
    call = getattr(relax_op.nn, f"adaptive_avg_pool{n}d")
    letters = SPATIAL[n]

    def build(c: Choices, s: Scope) -> relax.Expr:
        layout = c.pick((LAYOUTS[n][0], *LAYOUTS[n]))
        x = _operand(c, s, n, layout, FLOATS)
        sizes = [c.pick((1, 2, 3)) for _ in range(n)]
        return call(x.expr, (sizes[0], sizes, None)[c.below(3)], layout)

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
        batching=batching.images,
        undefined=undefined.average,
    )


OPS = (
    *(_pool(n, "max") for n in (2, 1, 3)),
    *(_pool(n, "avg") for n in (2, 1, 3)),
    *(_adaptive(n) for n in (2, 1, 3)),
)
