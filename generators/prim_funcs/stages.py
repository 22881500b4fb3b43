"""Nests of generated PrimFuncs with several steps, or with values kept between iterations."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack

from tvm import tirx
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as builder

from ...compat import ir
from ..choices import Choices
from .expressions import Expr, const
from .task import NestTask, axes_of, counter, loops, own_buffer, total

TRIANGULAR = 0.4
"""The chance that an inner loop ends at the variable of the outer one."""

DIAGONAL = 0.4
"""The chance that the other element differs in two indices, so that its loops have one order."""


def carried(c: Choices, task: NestTask) -> None:
    """Cumulative sums: the first iteration sets the value that the others add to; some iterations
    may leave it, or add several times."""
    so_far = own_buffer(c, task, (1,))
    with loops(task, task.dims) as at:
        e = task.expressions(c, axes_of(at, task.dims))
        value = e.value(task.dtype, 1)
        if at:
            with builder.If(_first(task, at)), builder.Then():
                builder.buffer_store(so_far, const(0, task.dtype), [0])
        else:
            builder.buffer_store(so_far, const(0, task.dtype), [0])
        with ExitStack() as frames:
            match c.pick(("always",) * 3 + ("if", "loop")):
                case "if":
                    frames.enter_context(builder.If(e.condition()))
                    frames.enter_context(builder.Then())
                case "loop":
                    frames.enter_context(builder.serial(task.number(0), task.number(2)))
            builder.buffer_store(so_far, total(so_far[0], value, task.dtype), [0])
        result = so_far[0] if c.flag(0.7) else total(so_far[0], e.leaf(task.dtype), task.dtype)
        builder.buffer_store(task.target, result, at)


def _first(task: NestTask, at: Sequence[Expr]) -> Expr:
    found = ir.EQ(at[0], task.number(0))
    for var in at[1:]:
        found = ir.And(found, ir.EQ(var, task.number(0)))
    return found


def staged(c: Choices, task: NestTask) -> None:
    """Two buffers of the nest's own; the second is computed from the first, in place if possible.
    The first may have an alias."""
    one = own_buffer(c, task, task.dims, name="one")
    two = own_buffer(c, task, task.dims, name="two")
    with loops(task, task.dims) as at:
        e = task.expressions(c, axes_of(at, task.dims))
        builder.buffer_store(one, e.value(task.dtype, 1), at)
    source = one
    if not task.blocks and c.flag(0.4):
        scope = str(one.scope())
        source = builder.decl_buffer(task.dims, task.dtype, data=one.data, scope=scope)
        IRBuilder.name("again", source)
    with ExitStack() as frames:
        if c.flag():
            frames.enter_context(builder.serial(task.number(0), task.number(2)))
        with loops(task, task.dims) as at:
            e = task.expressions(c, axes_of(at, task.dims))
            old = source[tuple(e.index(dim, number) for number, dim in enumerate(one.ty.shape))]
            builder.buffer_store(two, total(old, e.leaf(task.dtype), task.dtype), at)
            if c.flag(0.3):
                with builder.If(e.condition()), builder.Then():
                    builder.buffer_store(two, total(old, old, task.dtype), at)
    with loops(task, task.dims) as at:
        builder.buffer_store(task.target, two[tuple(at)], at)


def exchanged(c: Choices, task: NestTask) -> None:
    """Two loops next to one another. The first reads one of two buffers and stores into the other;
    the second goes the other way, perhaps at other places. A loop may repeat both."""
    size = task.dims[-1] if task.dims else 4
    one = own_buffer(c, task, (size,), name="one")
    two = own_buffer(c, task, (size,), name="two")
    last = task.number(size) - task.number(1)
    with loops(task, [size]) as (i,):
        e = task.expressions(c, axes_of([i], [size]))
        builder.buffer_store(one, e.leaf(task.dtype), [i])
        builder.buffer_store(two, e.value(task.dtype, 1), [i])
    with loops(task, c.pick(([2], [1], []))):
        for source, to in ((two, one), (one, two)):
            with loops(task, [size]) as (i,):
                leaf = task.expressions(c, axes_of([i], [size])).leaf(task.dtype)
                at = [i if each is one else _another(c, i, last, task) for each in (source, to)]
                read, place = (i if each is None else each for each in at)
                builder.buffer_store(to, total(source[read], leaf, task.dtype), [place])
    with loops(task, task.dims) as at:
        place = at[-1] if at else task.number(0)
        builder.buffer_store(task.target, total(one[place], two[place], task.dtype), at)


def overwritten(c: Choices, task: NestTask) -> None:
    """Every element is stored, and then those for which a condition holds are stored again, perhaps
    with a value that depends on the first one."""
    with loops(task, task.dims) as at:
        value = task.expressions(c, axes_of(at, task.dims)).value(task.dtype, 1)
        builder.buffer_store(task.target, value, at)
    updated = c.flag(0.4)
    with loops(task, task.dims) as at:
        e = task.expressions(c, axes_of(at, task.dims))
        value = e.value(task.dtype, 1)
        if updated:
            value = total(task.target[tuple(at)], value, task.dtype)
        with builder.If(e.condition()), builder.Then():
            builder.buffer_store(task.target, value, at)


def padded(c: Choices, task: NestTask) -> None:
    """A buffer whose end is filled with a number, which the nest then assumes and may change."""
    if not task.dims:
        carried(c, task)
        return
    own = own_buffer(c, task, task.dims, name="padded")
    pad = const(c.pick((0, 1)), task.dtype)
    limit = task.number(c.pick((2, 1, 3)))
    with loops(task, task.dims) as at:
        value = task.expressions(c, axes_of(at, task.dims)).value(task.dtype, 1)
        builder.buffer_store(own, tirx.if_then_else(at[0] < limit, value, pad), at)
    with loops(task, task.dims) as at:
        builder.evaluate(builder.assume(ir.Or(at[0] < limit, ir.EQ(own[tuple(at)], pad))))
    if c.flag(0.4):
        with loops(task, task.dims) as at:
            value = task.expressions(c, axes_of(at, task.dims)).value(task.dtype, 1)
            builder.buffer_store(own, value, at)
    with loops(task, task.dims) as at:
        e = task.expressions(c, axes_of(at, task.dims))
        read = own[tuple(e.index(dim, number) for number, dim in enumerate(own.ty.shape))]
        chosen = tirx.if_then_else(limit <= at[0], read, c.pick((pad, e.leaf(task.dtype))))
        builder.buffer_store(task.target, chosen, at)


def counted(c: Choices, task: NestTask) -> None:
    """A loop that writes all elements, and one that rewrites some up to a changing bound."""
    if not task.dims:
        carried(c, task)
        return
    with loops(task, task.dims) as at:
        value = task.expressions(c, axes_of(at, task.dims)).value(task.dtype, 1)
        builder.buffer_store(task.target, value, at)
    left = counter(c, task, c.pick((6, 3, 4)))
    with loops(task, task.dims) as at:
        e = task.expressions(c, axes_of(at, task.dims))
        inside = at[0] < e.cast(left[0], task.index)
        with builder.If(tirx.likely(inside) if c.flag(0.7) else inside), builder.Then():
            builder.buffer_store(left, left[0] - const(1, "int32"), [0])
            builder.buffer_store(task.target, e.value(task.dtype, 1), at)


def rescanned(c: Choices, task: NestTask) -> None:
    """A loop that writes all elements, and one that updates some of them from others.

    The other one is a neighbour, the mirror image, or the same one in each iteration. The loops of
    the update may be triangular.
    """
    dims = task.dims
    if not dims:
        carried(c, task)
        return
    with loops(task, dims) as at:
        value = task.expressions(c, axes_of(at, dims)).value(task.dtype, 1)
        builder.buffer_store(task.target, value, at)
    with ExitStack() as frames:
        if len(dims) > 1 and c.flag(TRIANGULAR):
            (i,) = frames.enter_context(loops(task, dims[:1]))
            bound = tirx.min(i + task.number(1), task.number(dims[1]))
            j = frames.enter_context(builder.serial(task.number(0), bound))
            at = [i, j, *frames.enter_context(loops(task, dims[2:]))]
            axis = 0
        else:
            at = frames.enter_context(loops(task, dims))
            axis = c.below(len(dims))
        e = task.ahead().expressions(c, axes_of(at, dims))
        if c.flag():
            value = total(task.target[tuple(at)], e.leaf(task.dtype), task.dtype)
            builder.buffer_store(task.target, value, at)
        place = list(at)
        axes = [axis, (axis + 1) % len(dims)] if len(dims) > 1 and c.flag(DIAGONAL) else [axis]
        others = [_another(c, at[x], task.number(dims[x]) - task.number(1), task) for x in axes]
        value = e.leaf(task.dtype)
        for number, other in zip(axes, others, strict=True):
            place[number] = place[number] if other is None else other
        if others[0] is not None:
            value = total(value, task.target[tuple(place)], task.dtype)
        builder.buffer_store(task.target, value, at)


def _another(c: Choices, at: Expr, last: Expr, task: NestTask) -> Expr | None:
    """The place of another element along an axis: before or after it, opposite, or a fixed one."""
    return c.pick(
        (
            tirx.max(at - task.number(1), task.number(0)),
            tirx.min(at + task.number(1), last),
            None,
            last - at,
            task.number(0),
            last,
        )
    )
