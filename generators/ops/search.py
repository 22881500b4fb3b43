"""Sorting, scans, searching and sampling: most of these have no FLegalize."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from tvm import relax

from ...compat.ops import relax_op
from ..choices import Choices
from ..scope import Scope
from . import accepts, laws, undefined
from .operands import dtype_of_result, nonempty_tensor, one_axis, quiet, some_axes
from .record import ALL, Op

__all__ = ["OPS"]

DTYPES = ("float32", "int32", "float64", "int64", "float16")
"""Dtypes that TVM's CPU sorting kernels take and DispatchSortScan lowers. Unsigned integers have a
defined order, too."""

SCANNED = (*DTYPES, "int8", "int16", "uint8")


def _order(x: Any, axis: int, descending: bool) -> Any:
    """The sorted order, stable both ways as in TVM's CPU kernels; this is not documented."""
    if x.ndim == 0:
        return np.zeros((), "int64")
    if not descending:
        return np.argsort(x, axis=axis, kind="stable")
    return np.flip(x.shape[axis] - 1 - np.argsort(np.flip(x, axis), axis=axis, kind="stable"), axis)


def _build_sort(c: Choices, s: Scope) -> relax.Expr:
    x = nonempty_tensor(c, s, DTYPES)
    return relax_op.sort(x.expr, c.pick((-1, one_axis(c, x.ndim))), c.flag(0.3))


def _sort(args: Sequence[Any], attrs: Any) -> Any:
    x, axis = args[0], int(attrs.axis)
    if x.ndim == 0:
        return x
    ascending = np.sort(x, axis=axis)
    return np.flip(ascending, axis) if attrs.descending else ascending


def _build_argsort(c: Choices, s: Scope) -> relax.Expr:
    x = nonempty_tensor(c, s, DTYPES)
    axis, dtype = (
        c.pick((-1, one_axis(c, x.ndim))),
        dtype_of_result(c, s, ("int32", "int64", "float32")),
    )
    return relax_op.argsort(x.expr, axis, c.flag(0.3), dtype)


def _argsort(args: Sequence[Any], attrs: Any) -> Any:
    return _order(args[0], int(attrs.axis), bool(attrs.descending)).astype(str(attrs.dtype))


def _build_topk(c: Choices, s: Scope) -> relax.Expr:
    x = nonempty_tensor(c, s, DTYPES, static=not c.flag(0.3))
    assert x.shape is not None
    axis = c.pick((-1, one_axis(c, x.ndim)))
    size = x.shape[axis]
    # A k of 0 or less stands for the whole axis.
    k = c.pick((1, size, -1)) if isinstance(size, int) else 1
    return relax_op.topk(
        x.expr,
        k,
        axis,
        c.pick(("both", "values", "indices")),
        not c.flag(0.3),
        c.pick(("int32", "int64")),
    )


def _topk(args: Sequence[Any], attrs: Any) -> Any:
    x, axis, k = args[0], int(attrs.axis), int(attrs.k)
    size = x.shape[axis]
    order = _order(x, axis, bool(attrs.largest))
    # As in the type, at most the size of the axis.
    order = order.take(range(min(k, size) if k > 0 else size), axis)
    values, indices = np.take_along_axis(x, order, axis), order.astype(str(attrs.dtype))
    return {"both": (values, indices), "values": values, "indices": indices}[str(attrs.ret_type)]


def _scan(name: str, reference: Callable[..., Any], neutral: int) -> Op:
    call = getattr(relax_op, name)

    def build(c: Choices, s: Scope) -> relax.Expr:
        x = nonempty_tensor(c, s, (*SCANNED, "bool"))
        axis = None if c.flag(0.25) else one_axis(c, x.ndim)
        wider = {"float32": "float64", "int32": "int64", "int8": "int32"}.get(x.dtype or "")
        # Importers omit the dtype for bool, too, though it "should be provided".
        wider = c.pick(("int32", "int64")) if x.dtype == "bool" else wider
        dtype = wider if c.flag(0.75 if x.dtype == "bool" else 0.25) else None
        return call(x.expr, axis, dtype, c.flag(0.25))

    def evaluate(args: Sequence[Any], attrs: Any) -> Any:
        x = args[0]
        dtype = x.dtype if attrs.dtype is None else np.dtype(str(attrs.dtype))
        axis = 0 if attrs.axis is None else int(attrs.axis)
        x = x.reshape(-1) if attrs.axis is None else x
        if attrs.exclusive:
            x = x.astype(dtype)
            first = np.full_like(x.take([0], axis), neutral)
            x = np.concatenate([first, x.take(range(x.shape[axis] - 1), axis)], axis)
        return reference(x, axis=axis, dtype=dtype)

    return Op(
        name=name,
        build=build,
        reference=quiet(evaluate),
        dtypes=(*SCANNED, "bool"),
        legalizes=False,
        lowered_by="DispatchSortScan",
        undefined=undefined.any_of(undefined.sum_overflow, undefined.unrepresentable),
        arithmetic=(0,),
    )


def _build_bucketize(c: Choices, s: Scope) -> relax.Expr:
    x = nonempty_tensor(c, s, SCANNED)
    assert x.dtype is not None
    size = c.pick((3, 4, 1))
    first = 0 if x.dtype == "uint8" else -1
    boundaries = relax.const(np.arange(first, first + size).astype(x.dtype), x.dtype)
    return relax_op.bucketize(x.expr, boundaries, c.flag(), c.flag())


def _bucketize(args: Sequence[Any], attrs: Any) -> Any:
    x, boundaries = args
    index = np.searchsorted(boundaries, x, side="right" if attrs.right else "left")
    return np.asarray(index).astype("int32" if attrs.out_int32 else "int64")


def _build_multinomial(c: Choices, s: Scope) -> relax.Expr:
    batch, classes, count = c.pick((2, 1)), c.pick((4, 3)), c.pick((2, 3))
    prob = relax.const(np.full((batch, classes), 1 / classes, "float32"), "float32")
    sample = relax.const((np.arange(count).reshape(-1, 1) / count).astype("float32"), "float32")
    indices = s.constant(c, (count, 1), "int64", low=0, high=batch - 1)
    return relax_op.multinomial_from_uniform(prob, sample, indices.expr, c.pick(("int64", "int32")))


def _multinomial(args: Sequence[Any], attrs: Any) -> Any:
    """The first class whose cumulated probability exceeds the uniform sample."""
    prob, sample, rows = args
    above = np.cumsum(prob, axis=1)[rows[:, 0]] > sample
    return np.argmax(above, axis=1)[:, None].astype(str(attrs.dtype))


def _build_median(c: Choices, s: Scope) -> relax.Expr:
    x = nonempty_tensor(c, s, DTYPES)
    axis: int | list[int] | None = one_axis(c, x.ndim)
    if c.flag(0.1):
        axis = some_axes(c, x.ndim, at_least=1)
    elif c.flag(0.3):
        axis = None
    return relax_op.median(x.expr, axis, c.flag(0.3))


def _median(args: Sequence[Any], attrs: Any) -> Any:
    """As in PyTorch: the lower median of an even number of elements; its index along one axis."""
    x = args[0]
    axes = [int(axis) % x.ndim for axis in attrs.axis] if attrs.axis is not None else []
    reduced = axes or list(range(x.ndim))
    kept = [axis for axis in range(x.ndim) if axis not in reduced]
    rows = x.transpose(*kept, *reduced).reshape(*(x.shape[axis] for axis in kept), -1)
    middle = _order(rows, -1, False)[..., (rows.shape[-1] - 1) // 2]
    values = np.take_along_axis(rows, middle[..., None], -1)[..., 0]
    if attrs.keepdims:
        values, middle = (np.expand_dims(part, tuple(sorted(reduced))) for part in (values, middle))
    return (values, middle.astype("int64")) if len(axes) == 1 else values


def _build_nonzero(c: Choices, s: Scope) -> relax.Expr:
    return relax_op.nonzero(s.tensor(c, dtype=ALL, ndim=(2, 1, 3)).expr)


def _build_unique(c: Choices, s: Scope) -> relax.Expr:
    x = nonempty_tensor(c, s, DTYPES, (1, 2))
    return relax_op.unique(
        x.expr, True, c.flag(0.3), c.flag(0.3), c.flag(0.3), 0 if c.flag(0.3) else None
    )


def _unique(args: Sequence[Any], attrs: Any) -> Any:
    """The sorted elements, then index, inverse and counts as requested."""
    x, ordered, index, inverse, counts, *axis = args
    if not ordered:
        raise ValueError("the order of unsorted unique elements is free")
    found = np.unique(
        x,
        return_index=True,
        return_inverse=True,
        return_counts=True,
        axis=int(axis[0]) if axis and axis[0] is not None else None,
    )
    # TVM's type has one axis for each of these; NumPy 2 gives the inverse the operand's shape.
    flat = [part.reshape(-1) for part in found[1:]]
    wanted = [found[0], *(p for p, w in zip(flat, (index, inverse, counts), strict=True) if w)]
    return tuple(wanted) if len(wanted) > 1 else wanted[0]


def _along(attrs: Any, rank: int) -> Sequence[int]:
    return [int(attrs.axis)] if rank else []


def _topk_view(attrs: Any, rank: int) -> str:
    """The elements found, by value and by index."""
    named = "np.take_along_axis(args[0], {}, " + f"{int(attrs.axis)})"
    views = {
        "both": f"(result[0], {named.format('result[1].astype(int)')})",
        "values": "result",
        "indices": named.format("result.astype(int)"),
    }
    return views[str(attrs.ret_type)]


def _argsort_view(attrs: Any, rank: int) -> str:
    return f"np.take_along_axis(args[0], result.astype(int), {int(attrs.axis)})"


def _median_axes(attrs: Any, rank: int) -> Sequence[int]:
    return range(rank) if attrs.axis is None else [int(axis) for axis in attrs.axis]


def _median_view(attrs: Any, rank: int) -> str:
    """The view of the medians; along one axis the result has indices, too."""
    return "result[0]" if attrs.axis is not None and len(attrs.axis) == 1 else "result"


_of_ordered = functools.partial(Op, dtypes=DTYPES, kinds="u")
_sorting = functools.partial(_of_ordered, legalizes=False, lowered_by="DispatchSortScan")

OPS = (
    _scan("cumsum", np.cumsum, 0),
    _scan("cumprod", np.cumprod, 1),
    _sorting(
        name="sort",
        build=_build_sort,
        reference=_sort,
        laws=(laws.symmetric(_along),),
    ),
    _sorting(
        name="argsort",
        build=_build_argsort,
        reference=_argsort,
        laws=(laws.symmetric(_along, _argsort_view),),
    ),
    _sorting(
        name="topk",
        build=_build_topk,
        reference=_topk,
        laws=(laws.symmetric(_along, _topk_view),),
    ),
    _of_ordered(
        name="median",
        build=_build_median,
        reference=_median,
        laws=(laws.symmetric(_median_axes, _median_view),),
    ),
    Op(
        name="bucketize",
        build=_build_bucketize,
        reference=_bucketize,
        dtypes=SCANNED,
        undefined=undefined.boundaries_not_increasing,
        accepts=accepts.sorted_boundaries,
    ),
    Op(
        name="multinomial_from_uniform",
        build=_build_multinomial,
        reference=_multinomial,
        dtypes=("float32",),
        legalizes=False,
        lowered_by="DispatchSampling",
        undefined=undefined.no_distribution,
        accepts=accepts.samples,
    ),
    Op(
        name="nonzero",
        build=_build_nonzero,
        reference=lambda args, attrs: np.stack(np.nonzero(args[0])).astype("int64"),
        dtypes=ALL,
        nonfinite=True,  # NaN is not zero
        legalizes=False,
    ),
    _of_ordered(
        name="unique",
        build=_build_unique,
        reference=_unique,
        legalizes=False,
    ),
)
