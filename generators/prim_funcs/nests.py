"""Loop nests of generated PrimFuncs, each of which writes every element of one buffer."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import reduce
from typing import Any, TypeAlias

import tvm
from tvm import tirx
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as builder

from ...compat import ir
from ..choices import Choices
from ..values import Dim
from .expressions import FLOATS, Axis, Expressions, const

Expr: TypeAlias = Any
"""A `tvm.ir.Expr`, whose operators make others."""

FACTORS = (2, 4, 3)
"""By which loops are split."""

REDUCED = (3, 4, 1, 8)
"""Extents of reductions over nothing that a buffer has."""


@dataclass(frozen=True, slots=True)
class Task:
    """What a nest is to do."""

    target: tirx.Buffer
    readable: Sequence[tirx.Buffer]
    """Written before; among them the target, where it has values already."""
    scalars: Sequence[tirx.Var]
    index: str
    """The dtype of loop variables and indices."""
    blocks: bool
    """The function has blocks (s_tir)."""

    @property
    def dims(self) -> list[Dim]:
        """The shape of the target."""
        shape = self.target.ty.shape
        return [int(dim.value) if isinstance(dim, tirx.IntImm) else dim for dim in shape]

    @property
    def dtype(self) -> str:
        """Of the target."""
        return str(self.target.ty.dtype)

    def number(self, dim: Dim | int) -> Expr:
        """An extent as an expression."""
        return tirx.IntImm(self.index, dim) if isinstance(dim, int) else dim

    def expressions(self, c: Choices, axes: Sequence[Axis]) -> Expressions:
        """What a statement among these axes may compute."""
        return Expressions(c, self.index, self.readable, axes, self.scalars)


def nest(c: Choices, task: Task) -> None:
    """Emit one nest of any kind."""
    kinds = _IN_BLOCKS if task.blocks else _PLAIN
    c.pick(kinds)(c, task)


# Loops


@contextmanager
def _loops(
    c: Choices, task: Task, extents: Sequence[Dim], plain: bool, ends: str = ""
) -> Iterator[list[Expr]]:
    """Loops of these extents, one inside of the other, which may run in any order.

    Args:
        plain: nothing inside hinders a vectorised loop.
        ends: of their names.
    """
    kind = c.pick(("serial",) * 15 + ("parallel", "vectorized", "unroll") * 4 + ("pragma",))
    with ExitStack() as frames:
        made = []
        for at, extent in enumerate(extents):
            size, make, options = task.number(extent), builder.serial, {}
            last = at == len(extents) - 1
            small = isinstance(extent, int) and 0 < extent <= 16
            if kind == "parallel" and at == 0:
                make = builder.parallel
            elif kind == "vectorized" and last and plain and small and extent != 1:
                make = builder.vectorized
            elif kind == "unroll" and last and small:
                make = builder.unroll
            elif kind == "pragma" and last:
                options = {"annotations": {"pragma_auto_unroll_max_step": 16}}
            var = frames.enter_context(make(task.number(0), size, **options))
            made.append(var)
        _loop_names(made, ends)
        yield made


def _loop_names(variables: Sequence[Any], ends: str) -> None:
    """Loop variables are named as people do."""
    for letter, var in zip("ijklmn", variables, strict=False):
        IRBuilder.name(f"{letter}{ends}", var)


def _axes(variables: Sequence[Expr], dims: Sequence[Dim]) -> list[Axis]:
    return [Axis(var, dim) for var, dim in zip(variables, dims, strict=True)]


# Elements


def _element(c: Choices, task: Task, axes: Sequence[Axis], at: Sequence[Expr], plain: bool) -> None:
    """Statements that write the element of the target at these indices."""
    kinds = _STATEMENTS[:4] if plain else _STATEMENTS
    c.pick(kinds)(c, task, axes, list(at))


Statement = Callable[[Choices, Task, Sequence[Axis], list[Expr]], None]


def _store(c: Choices, task: Task, axes: Sequence[Axis], at: list[Expr]) -> None:
    builder.buffer_store(task.target, task.expressions(c, axes).value(task.dtype), at)


def _either(c: Choices, task: Task, axes: Sequence[Axis], at: list[Expr]) -> None:
    e = task.expressions(c, axes)
    with builder.If(e.condition()):
        with builder.Then():
            builder.buffer_store(task.target, e.value(task.dtype), at)
        with builder.Else():
            builder.buffer_store(task.target, e.value(task.dtype, 1), at)


def _bound(c: Choices, task: Task, axes: Sequence[Axis], at: list[Expr]) -> None:
    e = task.expressions(c, axes)
    var = builder.Bind(e.value(task.dtype, 1))
    e.scalars.append(var)
    builder.buffer_store(task.target, e.value(task.dtype), at)


def _accumulated(c: Choices, task: Task, axes: Sequence[Axis], at: list[Expr]) -> None:
    """A sum in a buffer of the element's own."""
    count = c.pick(REDUCED)
    total = _own(c, task, 1)
    builder.buffer_store(total, const(0, task.dtype), [0])
    loop = builder.unroll if c.flag(0.3) else builder.serial
    with loop(task.number(0), task.number(count)) as k:
        value = task.expressions(c, [*axes, Axis(k, count)]).value(task.dtype, 1)
        builder.buffer_store(total, _sum(total[0], value, task.dtype), [0])
    builder.buffer_store(task.target, total[0], at)


def _while(c: Choices, task: Task, axes: Sequence[Axis], at: list[Expr]) -> None:
    """The element is updated until a counter reaches a number."""
    e = task.expressions(c, axes)
    counter = _own(c, task, 1, "int32")
    builder.buffer_store(counter, const(0, "int32"), [0])
    builder.buffer_store(task.target, e.value(task.dtype, 1), at)
    with builder.While(counter[0] < const(1 + c.below(4), "int32")):
        old = task.target[tuple(at)]
        builder.buffer_store(task.target, _sum(old, e.value(task.dtype, 1), task.dtype), at)
        builder.buffer_store(counter, counter[0] + const(1, "int32"), [0])


def _twice(c: Choices, task: Task, axes: Sequence[Axis], at: list[Expr]) -> None:
    """A store, and another one that reads it."""
    e = task.expressions(c, axes)
    builder.buffer_store(task.target, e.value(task.dtype, 1), at)
    with ExitStack() as frames:
        if c.flag():
            frames.enter_context(builder.If(e.condition()))
            frames.enter_context(builder.Then())
        old = task.target[tuple(at)]
        builder.buffer_store(task.target, _sum(old, e.value(task.dtype, 1), task.dtype), at)


def _assumed(c: Choices, task: Task, axes: Sequence[Axis], at: list[Expr]) -> None:
    """What is assumed of the axes holds: TVM may use it."""
    for axis in axes[:1]:
        builder.evaluate(builder.assume(axis.var < task.number(axis.extent)))
    _store(c, task, axes, at)


_STATEMENTS: tuple[Statement, ...] = (
    _store,
    _store,
    _either,
    _bound,
    _twice,
    _accumulated,
    _while,
    _assumed,
)


def _own(c: Choices, task: Task, size: int, dtype: str | None = None) -> tirx.Buffer:
    """A buffer that is allocated here."""
    make = builder.sblock_alloc_buffer if task.blocks else builder.alloc_buffer
    made = make((size,), dtype or task.dtype, scope=c.pick(("local", "global")))
    IRBuilder.name("count" if dtype else "total", made)
    return made


def _sum(a: Expr, b: Expr, dtype: str) -> Expr:
    return ir.Or(a, b) if dtype == "bool" else a + b


# Nests


def _spatial(c: Choices, task: Task) -> None:
    """One block, one iteration for each element, as TE makes it."""
    plain = c.flag(0.7)
    with _loops(c, task, task.dims, plain) as loops, builder.sblock("compute"):
        at = [
            builder.axis.spatial(_domain(task, dim), var)
            for var, dim in zip(loops, task.dims, strict=True)
        ]
        _names(at)
        _element(c, task, _axes(at, task.dims), at, plain)


def _domain(task: Task, dim: Dim) -> tvm.ir.Range:
    return tvm.ir.Range(task.number(0), task.number(dim))


def _names(variables: Sequence[Any]) -> None:
    for letter, var in zip("ijklmn", variables, strict=False):
        IRBuilder.name(f"v{letter}", var)


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
    with _loops(c, task, order, plain=False) as loops, builder.sblock("reduce"):
        reduced, spatial = (
            (loops[:number], loops[number:])
            if first
            else (
                loops[len(dims) :],
                loops[: len(dims)],
            )
        )
        at = [
            builder.axis.spatial(_domain(task, dim), var)
            for var, dim in zip(spatial, dims, strict=True)
        ]
        over = [
            builder.axis.reduce(_domain(task, dim), var)
            for var, dim in zip(reduced, extents, strict=True)
        ]
        _names([*at, *over])
        identity, combine = _reducer(c, task.dtype)
        with builder.init():
            builder.buffer_store(task.target, const(identity, task.dtype), at)
        value = task.expressions(c, _axes([*at, *over], [*dims, *extents])).value(task.dtype, 1)
        builder.buffer_store(task.target, combine(task.target[tuple(at)], value), at)


def _reducer(c: Choices, dtype: str) -> tuple[float, Callable[[Expr, Expr], Expr]]:
    if dtype == "bool":
        return 0, ir.Or
    least = -100 if dtype in FLOATS or not dtype.startswith("u") else 0
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
    outer: Dim = (
        math.ceil(dims[which] / factor)
        if isinstance(dims[which], int)
        else tirx.floordiv(size + task.number(factor - 1), task.number(factor))
    )
    extents = [*dims[:which], outer, factor, *dims[which + 1 :]]
    plain = c.flag(0.7)
    with _loops(c, task, extents, plain) as loops, builder.sblock("tiled"):
        spread = loops[which] * task.number(factor) + loops[which + 1]
        values = [*loops[:which], spread, *loops[which + 2 :]]
        at = [
            builder.axis.spatial(_domain(task, dim), value)
            for value, dim in zip(values, dims, strict=True)
        ]
        _names(at)
        exact = isinstance(dims[which], int) and dims[which] % factor == 0
        if not exact:
            builder.where(spread < size)
        _element(c, task, _axes(at, dims), at, plain)
    return None


def _fused(c: Choices, task: Task) -> None:
    """One loop for all dimensions."""
    dims = task.dims
    if 0 in [dim for dim in dims if isinstance(dim, int)]:
        return _spatial(c, task)
    whole = reduce(lambda a, b: a * b, dims, 1)
    plain = c.flag(0.7)
    with _loops(c, task, [whole], plain) as loops, builder.sblock("fused"):
        at = []
        for number, dim in enumerate(dims):
            inner = task.number(reduce(lambda a, b: a * b, dims[number + 1 :], 1))
            value = tirx.floordiv(loops[0], inner)
            if number:
                value = tirx.floormod(value, task.number(dim))
            at.append(builder.axis.spatial(_domain(task, dim), value))
        _names(at)
        _element(c, task, _axes(at, dims), at, plain)
    return None


def _opaque(c: Choices, task: Task) -> None:
    """A block without axes around plain loops."""
    with builder.sblock("opaque"):
        _plain(c, task)


def _rows(c: Choices, task: Task) -> None:
    """A block for each row, around loops for its elements; it may have a buffer of its own."""
    dims = task.dims
    if len(dims) < 2:
        return _opaque(c, task)
    buffered = c.flag() and isinstance(dims[-1], int)
    with _loops(c, task, dims[:-1], plain=False) as loops, builder.sblock("row"):
        at = [
            builder.axis.spatial(_domain(task, dim), var)
            for var, dim in zip(loops, dims[:-1], strict=True)
        ]
        _names(at)
        if buffered:
            row = builder.sblock_alloc_buffer(
                (dims[-1],), task.dtype, scope=c.pick(("local", "global"))
            )
            IRBuilder.name("row", row)
            with builder.serial(task.number(0), task.number(dims[-1])) as j:
                e = task.expressions(c, _axes([*at, j], dims))
                builder.buffer_store(row, e.value(task.dtype), [j])
        with builder.serial(task.number(0), task.number(dims[-1])) as j:
            e = task.expressions(c, _axes([*at, j], dims))
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
    with _loops(c, task, dims[:-1], plain=False) as loops, builder.sblock("row"):
        at = [
            builder.axis.spatial(_domain(task, dim), var)
            for var, dim in zip(loops, dims[:-1], strict=True)
        ]
        _names(at)
        region = task.target[(*at, slice(task.number(0), task.number(row)))]
        offset = tirx.Var("row_offset", "int64")
        view = builder.match_buffer(
            region, (row,), task.dtype, elem_offset=offset, scope=str(task.target.scope()), **where
        )
        IRBuilder.name("view", view)
        with builder.serial(task.number(0), task.number(row)) as j:
            value = task.expressions(c, _axes([*at, j], dims)).value(task.dtype)
            builder.buffer_store(view, value, [j])
    return None


def _plain(c: Choices, task: Task) -> None:
    """Loops without blocks; the first may start elsewhere than at 0, or go in larger steps."""
    dims = task.dims
    start, step = c.pick(((0, 1), (0, 1), (0, 1), (2, 1), (0, 2), (1, 3)))
    if not dims or (start, step) == (0, 1):
        plain = c.flag(0.7)
        with _loops(c, task, dims, plain) as loops:
            _element(c, task, _axes(loops, dims), loops, plain)
        return
    size = task.number(dims[0]) * task.number(step)
    begin = task.number(start)
    options = {} if step == 1 else {"step": task.number(step)}
    with builder.serial(begin, begin + size, **options) as i:
        row = i - begin if step == 1 else tirx.floordiv(i - begin, task.number(step))
        with _loops(c, task, dims[1:], plain=False, ends="_1") as loops:
            at = [row, *loops]
            _element(c, task, _axes(at, dims), at, plain=False)


def _guarded(c: Choices, task: Task) -> None:
    """A loop that runs too far, with a guard inside."""
    dims = task.dims
    if not dims:
        return _plain(c, task)
    more = 1 + c.below(3)
    plain = c.flag(0.7)
    first = dims[0] + more if isinstance(dims[0], int) else dims[0] + task.number(more)
    with _loops(c, task, [first, *dims[1:]], plain) as loops:
        inside = loops[0] < task.number(dims[0])
        with builder.If(tirx.likely(inside) if c.flag() else inside), builder.Then():
            _element(c, task, _axes(loops, dims), loops, plain)
    return None


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
    _matched,
)

_PLAIN: tuple[Nest, ...] = (_plain, _plain, _guarded)
