"""Loop nests of generated PrimFuncs, each of which writes every element of one buffer."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
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
from .stages import carried, counted, exchanged, overwritten, padded, rescanned, staged
from .statements import element
from .task import (
    FACTORS,
    REDUCED,
    NestTask,
    axes_of,
    name_axes,
    own_buffer,
    spatial_axes,
    total,
)

RARE = 0.1
"""The chance of a nest that a single pass looks for."""
FROM_A_BUFFER = 0.3
"""The chance that a reduction starts from an arbitrary value, like a bias fused into a product."""
IN_TILES = 0.3
"""The chance that a loop around a block with initial values or with its own buffers is split."""

TOO_LONG = 0.25
"""The chance that a loop around a block has more iterations than its axis, so that the block has a
predicate."""


def nest(c: Choices, task: NestTask) -> None:
    """Emit one nest of any kind."""
    kinds = _IN_BLOCKS if task.blocks else _PLAIN
    if c.flag(RARE):
        kinds = rare.IN_BLOCKS if task.blocks else rare.PLAIN
    if task.dtype in FLOATS8:
        kinds = _STORED if task.blocks else _STORED[-3:]
    elif task.lanes > 1:
        kinds = tuple(kind for kind in kinds if kind not in _OF_SCALARS)
    c.pick(kinds)(c, task)


def _spatial(c: Choices, task: NestTask) -> None:
    """One block with one iteration for each element, as TE makes it."""
    plain = c.flag(0.7)
    with loops(c, task, task.dims, plain) as variables, builder.sblock("compute"):
        at = spatial_axes(c, task, variables, task.dims)
        element(c, task, axes_of(at, task.dims), at, plain)


def _moved(c: Choices, task: NestTask) -> None:
    """A block that writes a buffer with its axes in reverse order, and one that reads it."""
    dims = task.dims
    own = own_buffer(c, task, dims[::-1], name="moved")
    with loops(c, task, dims, plain=True) as variables, builder.sblock("move"):
        at = spatial_axes(c, task, variables, dims)
        value = task.expressions(c, axes_of(at, dims)).value(task.dtype, 1)
        builder.buffer_store(own, value, at[::-1])
    with loops(c, task, dims, plain=True) as variables, builder.sblock("compute"):
        at = spatial_axes(c, task, variables, dims)
        e = task.expressions(c, axes_of(at, dims))
        read = own[tuple(e.index(dim, number) for number, dim in enumerate(own.ty.shape))]
        builder.buffer_store(task.target, total(read, e.leaf(task.dtype), task.dtype), at)


def _reduction(c: Choices, task: NestTask) -> None:
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
    with _spread(c, task, order) as (variables, inside), builder.sblock("reduce"):
        reduced, spatial = (
            (variables[:number], variables[number:])
            if first
            else (
                variables[len(dims) :],
                variables[: len(dims)],
            )
        )
        at = spatial_axes(c, task, spatial, dims)
        over = [
            builder.axis.reduce(task.domain(dim), var)
            for var, dim in zip(reduced, extents, strict=True)
        ]
        name_axes([*at, *over])
        _where(inside)
        identity, combine = _reducer(c, task.dtype)
        first_value = const(identity, task.dtype)
        if c.flag(FROM_A_BUFFER):
            first_value = task.ahead().expressions(c, axes_of(at, dims)).leaf(task.dtype)
        with builder.init():
            builder.buffer_store(task.target, first_value, at)
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


def _split(c: Choices, task: NestTask) -> None:
    """One dimension's loop split in two; the inner one may run too far, so there is a predicate."""
    dims = task.dims
    if not dims:
        return _spatial(c, task)
    which, plain = c.below(len(dims)), c.flag(0.7)
    split = _in_tiles(c, task, dims, which, plain)
    with split as (values, inside), builder.sblock("tiled"):
        at = spatial_axes(c, task, values, dims)
        _where(inside)
        element(c, task, axes_of(at, dims), at, plain)
    return None


Spread = tuple[list[Expr], Expr | None]
"""Positions in the dimensions, and the condition under which they are inside; None: always."""


@contextmanager
def _spread(c: Choices, task: NestTask, dims: Sequence[Dim]) -> Iterator[Spread]:
    """Loops over these dimensions. One may be split in two, or have too many iterations."""
    if dims and c.flag(IN_TILES):
        with _in_tiles(c, task, dims, c.below(len(dims)), plain=False) as spread:
            yield spread
        return
    if dims and c.flag(TOO_LONG):
        which = c.below(len(dims))
        longer = [*dims]
        longer[which] = longer[which] + 1 + c.below(3)
        with loops(c, task, longer, plain=False) as variables:
            yield variables, variables[which] < task.number(dims[which])
        return
    with loops(c, task, dims, plain=False) as variables:
        yield variables, None


@contextmanager
def _in_tiles(
    c: Choices, task: NestTask, dims: Sequence[Dim], which: int, plain: bool
) -> Iterator[Spread]:
    """Loops over these dimensions, one of which is split in two; the inner loop may run too far."""
    size, factor = dims[which], c.pick(FACTORS)
    extents = [*dims[:which], _tiles(task, size, factor), factor, *dims[which + 1 :]]
    with loops(c, task, extents, plain) as variables:
        position = variables[which] * task.number(factor) + variables[which + 1]
        exact = isinstance(size, int) and size % factor == 0
        inside = None if exact else position < task.number(size)
        yield [*variables[:which], position, *variables[which + 2 :]], inside


def _where(inside: Expr | None) -> None:
    """The predicate of the current block, if it needs one."""
    if inside is not None:
        builder.where(inside)


def _fused(c: Choices, task: NestTask) -> None:
    """One loop for all dimensions."""
    dims = task.dims
    if 0 in [dim for dim in dims if isinstance(dim, int)]:
        return _spatial(c, task)
    whole = reduce(lambda a, b: a * b, dims, 1)
    plain = c.flag(0.7)
    with loops(c, task, [whole], plain) as variables, builder.sblock("fused"):
        values = []
        for number, dim in enumerate(dims):
            inner = task.number(reduce(lambda a, b: a * b, dims[number + 1 :], 1))
            value = tirx.floordiv(variables[0], inner)
            if number:
                value = tirx.floormod(value, task.number(dim))
            values.append(value)
        at = spatial_axes(c, task, values, dims)
        element(c, task, axes_of(at, dims), at, plain)
    return None


def _opaque(c: Choices, task: NestTask) -> None:
    """A block without axes around plain variables."""
    with builder.sblock("opaque"):
        _plain(c, task)


def _rows(c: Choices, task: NestTask) -> None:
    """A block for each row, around variables for its elements; it may have its own buffer."""
    dims = task.dims
    if len(dims) < 2:
        return _opaque(c, task)
    buffered = c.flag() and isinstance(dims[-1], int)
    with _spread(c, task, dims[:-1]) as (positions, inside), builder.sblock("row"):
        at = spatial_axes(c, task, positions, dims[:-1])
        _where(inside)
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


def _matched(c: Choices, task: NestTask) -> None:
    """A block for each row, with a matched buffer for the row of the target."""
    dims = task.dims
    if len(dims) < 2:
        return _opaque(c, task)
    row = dims[-1]
    # Only the target's type tells the layout of a caller's buffer.
    where = {"strides": [1]} if c.flag(0.3) and not task.target.ty.strides else {}
    with _spread(c, task, dims[:-1]) as (positions, inside), builder.sblock("row"):
        at = spatial_axes(c, task, positions, dims[:-1])
        _where(inside)
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


def _plain(c: Choices, task: NestTask) -> None:
    """Loops without blocks; the first may start at another number than 0, or use larger steps."""
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


def _guarded(c: Choices, task: NestTask) -> None:
    """A loop with too many iterations, and a guard inside."""
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


def _tiled(c: Choices, task: NestTask) -> None:
    """Tiles of the first dimension that reach beyond it, with a guard inside, as in loops split
    without a block predicate. The index may be bound to a variable."""
    dims = task.dims
    if not dims:
        return _plain(c, task)
    factor = c.pick(FACTORS)
    # Several splits that do not divide one another leave more tiles than needed.
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


def _tiles(task: NestTask, size: Dim, factor: int, more: int = 0) -> Dim:
    """The number of tiles of a dimension, plus `more`."""
    if isinstance(size, int):
        return math.ceil(size / factor) + more
    return tirx.floordiv(size + task.number(factor - 1), task.number(factor)) + task.number(more)


Nest = Callable[[Choices, NestTask], None]

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
    rare.together,
    carried,
    staged,
    counted,
    padded,
    rescanned,
    _moved,
    overwritten,
    exchanged,
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
    rescanned,
    overwritten,
    exchanged,
)

_STORED: tuple[Nest, ...] = (_spatial, _split, _fused, _opaque, _plain, _guarded, _tiled)
"""Nests that compute nothing from their stored values; the last three have no blocks."""

_OF_SCALARS: tuple[Nest, ...] = (_matched, padded, rare.in_vectors)
"""Nests in which an element is a condition, or is one of several in a vector."""
