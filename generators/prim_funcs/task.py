"""What a nest of a generated PrimFunc is to do, and what all nests share."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import tvm
from tvm import tirx
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as builder

from ...compat import ir
from ..choices import Choices
from ..values import Dim
from .expressions import Axis, Expr, Expressions, lanes_of
from .rare.vectors import Vectors

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
    output: bool = False
    """The target is the caller's: its elements have values already, and may keep them."""

    @property
    def dims(self) -> list[Dim]:
        """The shape of the target."""
        shape = self.target.ty.shape
        return [int(dim.value) if isinstance(dim, tirx.IntImm) else dim for dim in shape]

    @property
    def dtype(self) -> str:
        """Of the target."""
        return str(self.target.ty.dtype)

    @property
    def lanes(self) -> int:
        """How many scalars an element of the target has."""
        return lanes_of(self.dtype)

    def number(self, dim: Dim | int) -> Expr:
        """An extent as an expression."""
        return tirx.IntImm(self.index, dim) if isinstance(dim, int) else dim

    def domain(self, dim: Dim) -> tvm.ir.Range:
        """The domain of an axis of a block."""
        return tvm.ir.Range(self.number(0), self.number(dim))

    def ahead(self) -> Task:
        """The same for what is computed while earlier iterations still write the target."""
        others = [buffer for buffer in self.readable if not buffer.same_as(self.target)]
        return dataclasses.replace(self, readable=others)

    def expressions(self, c: Choices, axes: Sequence[Axis]) -> Expressions:
        """What a statement among these axes may compute."""
        several = any(lanes_of(str(b.ty.dtype)) > 1 for b in (self.target, *self.readable))
        make = Vectors if several else Expressions
        return make(c, self.index, self.readable, axes, self.scalars)


def own_buffer(
    c: Choices, task: Task, shape: Sequence[Dim], dtype: str | None = None, name: str = "total"
) -> tirx.Buffer:
    """A buffer that is allocated here; of the dtype of the target, if none is given."""
    make = builder.sblock_alloc_buffer if task.blocks else builder.alloc_buffer
    made = make(shape, dtype or task.dtype, scope=c.pick(("local", "global")))
    IRBuilder.name(name, made)
    return made


def counter(c: Choices, task: Task, start: int = 0) -> tirx.Buffer:
    """A number in a buffer of its own."""
    made = own_buffer(c, task, (1,), "int32", "count")
    builder.buffer_store(made, tirx.const(start, "int32"), [0])
    return made


def total(a: Expr, b: Expr, dtype: str) -> Expr:
    """A sum, of truth values whether one holds."""
    return ir.Or(a, b) if dtype == "bool" else a + b


def axes_of(variables: Sequence[Expr], dims: Sequence[Dim]) -> list[Axis]:
    """The axes that loops over these dimensions, or variables of a block, are."""
    return [Axis(var, dim) for var, dim in zip(variables, dims, strict=True)]


def name_loops(variables: Sequence[Any], ends: str = "") -> None:
    """Loop variables are named as people do."""
    for letter, var in zip("ijklmn", variables, strict=False):
        IRBuilder.name(f"{letter}{ends}", var)


def name_axes(variables: Sequence[Any]) -> None:
    """The variables of a block, too."""
    for letter, var in zip("ijklmn", variables, strict=False):
        IRBuilder.name(f"v{letter}", var)
