"""The task of a nest of a generated PrimFunc, and helpers that all nests share."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import tvm
from tvm import tirx
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as builder

from ...compat import ir
from ..choices import Choices
from ..values import Dim
from .expressions import Axis, Expr, ExpressionGenerator, lanes_of
from .rare.vectors import VectorGenerator

FACTORS = (2, 4, 3)
"""Factors of loop splits."""

REDUCED = (3, 4, 1, 8, 5)
"""Extents of reductions that are not over a dimension of a buffer."""

OPAQUE = 0.06
"""The chance that the axes of a block promise nothing about the order of its iterations."""


@dataclass(frozen=True, slots=True)
class NestTask:
    """The task of a nest: to write a target buffer."""

    target: tirx.Buffer
    readable: Sequence[tirx.Buffer]
    """The buffers that have values already, the target among them if it has."""
    scalars: Sequence[tirx.Var]
    index: str
    """The dtype of loop variables and indices."""
    blocks: bool
    """True if the function has blocks (s_tir)."""
    output: bool = False
    """True if the target is the caller's: its elements have values, and may keep them."""

    @property
    def dims(self) -> list[Dim]:
        """The shape of the target."""
        return dims_of_buffer(self.target)

    @property
    def dtype(self) -> str:
        """The dtype of the target."""
        return str(self.target.ty.dtype)

    @property
    def lanes(self) -> int:
        """The number of scalars in an element of the target."""
        return lanes_of(self.dtype)

    def number(self, dim: Dim | int) -> Expr:
        """An extent as an expression."""
        return tirx.IntImm(self.index, dim) if isinstance(dim, int) else dim

    def domain(self, dim: Dim) -> tvm.ir.Range:
        """The domain of an axis of a block."""
        return tvm.ir.Range(self.number(0), self.number(dim))

    def ahead(self) -> NestTask:
        """The task of a computation that runs while earlier iterations still write the target."""
        others = [buffer for buffer in self.readable if not buffer.same_as(self.target)]
        return dataclasses.replace(self, readable=others)

    def expressions(self, c: Choices, axes: Sequence[Axis]) -> ExpressionGenerator:
        """Expressions for a statement with these axes."""
        several = any(lanes_of(str(b.ty.dtype)) > 1 for b in (self.target, *self.readable))
        make = VectorGenerator if several else ExpressionGenerator
        return make(c, self.index, self.readable, axes, self.scalars)


def dims_of_buffer(buffer: tirx.Buffer) -> list[Dim]:
    """The shape of a buffer."""
    shape = buffer.ty.shape
    return [int(dim.value) if isinstance(dim, tirx.IntImm) else dim for dim in shape]


def own_buffer(
    c: Choices, task: NestTask, shape: Sequence[Dim], dtype: str | None = None, name: str = "total"
) -> tirx.Buffer:
    """A buffer allocated here, by default with the dtype of the target."""
    make = builder.sblock_alloc_buffer if task.blocks else builder.alloc_buffer
    made = make(shape, dtype or task.dtype, scope=c.pick(("local", "global")))
    IRBuilder.name(name, made)
    return made


def counter(c: Choices, task: NestTask, start: int = 0) -> tirx.Buffer:
    """A number in its own buffer."""
    made = own_buffer(c, task, (1,), "int32", "count")
    builder.buffer_store(made, tirx.const(start, "int32"), [0])
    return made


def total(a: Expr, b: Expr, dtype: str) -> Expr:
    """A sum; the disjunction of truth values."""
    return ir.Or(a, b) if dtype == "bool" else a + b


def axes_of(variables: Sequence[Expr], dims: Sequence[Dim]) -> list[Axis]:
    """The axes of loops over these dimensions, or of variables of a block."""
    return [Axis(var, dim) for var, dim in zip(variables, dims, strict=True)]


@contextmanager
def loops(task: NestTask, dims: Sequence[Dim]) -> Iterator[list[Expr]]:
    """Loops over these dimensions."""
    with ExitStack() as frames:
        extents = [(task.number(0), task.number(dim)) for dim in dims]
        made = [frames.enter_context(builder.serial(*each)) for each in extents]
        name_loops(made)
        yield made


def name_loops(variables: Sequence[Any], ends: str = "") -> None:
    """Name loop variables as people do."""
    for letter, var in zip("ijklmn", variables, strict=False):
        IRBuilder.name(f"{letter}{ends}", var)


def name_axes(variables: Sequence[Any]) -> None:
    """Name the variables of a block as people do."""
    for letter, var in zip("ijklmn", variables, strict=False):
        IRBuilder.name(f"v{letter}", var)


def spatial_axes(
    c: Choices, task: NestTask, values: Sequence[Expr], dims: Sequence[Dim]
) -> list[Expr]:
    """Axes of the current block over these dimensions; rarely they are opaque.

    Args:
        values: the values that the axes are bound to.
    """
    make = builder.axis.opaque if c.flag(OPAQUE) else builder.axis.spatial
    made = [make(task.domain(dim), value) for value, dim in zip(values, dims, strict=True)]
    name_axes(made)
    return made
