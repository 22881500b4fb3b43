"""Statements of generated PrimFuncs that write one element of a buffer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack

import tvm
from tvm import tirx
from tvm.script.ir_builder import tirx as builder

from ...compat import ir
from ..choices import Choices
from ..values import Dim
from .expressions import FLOATS8, Axis, Expr, const
from .task import REDUCED, NestTask, counter, own_buffer, total

IN_VECTORS = 0.15
"""The chance that a vectorised loop contains loops or its own buffers."""
KEPT = 0.6
"""The chance that a variable or a buffer keeps the old value of an element while it changes."""

ORDERED = 0.15
"""The chance that the result of a loop depends on the order of its iterations."""


def element(
    c: Choices, task: NestTask, axes: Sequence[Axis], at: Sequence[Expr], plain: bool
) -> None:
    """Statements that write the element of the target at these indices."""
    kinds = _STATEMENTS
    if plain:
        kinds = _PLAIN if c.flag(1 - IN_VECTORS) else _LOOPS
    if task.dtype in FLOATS8:
        kinds = _STORED
    elif task.lanes > 1:
        kinds = tuple(kind for kind in kinds if kind is not _bound)  # it may add a condition
    c.pick(kinds)(c, task, axes, list(at))


def _store(c: Choices, task: NestTask, axes: Sequence[Axis], at: list[Expr]) -> None:
    builder.buffer_store(task.target, task.expressions(c, axes).value(task.dtype), at)


def _either(c: Choices, task: NestTask, axes: Sequence[Axis], at: list[Expr]) -> None:
    e = task.expressions(c, axes)
    nested = task.output and c.flag(0.4)
    with builder.If(e.condition()):
        with builder.Then(), ExitStack() as frames:
            if nested:
                # The caller's element stays if the condition does not hold.
                frames.enter_context(builder.If(e.constant_condition()))
                frames.enter_context(builder.Then())
            builder.buffer_store(task.target, e.value(task.dtype), at)
        with builder.Else():
            builder.buffer_store(task.target, e.value(task.dtype, 1), at)


def _bound(c: Choices, task: NestTask, axes: Sequence[Axis], at: list[Expr]) -> None:
    """A value bound to a variable, which may be the condition for a store."""
    e = task.expressions(c, axes)
    var = builder.Bind(e.value(task.dtype, 1))
    e.scalars.append(var)
    if not c.flag(0.3):
        builder.buffer_store(task.target, e.value(task.dtype), at)
        return
    # TVM fails to make a block with a bound unsigned number as condition, because it negates it.
    unsigned = task.dtype.startswith("u")
    with builder.If(e.cast(e.cast(var, "int32") if unsigned else var, "bool")):
        with builder.Then():
            builder.buffer_store(task.target, e.value(task.dtype), at)
        # The caller's element may keep its value.
        if not (task.output and c.flag(0.6)):
            with builder.Else():
                builder.buffer_store(task.target, e.value(task.dtype, 1), at)


def _accumulated(c: Choices, task: NestTask, axes: Sequence[Axis], at: list[Expr]) -> None:
    """A sum kept in a buffer of its own, or in the element."""
    in_place = c.flag(0.3)
    to = task.target if in_place else own_buffer(c, task, (1,))
    where = at if in_place else [task.number(0)]
    builder.buffer_store(to, const(0, task.dtype), where)
    with ExitStack() as frames:
        inner = _inner_loops(c, task, frames)
        value = task.expressions(c, [*axes, *inner]).value(task.dtype, 1)
        builder.buffer_store(to, _updated(c, to[tuple(where)], value, task.dtype), where)
    if not in_place:
        builder.buffer_store(task.target, to[0], at)


def _updated(c: Choices, old: Expr, value: Expr, dtype: str) -> Expr:
    """The sum, or rarely a difference, which depends on the order of the iterations; the old value
    may be bound to a variable."""
    if not c.flag(0.25):
        signed = dtype != "bool" and not dtype.startswith("u")
        return value - old if signed and c.flag(ORDERED) else total(old, value, dtype)
    var = tirx.Var("old", dtype)
    return ir.Let(var, old, total(var, value, dtype))


def _inner_loops(c: Choices, task: NestTask, frames: ExitStack) -> list[Axis]:
    """One loop, perhaps with larger steps or another start than 0; or two, the second dependent."""
    count = c.pick(REDUCED)
    loop = builder.unroll if c.flag(0.3) else builder.serial
    start, step = c.pick(((0, 1),) * 5 + ((0, 2), (1, 1), (1, 2)))
    options = {} if step == 1 else {"step": task.number(step)}
    end = task.number(count + start)
    k = frames.enter_context(loop(task.number(start), end, **options))
    axes = [Axis(k, count + start)]
    if c.flag(0.2):
        begin, bound = c.pick(((k, end), (task.number(0), k), (k, k + task.number(2))))
        m = frames.enter_context(builder.serial(begin, bound))
        axes.append(Axis(m, count + start + 2))
    return axes


def _while(c: Choices, task: NestTask, axes: Sequence[Axis], at: list[Expr]) -> None:
    """The element is updated until a counter reaches a number."""
    e = task.expressions(c, axes)
    count = counter(c, task)
    builder.buffer_store(task.target, e.value(task.dtype, 1), at)
    with builder.While(count[0] < const(1 + c.below(4), "int32")):
        old = task.target[tuple(at)]
        builder.buffer_store(task.target, total(old, e.value(task.dtype, 1), task.dtype), at)
        _step(count)


def _step(count: tirx.Buffer) -> None:
    builder.buffer_store(count, count[0] + const(1, "int32"), [0])


def _collected(c: Choices, task: NestTask, axes: Sequence[Axis], at: list[Expr]) -> None:
    """A loop that collects a few values in a buffer, and another one that adds them up."""
    size = c.pick((4, 3, 2))
    items = own_buffer(c, task, (size,), name="items")
    count = counter(c, task)
    with builder.While(count[0] < const(size, "int32")):
        value = task.expressions(c, axes).value(task.dtype, 1)
        made = total(task.expressions(c, axes).cast(count[0], task.dtype), value, task.dtype)
        builder.buffer_store(items, made, [count[0]])
        _step(count)
    builder.buffer_store(task.target, const(0, task.dtype), at)
    builder.buffer_store(count, const(0, "int32"), [0])
    with builder.While(count[0] < const(size, "int32")):
        old = task.target[tuple(at)]
        builder.buffer_store(task.target, total(old, items[count[0]], task.dtype), at)
        _step(count)


def _twice(c: Choices, task: NestTask, axes: Sequence[Axis], at: list[Expr]) -> None:
    """A store, and another one that reads the stored value, or the value that it had before."""
    e = task.expressions(c, axes)
    builder.buffer_store(task.target, e.value(task.dtype, 1), at)
    old = task.target[tuple(at)]
    if c.flag(KEPT):
        if c.flag():
            held = own_buffer(c, task, (1,), name="held")
            builder.buffer_store(held, old, [0])
            old = held[0]
        else:
            old = builder.Bind(old)
        builder.buffer_store(task.target, e.value(task.dtype, 1), at)
    with ExitStack() as frames:
        if c.flag():
            frames.enter_context(builder.If(e.condition()))
            frames.enter_context(builder.Then())
        builder.buffer_store(task.target, total(old, e.value(task.dtype, 1), task.dtype), at)


def _asked_twice(c: Choices, task: NestTask, axes: Sequence[Axis], at: list[Expr]) -> None:
    """Two stores under one condition on the element, which the first of them may change; the second
    may be inside the first one's branch."""
    e = task.expressions(c, axes)
    builder.buffer_store(task.target, e.value(task.dtype, 1), at)
    nested = c.flag(0.4)
    with ExitStack() as frames:
        for _ in range(2):
            if not nested:
                frames.close()
            old = task.target[tuple(at)]
            holds = old if task.dtype == "bool" else old < const(2, task.dtype)
            frames.enter_context(builder.If(holds))
            frames.enter_context(builder.Then())
            builder.buffer_store(task.target, total(old, e.leaf(task.dtype), task.dtype), at)


def _jumping(c: Choices, task: NestTask, axes: Sequence[Axis], at: list[Expr]) -> None:
    """A loop over updates of the element, with a conditional break or continue."""
    e = task.expressions(c, axes)
    builder.buffer_store(task.target, e.value(task.dtype, 1), at)
    count = c.pick((3, 4, 8))
    loop = builder.unroll if c.flag(0.2) else builder.serial
    with loop(task.number(0), task.number(count)) as k:
        inner = task.expressions(c, [*axes, Axis(k, count)])
        with builder.If(inner.condition()), builder.Then():
            builder.evaluate(c.pick((tirx.break_loop, tirx.continue_loop))())
        old = task.target[tuple(at)]
        builder.buffer_store(task.target, total(old, inner.value(task.dtype, 1), task.dtype), at)


def _alone(c: Choices, task: NestTask, axes: Sequence[Axis], at: list[Expr]) -> None:
    """A loop that updates the element; one iteration begins with another store: the first, the
    last, or one that may not exist."""
    e = task.expressions(c, axes)
    builder.buffer_store(task.target, e.value(task.dtype, 1), at)
    count: Dim = c.pick((*REDUCED, *(axis.extent for axis in axes)))
    points = (0, 2, 5) if not isinstance(count, int) else (0, max(count - 1, 0), count, 2)
    with builder.serial(task.number(0), task.number(count)) as k:
        inner = task.expressions(c, [*axes, Axis(k, count)])
        with builder.If(ir.EQ(k, task.number(c.pick(points)))), builder.Then():
            builder.buffer_store(task.target, inner.value(task.dtype, 1), at)
        old = task.target[tuple(at)]
        builder.buffer_store(task.target, total(old, inner.leaf(task.dtype), task.dtype), at)


def _assumed(c: Choices, task: NestTask, axes: Sequence[Axis], at: list[Expr]) -> None:
    """A true assumption on the axes, which TVM may use."""
    for axis in axes[:1]:
        builder.evaluate(builder.assume(axis.var < task.number(axis.extent)))
    _store(c, task, axes, at)


def _asserted(c: Choices, task: NestTask, axes: Sequence[Axis], at: list[Expr]) -> None:
    """A check that holds."""
    for axis in axes[:1]:
        holds = axis.var < task.number(axis.extent)
        with builder.Assert(holds, f"{task.target.name} has no such row"):
            pass
    _store(c, task, axes, at)


def _undefined(c: Choices, task: NestTask, axes: Sequence[Axis], at: list[Expr]) -> None:
    """An undefined element that is written afterwards, like the padding of a buffer."""
    value = tirx.call_intrin(task.dtype, "tirx.undef")
    if c.flag(0.3):
        value = builder.Bind(value)
    elif c.flag(0.2):
        held = own_buffer(c, task, (1,), name="held")
        builder.buffer_store(held, value, [0])
        value = held[0]
    builder.buffer_store(task.target, value, at)
    _store(c, task, axes, at)


def _limited(c: Choices, task: NestTask, axes: Sequence[Axis], at: list[Expr]) -> None:
    """A store for all elements, and another for those up to a number only known at run time."""
    e = task.expressions(c, axes)
    builder.buffer_store(task.target, e.value(task.dtype, 1), at)
    if not axes:
        return
    numbers = [each for each in task.scalars if _is_integer(each)]
    bound = e.cast(c.pick(numbers) if numbers else tirx.const(3, "int32"), task.index)
    # Scalars are small, so the bound may lie before the first element or after the last one.
    bound = bound + task.number(c.pick((0, -5, 9)))
    if c.flag(0.4):
        bound = builder.Bind(bound)
    inside = c.pick((axes[0].var < bound, axes[0].var >= bound))
    with builder.If(tirx.likely(inside)), builder.Then():
        builder.buffer_store(task.target, e.value(task.dtype, 1), at)


def _is_integer(expr: tvm.ir.Expr) -> bool:
    return str(expr.ty.dtype).startswith("int")


Statement = Callable[[Choices, NestTask, Sequence[Axis], list[Expr]], None]

_PLAIN: tuple[Statement, ...] = (_store, _store, _either, _bound)
"""Statements without a loop."""

_STORED: tuple[Statement, ...] = (_store, _either)
"""Statements that compute nothing from the elements of the target."""

_LOOPS: tuple[Statement, ...] = (_accumulated,)

_STATEMENTS: tuple[Statement, ...] = (
    *_PLAIN,
    _twice,
    _twice,
    _accumulated,
    _while,
    _jumping,
    _alone,
    _accumulated,
    _collected,
    _assumed,
    _limited,
    _asserted,
    _undefined,
    _asked_twice,
)
