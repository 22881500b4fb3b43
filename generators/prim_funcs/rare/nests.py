"""Loop nests of generated PrimFuncs that are marked for one pass, or written in vectors."""

from __future__ import annotations

from collections.abc import Callable

from tvm import tirx
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as builder

from ...choices import Choices
from ..task import NestTask, axes_of, dims_of_buffer, loops, own_buffer, spatial_axes, total

STAGE, ORDER, ASYNC = (
    "software_pipeline_stage",
    "software_pipeline_order",
    "software_pipeline_async_stages",
)
"""Annotations of loops whose iterations may overlap: tvm/s_tir/stmt.h."""

PLANS = (
    ((0, 1), (0, 1)),
    ((0, 1), (1, 0)),
    ((0, 2), (0, 1)),
    ((0, 0), (0, 1)),
    ((0, 3), (1, 0)),
)
"""Stages and order of two steps."""

LONGER = (((0, 0, 1), (0, 1, 2)), ((0, 1, 2), (0, 1, 2)), ((0, 1, 2), (2, 1, 0)))
"""Stages and order of three steps."""

ASYNCHRONOUS = 0.3
"""The chance that the first stage of a pipeline is an asynchronous copy."""


def pipelined(c: Choices, task: NestTask) -> None:
    """A loop whose steps are to overlap: each computes a row from the previous one's result."""
    stages, order = c.pick((*PLANS, *PLANS, *LONGER))
    notes = {STAGE: list(stages), ORDER: list(order)}
    if c.flag(ASYNCHRONOUS):
        notes[ASYNC] = [0]
    _steps(c, task, len(stages), notes)


def together(c: Choices, task: NestTask) -> None:
    """Several blocks in one loop; a step may also read the previous row, as a convolution does."""
    _steps(c, task, c.pick((2, 2, 3)), {}, behind=c.flag())


def _steps(
    c: Choices, task: NestTask, count: int, notes: dict[str, list[int]], *, behind: bool = False
) -> None:
    """A loop of this many blocks; the last writes the target, and each reads the previous one.

    Args:
        notes: annotations of the loop.
        behind: a block also reads the last row that an earlier iteration has written.
    """
    task = task.ahead()
    dims = task.dims or [1]
    buffers = [own_buffer(c, task, dims, name="EFG"[at] + "_row") for at in range(count - 1)]
    double = c.flag(0.2)
    with builder.serial(task.number(0), task.number(dims[0]), annotations=notes) as i:
        IRBuilder.name("i", i)
        for step, target in enumerate([*buffers, task.target]):
            with loops(task, dims[1:]) as inner, builder.sblock(f"step{step}"):
                at = spatial_axes(c, task, [i, *inner], dims)
                if double and not step:
                    builder.sblock_attr({"double_buffer_scope": 0})
                e = task.expressions(c, axes_of(at, dims))
                value = e.value(task.dtype, 1)
                if step:
                    row, *rest = at
                    value = total(buffers[step - 1][tuple(at)], value, task.dtype)
                    if behind:
                        row = tirx.max(row - task.number(1), task.number(0))
                        value = total(buffers[step - 1][(row, *rest)], value, task.dtype)
                builder.buffer_store(target, value, at if task.dims or step < len(buffers) else [])


def double_buffered(c: Choices, task: NestTask) -> None:
    """Rows computed into a buffer, which may be replaced by two in alternation."""
    dims = task.dims or [1]
    outer = 1 if c.flag(0.2) else max(1, len(dims) - 1)
    row = own_buffer(c, task, dims[outer:] or [1], name="row")
    with loops(task, dims[:outer]) as at:
        with builder.attr(row.data, "double_buffer_scope", 1), loops(task, dims[outer:]) as inner:
            e = task.ahead().expressions(c, axes_of([*at, *inner], dims))
            builder.buffer_store(row, e.value(task.dtype, 1), inner or [task.number(0)])
        with loops(task, dims[outer:]) as inner:
            e = task.expressions(c, axes_of([*at, *inner], dims))
            read = row[tuple(inner or [task.number(0)])]
            value = total(read, e.leaf(task.dtype), task.dtype)
            builder.buffer_store(task.target, value, [*at, *inner] if task.dims else [])


def in_vectors(c: Choices, task: NestTask) -> None:
    """Loads and stores of several elements at once, as people write them."""
    *outer, last = task.dims or [1]
    lanes = c.pick((4, 2))
    if not isinstance(last, int) or last % lanes or task.dtype == "bool":
        double_buffered(c, task)
        return
    alike = [
        b for b in task.readable if dims_of_buffer(b) == task.dims and str(b.ty.dtype) == task.dtype
    ]
    extents = [*outer, last // lanes]
    with loops(task, extents) as made:
        at = [*made[:-1], builder.ramp(made[-1] * task.number(lanes), task.number(1), lanes)]
        e = task.expressions(c, axes_of(made, extents))
        value = builder.broadcast(e.value(task.dtype, 1), lanes)
        if alike:
            value = c.pick(alike)[tuple(at)] + value
        builder.buffer_store(task.target, value, at)


Nest = Callable[[Choices, NestTask], None]

IN_BLOCKS: tuple[Nest, ...] = (pipelined,)

PLAIN: tuple[Nest, ...] = (in_vectors, in_vectors, double_buffered)
