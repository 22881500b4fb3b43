"""`arithmetic`: the strategy for PrimFuncs that store the value of an expression for every point of
small loops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tvm
from hypothesis import strategies as st
from tvm import tirx
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as builder

from ..choices import Choices
from ..stages import ARITHMETIC, Stage
from . import is_well_formed, stage_among
from .conditions import kinds
from .integers import mapped
from .terms import INDEX, Terms

HEADER = 8
"""Bytes for decisions that the statements of a function share."""
STATEMENT = 72
"""Bytes for one nest of loops and the expression in it."""
STATEMENTS = 3

STARTS = (0, 0, 0, 0, 0, -3, 1, 2, -8, 5)
FAR = {"int32": (2**30 - 4, -(2**30)), "int64": (2**62 - 4, -(2**62))}
"""Starts of loops whose variable fits twice, and no more, into its dtype: an analysis that computes
bounds of parts of an expression in that dtype must notice where they leave it."""
EXTENTS = (4, 8, 3, 6, 5, 2, 16, 1, 7, 12)
POINTS = 160
"""The most iterations of one nest with static extents."""

READ = (8,)
"""The shape of the buffer that expressions read."""

STORED = ("bool", "uint8", "int8", "uint32", "float32", "int16", "uint64", "float64")
"""Dtypes of stored values besides the usual ones."""


def arithmetic(*, stage: Stage | str = Stage.EXPRESSIONS, **settings: Any) -> Any:
    """Strategy for well-formed IRModules of one public PrimFunc, which stores values of expressions
    that passes simplify: sums, quotients, remainders, extremes, comparisons.

    No divisor is 0, and almost no value leaves the range of its dtype.

    Args:
        stage: the only stage.
        settings: settings of `ir_modules`, which have no effect here.

    Raises:
        InvalidArgument: the stage is of another pipeline.
    """
    stage_among(ARITHMETIC, stage)
    body = st.binary(min_size=STATEMENT, max_size=STATEMENT)
    bodies = st.lists(body, min_size=1, max_size=STATEMENTS)
    modules = _modules(st.binary(min_size=HEADER, max_size=HEADER), bodies)
    return modules.filter(lambda mod: mod is not None and is_well_formed(mod))


@st.composite
def _modules(
    draw: st.DrawFn, header: st.SearchStrategy[bytes], bodies: st.SearchStrategy[list[bytes]]
) -> tvm.IRModule | None:
    drawn = Choices(draw(header)), draw(bodies)
    try:
        return tvm.IRModule({"main": _function(*drawn)})
    except (tvm.error.InternalError, ValueError):
        return None  # TVM's operators fold constants, and fail if a dtype cannot hold the result


def _function(c: Choices, bodies: Sequence[bytes]) -> tirx.PrimFunc:
    index = c.pick(INDEX)
    size = tirx.Var("n", "int64") if c.flag(0.2) else None
    if size is not None:
        index = "int64"
    with IRBuilder() as ib, builder.prim_func(s_tir=False):
        builder.func_name("main")
        read = []
        if c.flag(0.4):
            dtype = c.pick((index, "int32", "int64", "uint8", "float32", "int8", "uint32"))
            read.append(builder.arg("A", builder.buffer(READ, dtype)))
        if size is not None and c.flag(0.7):
            builder.arg("N", builder.buffer((size,), index))  # it may be empty: nothing reads it
        else:
            size = None
        for number, body in enumerate(bodies):
            _statement(Choices(body), f"out{number}", index, read, size)
    return ib.get().with_attr("global_symbol", "main")


def _statement(
    c: Choices, name: str, index: str, read: Sequence[Any], size: tirx.Var | None
) -> None:
    """One nest, which stores a value for each of its points."""
    domains: list[tuple[int, Any]] = []
    points = 1
    for _ in range(c.pick((2, 1, 2, 3))):
        low, extent = c.pick((*STARTS, *STARTS, *FAR[index])), c.pick(EXTENTS)
        if size is not None and c.flag(0.4):
            domains.append((low, size))
        elif points * extent <= POINTS:
            domains.append((low, extent))
            points *= extent
    dtype = index if c.flag(0.6) else c.pick(STORED[:1] * 4 + STORED)
    shape = [extent for _, extent in domains]
    target = builder.arg(name, builder.buffer(shape, dtype))
    _nest(c, target, dtype, index, domains, read)


def _nest(
    c: Choices, target: Any, dtype: str, index: str, domains: Sequence[tuple[int, Any]], read: Any
) -> None:
    def number(value: Any) -> Any:
        return tirx.IntImm(index, value) if isinstance(value, int) else value

    def level(done: list[Any]) -> None:
        if len(done) == len(domains):
            _stores(c, target, dtype, index, done, domains, read)
            return
        low, extent = domains[len(done)]
        with builder.serial(number(low), number(low) + number(extent)) as var:
            IRBuilder.name("ijk"[len(done)], var)
            level([*done, var])

    level([])


def _stores(
    c: Choices, target: Any, dtype: str, index: str, axes: list[Any], domains: Any, read: Any
) -> None:
    terms = Terms(c, index, axes, domains, read, kinds)
    at = [
        axis if low == 0 else axis - tirx.IntImm(index, low)
        for axis, (low, _) in zip(axes, domains, strict=True)
    ]
    if not c.flag(0.25):
        whole = c.flag(0.15)
        value = mapped(terms, dtype, 1) if whole and dtype in INDEX else terms.value(dtype, 3)
        builder.buffer_store(target, value, at)
        return
    with builder.If(terms.value("bool", 2)):
        with builder.Then():
            builder.buffer_store(target, terms.value(dtype, 3), at)
        with builder.Else():
            builder.buffer_store(target, terms.value(dtype, 2), at)
