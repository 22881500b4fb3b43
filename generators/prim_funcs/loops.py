"""Loops of generated PrimFuncs, of all kinds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from tvm.script.ir_builder import tirx as builder

from ..choices import Choices
from ..values import Dim
from .expressions import Expr
from .task import NestTask, name_loops

_KINDS = (
    *("serial",) * 15,
    *("parallel", "vectorized", "unroll") * 4,
    "pragma",
    *("shifted",) * 3,
)


@contextmanager
def loops(
    c: Choices, task: NestTask, extents: Sequence[Dim], plain: bool, ends: str = ""
) -> Iterator[list[Expr]]:
    """Nested loops of these extents, which may run in any order.

    Yields their variables; of a loop that does not start at 0, the distance from its start.

    Args:
        plain: nothing inside prevents a vectorised loop, except an element that is a vector itself.
        ends: the suffix of their names.
    """
    kind = c.pick(_KINDS)
    begin = task.number(1 + c.below(3) if kind == "shifted" else 0)
    with ExitStack() as frames:
        made: list[Expr] = []
        positions: list[Expr] = []
        for at, extent in enumerate(extents):
            size, make, options = task.number(extent), builder.serial, {}
            last = at == len(extents) - 1
            small = isinstance(extent, int) and 0 < extent <= 16
            if kind == "parallel" and at == 0:
                make = builder.parallel
            elif kind == "vectorized" and last and plain and small and extent != 1:
                make = builder.vectorized if task.lanes == 1 else builder.serial
            elif kind == "unroll" and last and small:
                make = builder.unroll
            elif kind == "pragma" and last:
                options = {"annotations": {"pragma_auto_unroll_max_step": 16}}
            shifted = kind == "shifted" and last
            start = begin if shifted else task.number(0)
            var = frames.enter_context(make(start, start + size if shifted else size, **options))
            made.append(var)
            positions.append(var - start if shifted else var)
        name_loops(made, ends)
        yield positions
