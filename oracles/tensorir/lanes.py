"""Statements of TensorIR as Python text; loops run in lanes if that is proven correct."""

from __future__ import annotations

import contextlib
import dataclasses
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from .dependence import Loop, LoopPlan
from .intrinsics import BITS
from .runtime import CHUNK, MATMUL
from .statements import Statements, kept, targets
from .values import BufferArray, PyExpr, subscript, type_name

PER_STEP = 100
"""Number of lanes that count as one iteration."""

FEW = 100
"""Number of iterations that are not worth counting if they run only once."""

PER_MATMUL = 2000
"""Number of lanes of a contraction of dtypes in `FAST` that count as one iteration."""

FAST = MATMUL | {f"{sign}int{bits}" for sign in ("", "u") for bits in BITS}
"""Dtypes that BLAS multiplies; for integers, it does so in most cases."""

HELD = 1 << 26
"""Limit on the lanes of a contraction's operands for all to run at once."""


@dataclass(frozen=True, slots=True)
class Lane:
    """A loop whose iterations are an axis of arrays, `height - 1` axes before the last one."""

    name: str
    height: int
    first: PyExpr
    """The value of the variable in the first of the iterations that run at once."""
    part: str
    """The text of the slice of iterations that run at once."""
    count: str
    """The text of the number of iterations that run at once."""
    reduces: bool
    var: int


class Masked(Statements):
    """Conditions that differ between lanes: the mask has the lanes in which they hold."""

    def condition(self, stmt: Any) -> None:
        condition = self.value(stmt.condition)
        if not condition.lanes:
            super().condition(stmt)
            return
        name = self.fresh("c")
        self.emit(f"{name} = own({self.decision(condition).text})")
        with self.guarded(PyExpr(name, "bool", lanes=True)):
            self.statement(stmt.then_case)
        if stmt.else_case is not None:
            with self.guarded(PyExpr(f"logical_not({name})", "bool", lanes=True)):
                self.statement(stmt.else_case)

    @contextlib.contextmanager
    def guarded(self, condition: PyExpr) -> Iterator[None]:
        if not condition.lanes:
            with super().guarded(condition):
                yield
            return
        name = self.fresh("m")
        outer, text = self.mask, self.decision(condition).text
        self.emit(f"{name} = own({text})" + (f" & {outer}" if outer else ""))
        self.mask = name
        yield
        self.mask = outer

    def decision(self, condition: PyExpr) -> PyExpr:
        """A condition that selects lanes."""
        return condition

    def bind(self, var: Any, value: PyExpr) -> PyExpr:
        if value.lanes and not value.text.isidentifier():
            # The text may be part of a buffer that is overwritten before the variable is used.
            value = dataclasses.replace(value, text=f"own({value.text})", weak=False)
        return super().bind(var, value)


def _weight(counts: Sequence[str], per_step: int) -> str:
    """Source of the step charge for a vectorized nest with these loop extents."""
    if all(map(str.isdecimal, counts)):
        return str(math.prod(map(int, counts)) // per_step + 1)
    return f"({' * '.join(counts)} // {per_step} + 1)"


class Lanes(Masked):
    """Writes the text of one PrimFunc.

    Every array that depends on lanes has an axis for each loop that the plan runs in lanes, from
    the outermost to the innermost one; axes count from the last one, by the `height` of a loop.
    """

    def __init__(self, plan: LoopPlan) -> None:
        super().__init__()
        self._plan = plan
        self._open: list[Lane] = []
        self._named: dict[str, Lane] = {}

    # Loops

    def loop(self, stmt: Any) -> None:
        loop = self._plan.loops[stmt.__chandle__()]
        begin, extent = self.value(stmt.min), self.value(stmt.extent)
        if extent.literal is not None and extent.literal <= 0:
            return
        if loop.kind == "unit":
            self.vars[loop.var] = begin
            self.statement(stmt.body)
        elif loop.kind == "serial":
            super().loop(stmt)
        else:
            self._lanes(stmt, loop, begin, extent)

    def _lanes(self, stmt: Any, loop: Loop, begin: PyExpr, extent: PyExpr) -> None:
        name = self.fresh("i")
        first, size, step = begin.literal, extent.literal, loop.step or 1
        high = None if first is None or size is None else first + size - 1
        below = extent.text if first == 0 else None
        self.vars[loop.var] = PyExpr(name, begin.dtype, False, True, begin.low, high, below)
        dtype = type_name(begin.dtype)
        stride = "" if step == 1 else f", {step}"
        outer = [lane.count for lane in self._open]
        whole = loop.contraction is not None and loop.contraction.held <= HELD
        if first is not None and first >= 0 and size is not None and all(map(str.isdecimal, outer)):
            count = len(range(0, size, step))
            lanes = math.prod(map(int, outer)) * count
            if whole or lanes * loop.inner <= CHUNK:
                self._charge(loop, [*outer, str(count)])
                part = f"{first}:{first + size}{':' + str(step) if stride else ''}"
                line = len(self.lines)
                self.emit(f"{name} = span({first}, {first + size}, {loop.height}, {dtype}{stride})")
                self._run(stmt, loop, name, begin, part, str(count))
                if not any(name in text for text in self.lines[line + 1 :]):
                    del self.lines[line]
                return
        if whole and first is not None and first >= 0 and step == 1:
            end = extent.text if first == 0 else f"{first} + {extent.text}"
            with self.block(f"if {extent.text} > 0:"):
                self._charge(loop, [*outer, f"({extent.text})"])
                self.emit(f"{name} = span({first}, {end}, {loop.height}, {dtype})")
                self._run(stmt, loop, name, begin, f"{first}:{end}", f"({extent.text})")
            return
        inner = " * ".join([*outer, str(loop.inner)])
        args = (
            f"{begin.text}, {begin.text} + {extent.text}, {loop.height}, {dtype}, {inner}{stride}"
        )
        with self.block(f"for {name}, {name}p, {name}n in chunks({args}):"):
            self._charge(loop, [*outer, f"{name}n"])
            start = PyExpr(f"{name}p.start", begin.dtype, weak=True)
            self._run(stmt, loop, name, start, f"{name}p", f"{name}n")

    def _run(self, stmt: Any, loop: Loop, name: str, first: PyExpr, part: str, count: str) -> None:
        lane = Lane(name, loop.height, first, part, count, loop.kind == "reduce", loop.var)
        self._named[name] = lane
        self._open.append(lane)
        self.statement(stmt.body)
        self._open.pop()

    def _charge(self, loop: Loop, counts: Sequence[str]) -> None:
        """Charge the budget for lanes, at the innermost loop, except a few that run only once."""
        if loop.height > 1:
            return
        fast = loop.contraction is not None and loop.contraction.dtype in FAST
        weight = _weight(counts, PER_MATMUL if fast else PER_STEP)
        if self.depth > 1 or not weight.isdecimal() or int(weight) > FEW:
            super().count(weight)

    def count(self, iterations: str) -> None:
        """Charge for iterations inside lanes, each of which works for every lane."""
        weight = _weight([lane.count for lane in self._open], PER_STEP)
        super().count(iterations if weight == "1" else f"{iterations} * {weight}")

    def initial(self, stmt: Any) -> None:
        reducing = [lane for lane in self._open if lane.reduces]
        if not reducing:
            super().initial(stmt)
            return
        variables, lanes = dict(self.vars), self._open
        self._open = [lane for lane in lanes if not lane.reduces]
        for lane in reducing:
            self.vars[lane.var] = lane.first
        for iter_var, expr in zip(stmt.block.iter_vars, stmt.iter_values, strict=True):
            self.bind(iter_var.var, self.value(expr))
        super().initial(stmt)
        self.vars, self._open = variables, lanes

    # Accesses

    def store(self, stmt: Any) -> None:
        storage = self.storage(stmt.buffer)
        indices = self.indices(storage, targets(stmt))
        reducing = [lane for lane in self._open if lane.reduces]
        if reducing:
            value = self._folded(stmt, storage, indices, reducing)
        else:
            value = self.value(stmt.value)
        value = kept(stmt, value)
        self.stored(stmt.buffer, storage, value)
        if self.mask is not None:
            index = "".join(f"{index.text}, " for index in indices)
            self.emit(f"put({storage.name}, ({index}), {self.held(value)}, {self.mask})")
            return
        target = self.element(storage, indices).text
        whole = "" if target.endswith("]") else "[...]"
        self.emit(f"{target}{whole} = {self.held(value)}")

    def _folded(
        self, stmt: Any, storage: BufferArray, indices: Sequence[PyExpr], reducing: Sequence[Lane]
    ) -> PyExpr:
        update = self._plan.updates[stmt.__chandle__()]
        old, function = self.element(storage, indices), f"fold_{update.operator}"
        operands = [update.operand]
        if update.multiplies:
            function, operands = "fold_product", [update.operand.a, update.operand.b]
        values = [self.value(operand) for operand in operands]
        heights = ", ".join(str(lane.height) for lane in reducing)
        counts = ", ".join(lane.count for lane in reducing)
        args = ", ".join([old.text, *map(self.exact, values)])
        text = f"{function}({args}, ({heights},), ({counts},))"
        return PyExpr(text, values[0].dtype, lanes=old.lanes)

    def element(self, storage: BufferArray, indices: Sequence[PyExpr]) -> PyExpr:
        """An element for each lane: a part of the array if the indices are variables of loops.

        The part gets an axis for each intermediate loop that no index depends on.
        """
        lanes = [self._named.get(index.text) for index in indices if index.lanes]
        plain = [lane for lane in lanes if lane is not None]
        if not lanes or len(plain) < len(lanes) or len({lane.name for lane in plain}) < len(plain):
            text = f"{storage.name}[{subscript(indices)}]"
            return PyExpr(text, storage.dtype, lanes=bool(lanes))
        heights = [lane.height for lane in plain]
        parts: list[str] = []
        ordered = heights == sorted(heights, reverse=True)
        above = 0
        for index in indices:
            lane = self._named[index.text] if index.lanes else None
            if lane is not None and ordered:
                if above:
                    parts.extend(["None"] * (above - lane.height - 1))
                above = lane.height
            parts.append(index.text if lane is None else lane.part)
        if ordered:
            parts.extend(["None"] * (above - 1))
            return PyExpr(f"{storage.name}[{', '.join(parts)}]", storage.dtype, lanes=True)
        order = sorted(range(len(heights)), key=lambda axis: -heights[axis])
        text = f"{storage.name}[{', '.join(parts)}].transpose({', '.join(map(str, order))})"
        heights.sort(reverse=True)
        axes: list[str] = []
        for height, below in zip(heights, [*heights[1:], 0], strict=True):
            axes.extend([":", *["None"] * (height - below - 1)])
        if "None" in axes:
            text += f"[{', '.join(axes)}]"
        return PyExpr(text, storage.dtype, lanes=True)
