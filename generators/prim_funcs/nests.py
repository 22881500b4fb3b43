"""Loop nests of generated PrimFuncs, each of which writes every element of one buffer."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import reduce

from tvm import tirx
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as builder

from ...compat import ir
from ..choices import Choices
from ..values import Dim
from .expressions import FLOATS8, Expr, const
from .loops import loops
from .rare import nests as rare
from .stages import carried, counted, padded, staged
from .statements import element
from .task import FACTORS, REDUCED, Task, axes_of, name_axes

RARE = 0.1
"""The chance of a nest that a single pass looks for."""


def nest(c: Choices, task: Task) -> None:
    """Emit one nest of any kind."""
    kinds = _IN_BLOCKS if task.blocks else _PLAIN
    if c.flag(RARE):
        kinds = rare.IN_BLOCKS if task.blocks else rare.PLAIN
    if task.dtype in FLOATS8:
        kinds = _STORED if task.blocks else _STORED[-3:]
    elif task.lanes > 1:
        kinds = tuple(kind for kind in kinds if kind not in _OF_SCALARS)
    c.pick(kinds)(c, task)


def _spatial(c: Choices, task: Task) -> None:
    """One block, one iteration for each element, as TE makes it."""
    plain = c.flag(0.7)
    with loops(c, task, task.dims, plain) as variables, builder.sblock("compute"):
        at = [
            builder.axis.spatial(task.domain(dim), var)
            for var, dim in zip(variables, task.dims, strict=True)
        ]
        name_axes(at)
        element(c, task, axes_of(at, task.dims), at, plain)


def _reduction(c: Choices, task: Task) -> None:
    """A block with initial values; the reduction is over one or two more axes."""
    extents: list[Dim] = [c.pick(REDUCED)]
    wider = [b for b in task.readable if len(b.ty.shape) > len(task.dims)]
    if wider and c.flag(0.7):
        last = c.pick(wider).ty.shape[-1]
        extents = [int(last.value) if isinstance(last, tirx.IntImm) else last]
    if c.flag(0.2):
        extents.append(2)
    first = c.flag(0.3)
    dims = task.dims
    order = [*extents, *dims] if first else [*dims, *extents]
    number = len(extents)
    with loops(c, task, order, plain=False) as variables, builder.sblock("reduce"):
        reduced, spatial = (
            (variables[:number], variables[number:])
            if first
            else (
                variables[len(dims) :],
                variables[: len(dims)],
            )
        )
        at = [
            builder.axis.spatial(task.domain(dim), var)
            for var, dim in zip(spatial, dims, strict=True)
        ]
        over = [
            builder.axis.reduce(task.domain(dim), var)
            for var, dim in zip(reduced, extents, strict=True)
        ]
        name_axes([*at, *over])
        identity, combine = _reducer(c, task.dtype)
        with builder.init():
            builder.buffer_store(task.target, const(identity, task.dtype), at)
        value = task.expressions(c, axes_of([*at, *over], [*dims, *extents])).value(task.dtype, 1)
        builder.buffer_store(task.target, combine(task.target[tuple(at)], value), at)


def _reducer(c: Choices, dtype: str) -> tuple[float, Callable[[Expr, Expr], Expr]]:
    if dtype == "bool":
        return 0, ir.Or
    least = 0 if dtype.startswith("u") else -100
    return c.pick(
        (
            (0, lambda a, b: a + b),
            (least, tirx.max),
            (100, tirx.min),
            (1, lambda a, b: a * b),
        )
    )


def _split(c: Choices, task: Task) -> None:
    """The loop of one dimension in two, of which the inner one may run too far: a predicate."""
    dims = task.dims
    if not dims:
        return _spatial(c, task)
    which = c.below(len(dims))
    factor = c.pick(FACTORS)
    size = task.number(dims[which])
    extents = [*dims[:which], _tiles(task, dims[which], factor), factor, *dims[which + 1 :]]
    plain = c.flag(0.7)
    with loops(c, task, extents, plain) as variables, builder.sblock("tiled"):
        spread = variables[which] * task.number(factor) + variables[which + 1]
        values = [*variables[:which], spread, *variables[which + 2 :]]
        at = [
            builder.axis.spatial(task.domain(dim), value)
            for value, dim in zip(values, dims, strict=True)
        ]
        name_axes(at)
        exact = isinstance(dims[which], int) and dims[which] % factor == 0
        if not exact:
            builder.where(spread < size)
        element(c, task, axes_of(at, dims), at, plain)
    return None


def _fused(c: Choices, task: Task) -> None:
    """One loop for all dimensions."""
    dims = task.dims
    if 0 in [dim for dim in dims if isinstance(dim, int)]:
        return _spatial(c, task)
    whole = reduce(lambda a, b: a * b, dims, 1)
    plain = c.flag(0.7)
    with loops(c, task, [whole], plain) as variables, builder.sblock("fused"):
        at = []
        for number, dim in enumerate(dims):
            inner = task.number(reduce(lambda a, b: a * b, dims[number + 1 :], 1))
            value = tirx.floordiv(variables[0], inner)
            if number:
                value = tirx.floormod(value, task.number(dim))
            at.append(builder.axis.spatial(task.domain(dim), value))
        name_axes(at)
        element(c, task, axes_of(at, dims), at, plain)
    return None


def _opaque(c: Choices, task: Task) -> None:
    """A block without axes around plain variables."""
    with builder.sblock("opaque"):
        _plain(c, task)


def _rows(c: Choices, task: Task) -> None:
    """A block for each row, around variables for its elements; it may have a buffer of its own."""
    dims = task.dims
    if len(dims) < 2:
        return _opaque(c, task)
    buffered = c.flag() and isinstance(dims[-1], int)
    with loops(c, task, dims[:-1], plain=False) as variables, builder.sblock("row"):
        at = [
            builder.axis.spatial(task.domain(dim), var)
            for var, dim in zip(variables, dims[:-1], strict=True)
        ]
        name_axes(at)
        if buffered:
            row = builder.sblock_alloc_buffer(
                (dims[-1],), task.dtype, scope=c.pick(("local", "global"))
            )
            IRBuilder.name("row", row)
            with builder.serial(task.number(0), task.number(dims[-1])) as j:
                e = task.expressions(c, axes_of([*at, j], dims))
                builder.buffer_store(row, e.value(task.dtype), [j])
        with builder.serial(task.number(0), task.number(dims[-1])) as j:
            e = task.expressions(c, axes_of([*at, j], dims))
            value = row[j] if buffered else e.value(task.dtype)
            if buffered and task.dtype != "bool":
                value = value + e.leaf(task.dtype)
            builder.buffer_store(task.target, value, [*at, j])
    return None


def _matched(c: Choices, task: Task) -> None:
    """A block for each row, which has a name of its own for the row of the target."""
    dims = task.dims
    if len(dims) < 2:
        return _opaque(c, task)
    row = dims[-1]
    # Of what the caller gives, only what the target's type says is known.
    where = {"strides": [1]} if c.flag(0.3) and not task.target.ty.strides else {}
    with loops(c, task, dims[:-1], plain=False) as variables, builder.sblock("row"):
        at = [
            builder.axis.spatial(task.domain(dim), var)
            for var, dim in zip(variables, dims[:-1], strict=True)
        ]
        name_axes(at)
        region = task.target[(*at, slice(task.number(0), task.number(row)))]
        offset = tirx.Var("row_offset", "int64")
        view = builder.match_buffer(
            region, (row,), task.dtype, elem_offset=offset, scope=str(task.target.scope()), **where
        )
        IRBuilder.name("view", view)
        with builder.serial(task.number(0), task.number(row)) as j:
            value = task.expressions(c, axes_of([*at, j], dims)).value(task.dtype)
            builder.buffer_store(view, value, [j])
    return None


def _plain(c: Choices, task: Task) -> None:
    """Loops without blocks; the first may start elsewhere than at 0, or go in larger steps."""
    dims = task.dims
    start, step = c.pick(((0, 1), (0, 1), (0, 1), (2, 1), (0, 2), (1, 3)))
    if not dims or (start, step) == (0, 1):
        plain = c.flag(0.7)
        with loops(c, task, dims, plain) as variables:
            element(c, task, axes_of(variables, dims), variables, plain)
        return
    size = task.number(dims[0]) * task.number(step)
    begin = task.number(start)
    options = {} if step == 1 else {"step": task.number(step)}
    small = isinstance(dims[0], int) and 0 < dims[0] <= 4
    make = builder.unroll if small and c.flag(0.3) else builder.serial
    with make(begin, begin + size, **options) as i:
        row = i - begin if step == 1 else tirx.floordiv(i - begin, task.number(step))
        with loops(c, task, dims[1:], plain=False, ends="_1") as variables:
            at = [row, *variables]
            element(c, task, axes_of(at, dims), at, plain=False)


def _guarded(c: Choices, task: Task) -> None:
    """A loop that runs too far, with a guard inside."""
    dims = task.dims
    if not dims:
        return _plain(c, task)
    more = 1 + c.below(3)
    plain = c.flag(0.7)
    first = dims[0] + more if isinstance(dims[0], int) else dims[0] + task.number(more)
    with loops(c, task, [first, *dims[1:]], plain) as variables:
        inside = variables[0] < task.number(dims[0])
        with builder.If(tirx.likely(inside) if c.flag() else inside), builder.Then():
            element(c, task, axes_of(variables, dims), variables, plain)
    return None


def _tiled(c: Choices, task: Task) -> None:
    """Tiles of the first dimension that reach beyond it, with a guard inside: as loops are split
    where no block has a predicate. The index may have a name."""
    dims = task.dims
    if not dims:
        return _plain(c, task)
    factor = c.pick(FACTORS)
    # More tiles than needed are what is left of several splits that do not divide one another.
    tiles = _tiles(task, dims[0], factor, c.pick((0, 1, 0, 2)))
    plain = c.flag(0.7)
    with loops(c, task, [tiles, factor, *dims[1:]], plain) as variables:
        row = variables[0] * task.number(factor) + variables[1]
        if c.flag(0.4):
            row = builder.Bind(row)
        inside = row < task.number(dims[0])
        at = [row, *variables[2:]]
        with builder.If(tirx.likely(inside) if c.flag() else inside), builder.Then():
            element(c, task, axes_of(at, dims), at, plain)
    return None


def _tiles(task: Task, size: Dim, factor: int, more: int = 0) -> Dim:
    """How many tiles a dimension has, and some more."""
    if isinstance(size, int):
        return math.ceil(size / factor) + more
    return tirx.floordiv(size + task.number(factor - 1), task.number(factor)) + task.number(more)


Nest = Callable[[Choices, Task], None]

_IN_BLOCKS: tuple[Nest, ...] = (
    _spatial,
    _spatial,
    _reduction,
    _reduction,
    _split,
    _fused,
    _rows,
    _opaque,
    _plain,
    _guarded,
    _tiled,
    _matched,
    carried,
    staged,
    counted,
    padded,
)

_PLAIN: tuple[Nest, ...] = (
    _plain,
    _plain,
    _guarded,
    _tiled,
    _plain,
    carried,
    staged,
    counted,
    padded,
)

_STORED: tuple[Nest, ...] = (_spatial, _split, _fused, _opaque, _plain, _guarded, _tiled)
"""That compute nothing of what they store; the last three are without blocks."""

_OF_SCALARS: tuple[Nest, ...] = (_matched, padded, rare.in_vectors)
"""In which an element decides, or is one of several in a vector."""
