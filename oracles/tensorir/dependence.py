"""The choice of loops of a PrimFunc that may run all their iterations at once.

A loop over `v` **runs in lanes** (all iterations in lockstep, statement by statement) if no element
is written in one iteration and accessed in another. The proof has two conditions for every buffer
written in the body. No other name of the same memory is accessed there. And the indices of each
access (load or store) determine a number of the form `c * v + u + r`. In it, `c` is the same
non-zero number for all accesses, and `u` is the same sum of multiples of variables that the loop
does not change. Only `r` may differ between accesses; it stays within bounds whose distance is less
than `c` times the step of the loop. So no two iterations share that number. It is the index of one
dimension, or a number `f` whose digits are indices: `f // 12`, `f % 12 // 4`, `f % 4`, each in the
same dimension for all accesses, determine `f`.

A loop **reduces** if it contains only one store, of the form `C[i] = C[i] op e`, inside loops that
run in lanes or reduce and blocks without predicate. Here `op` is associative, the indices are sums
of multiples of variables other than `v`, and `e` does not read C. The loops then fold all `e` in
their order. If a block has initial values (a store to the same element), `v` must have a positive
coefficient in a reduction variable of that block. Such a variable is never below its domain, so the
block begins its reduction at the first `v` only.

A loop whose only such store is `C[i] = C[i] + a * b` is part of a **contraction** (a matmul, a
convolution). All its lanes run at once, as only those of `a`, `b` and C are ever in memory.

Loops with anything that lanes do not support (allocations, views, `while`, bounds that depend on
`v` or on memory, calls, assertions, jumps) run one iteration after the other; loops inside of them
may still run in lanes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import tvm
from tvm import tirx

from ...compat import ir
from ..errors import Unsupported
from .forms import FIELDS, LEAVES, Forms, LinearForm, integer, variables_of
from .statements import REDUCE, TRANSPARENT
from .values import dtype_of, is_float, width_of

COMMUTATIVE: Mapping[type, str] = {
    ir.Add: "add",
    ir.Mul: "mul",
    ir.Min: "min",
    ir.Max: "max",
    ir.And: "and",
    ir.Or: "or",
    ir.BitwiseAnd: "bitand",
    ir.BitwiseOr: "bitor",
    ir.BitwiseXor: "bitxor",
}
"""Operators that reductions may have."""


VECTORS = (ir.Ramp, ir.Broadcast)

USUAL = 64
"""The assumed extent of a loop whose extent is not known."""


class Size(NamedTuple):
    """Limits on the depth of nested loops that run in lanes, and on the number of their lanes."""

    height: int
    lanes: int


SCALAR = Size(0, 1)


@dataclass(slots=True)
class Access:
    """A load or a store."""

    buffer: int
    indices: Sequence[Any]
    write: bool


@dataclass(slots=True)
class Loop:
    """A loop and its contents."""

    node: Any
    var: int
    number: int
    """The number of the loop, in textual order."""
    kind: str = "serial"
    """"lanes", "reduce", "unit" (one iteration) or "serial"."""
    height: int = 0
    """The depth of nested loops that run in lanes or reduce, this one included."""
    inner: int = 1
    """The approximate number of lanes of one iteration; an unknown extent counts as `USUAL`."""
    last: int = 0
    """The number of the last loop inside."""
    first_access: int = 0
    last_access: int = 0
    begin: int | None = None
    extent: int | None = None
    step: int | None = 1
    blocked: bool = False
    contraction: Contraction | None = None
    """The contraction that the loop belongs to, if the loop contains nothing else."""

    @property
    def count(self) -> int:
        """The approximate number of iterations."""
        return USUAL if self.extent is None else max(1, self.extent // (self.step or 1))


class Update(NamedTuple):
    """A store `C[i] = C[i] op e`."""

    operator: str
    operand: Any

    @property
    def multiplies(self) -> bool:
        """True if the store adds a product."""
        return self.operator == "add" and type(self.operand) is ir.Mul


class Nest(NamedTuple):
    """Loops and blocks around a single store, each nested in the previous one."""

    store: Any
    loops: Sequence[Loop]
    blocks: Sequence[Any]


class Contraction(NamedTuple):
    """Loops around one store `C[i] = C[i] + a * b`: a matmul or a convolution."""

    dtype: str
    held: int
    """The approximate maximum of lanes of `a`, `b` and the sums; `a * b` never exists whole."""


class LoopPlan:
    """The decisions about the loops of one PrimFunc."""

    def __init__(self, func: tirx.PrimFunc) -> None:
        self.loops: dict[int, Loop] = {}
        """Loops by the handles of their nodes."""
        self.updates: dict[int, Update] = {}
        """Updates, each by the handle of its store; the loops around the store reduce to it."""
        self._of_var: dict[int, Loop] = {}
        self._stack: list[Loop] = []
        self._accesses: list[Access] = []
        self._forms = Forms()
        self._roots: dict[int, int] = {}
        self._overlapping: set[int] = set()
        """Views in which several indices may be the same element."""
        self.sound = True
        """True if every variable is defined once, and no value is a vector, which has its own axis;
        if not, all loops run one by one."""
        self.statement(func.body)

    # Walk

    def statement(self, stmt: Any) -> Size:
        """Note the effects of a statement, and decide the loops in it."""
        kind = type(stmt)
        if kind is ir.For:
            return self._loop(stmt)
        if kind is ir.SBlockRealize:
            return self._block(stmt)
        if kind is ir.SeqStmt:
            return _largest([self.statement(item) for item in stmt.seq])
        if kind is ir.BufferStore:
            self._element(stmt.buffer)
            self._accesses.append(Access(stmt.buffer.__chandle__(), list(stmt.indices), True))
            for index in self._accesses[-1].indices:
                self.expression(index)
            self.expression(stmt.value)
            return SCALAR
        if kind is ir.IfThenElse:
            self.expression(stmt.condition)
            cases = [stmt.then_case, *([] if stmt.else_case is None else [stmt.else_case])]
            return _largest([self.statement(case) for case in cases])
        if kind is ir.Bind:
            self._define(stmt.var, stmt.value)
            self.expression(stmt.value)
            return SCALAR
        if kind is ir.AttrStmt and str(stmt.attr_key).startswith(TRANSPARENT):
            return self.statement(stmt.body)
        if kind is ir.Evaluate and not isinstance(stmt.value, tvm.ir.Call):
            return SCALAR
        self._block_all()
        if kind is ir.While:
            return self.statement(stmt.body)
        if kind is ir.DeclBuffer:
            self._alias(stmt.buffer, stmt.data)
        return SCALAR

    def _block_all(self) -> None:
        for loop in self._stack:
            loop.blocked = True

    def _define(self, var: Any, value: Any) -> None:
        """Note the value of a variable; a second value invalidates the first."""
        handle = var.__chandle__()
        if handle in self._forms.values or handle in self._of_var:
            self.sound = False
        self._forms.values[handle] = value

    def _element(self, buffer: Any) -> None:
        """Note an element; a vector element has its own axis."""
        if width_of(buffer.ty.dtype) > 1:
            self.sound = False

    def _alias(self, buffer: Any, data: Any) -> None:
        if len(buffer.ty.strides):
            self._overlapping.add(buffer.__chandle__())
        source = data.args[0] if isinstance(data, tvm.ir.Call) and len(data.args) else data
        if isinstance(source, ir.TensorLoad):  # an address of an element
            source = ir.tensor_of(source)
            self._overlapping.add(buffer.__chandle__())
        handle = source.__chandle__()
        self._roots[buffer.__chandle__()] = self._roots.get(handle, handle)

    def _loop(self, stmt: Any) -> Size:
        loop = Loop(stmt, stmt.loop_var.__chandle__(), len(self.loops))
        if loop.var in self._of_var or loop.var in self._forms.values:
            self.sound = False
        for bound in (stmt.min, stmt.extent):
            self._uniform(bound)
        loop.begin, loop.extent = integer(stmt.min), integer(stmt.extent)
        if stmt.step is not None:
            loop.step = integer(stmt.step)
        self._forms.ranges[loop.var] = loop.begin, loop.extent
        self.loops[stmt.__chandle__()] = self._of_var[loop.var] = loop
        loop.first_access = len(self._accesses)
        self._stack.append(loop)
        inside = self.statement(stmt.body)
        self._stack.pop()
        loop.last, loop.last_access = len(self.loops) - 1, len(self._accesses)
        loop.kind = self._kind(loop)
        loop.height, loop.inner = inside
        if loop.kind != "serial":
            loop.contraction = self._contraction(loop)
        if loop.kind in ("lanes", "reduce"):
            loop.height += 1
            if loop.contraction is not None:
                return Size(loop.height, loop.contraction.held)
            return Size(loop.height, loop.inner * loop.count)
        return inside

    def _uniform(self, bound: Any) -> None:
        """Require that a bound of an inner loop is the same in all lanes of the outer loops."""
        if isinstance(bound, tirx.IntImm):
            return
        before = len(self._accesses)
        self.expression(bound)
        if len(self._accesses) > before:
            self._block_all()
        depends = variables_of(self._forms.form(bound))
        for loop in self._stack:
            if loop.var in depends:
                loop.blocked = True

    def _block(self, stmt: Any) -> Size:
        block = stmt.block
        for iter_var, expr in zip(block.iter_vars, stmt.iter_values, strict=True):
            self._define(iter_var.var, expr)
            self.expression(expr)
        self.expression(stmt.predicate)
        if len(block.alloc_buffers) or len(block.match_buffers):
            self._block_all()
            for match in block.match_buffers:
                self._alias(match.buffer, ir.tensor_of(match.source))
                self._overlapping.discard(match.buffer.__chandle__())  # a part of its source
        parts = [block.body] if block.init is None else [block.init, block.body]
        return _largest([self.statement(part) for part in parts])

    def expression(self, expr: Any) -> None:
        """Note the loads in an expression."""
        kind = type(expr)
        if kind in LEAVES:
            return
        if kind is ir.TensorLoad:
            indices = list(expr.indices)
            self._element(ir.tensor_of(expr))
            self._accesses.append(Access(ir.tensor_of(expr).__chandle__(), indices, False))
            for index in indices:
                self.expression(index)
        elif kind is tvm.ir.Call:
            for arg in expr.args:
                self.expression(arg)
        elif kind is ir.Let:
            self._define(expr.var, expr.value)
            self.expression(expr.value)
            self.expression(expr.body)
        else:
            if kind in VECTORS:
                self.sound = False
            for name in FIELDS.get(kind, ("a", "b")):
                if not hasattr(expr, name):
                    raise Unsupported(f"TensorIR expression {kind.__name__}")
                self.expression(getattr(expr, name))

    # Decisions

    def _kind(self, loop: Loop) -> str:
        if loop.extent == 1:
            return "unit"
        if loop.blocked or loop.step is None or loop.step <= 0:
            return "serial"
        if self._independent(loop):
            return "lanes"
        return "reduce" if loop.step == 1 and self._reduces(loop) else "serial"

    def _independent(self, loop: Loop) -> bool:
        accesses = self._accesses[loop.first_access : loop.last_access]
        written = {access.buffer for access in accesses if access.write}
        return all(self._disjoint(loop, buffer, accesses) for buffer in written)

    def _disjoint(self, loop: Loop, buffer: int, accesses: Sequence[Access]) -> bool:
        """True if no two iterations access the same element of a buffer."""
        if buffer in self._overlapping:
            return False
        root = self._roots.get(buffer, buffer)
        mine = []
        for access in accesses:
            if access.buffer == buffer:
                mine.append(access)
            elif self._roots.get(access.buffer, access.buffer) == root:
                return False
        indices = [access.indices for access in mine]
        if any(
            self._injective(loop, [self._forms.form(index[axis]) for index in indices])
            for axis in range(len(indices[0]))
        ):
            return True
        numbers = [self._forms.number(index) for index in indices]
        digits = {places for _, places in numbers}
        return len(digits) == 1 and self._injective(
            loop, [form for form, _ in numbers if form is not None]
        )

    def _injective(self, loop: Loop, forms: Sequence[LinearForm]) -> bool:
        """True if these numbers, one for each access, never agree in two different iterations."""
        if not forms or any(loop.var in form.within for form in forms):
            return False
        first = {v: c for v, c in forms[0].terms.items() if not self._inside(v, loop)}
        for form in forms:
            if {v: c for v, c in form.terms.items() if not self._inside(v, loop)} != first:
                return False
        c = abs(first.get(loop.var, 0)) * (loop.step or 0)
        rest = self._distance(loop, forms)
        return rest is not None and rest < c

    def _distance(self, loop: Loop, forms: Sequence[LinearForm]) -> int | None:
        """The largest difference of the numbers, without the loop's variable."""
        lowest, highest = [], []
        for form in forms:
            inner = {v: n for v, n in form.terms.items() if self._inside(v, loop)}
            low, high = self._forms.bounds(LinearForm(form.const, inner, form.exact))
            if low is None or high is None:
                return None
            lowest.append(low)
            highest.append(high)
        return max(highest) - min(lowest)

    def _inside(self, var: int, loop: Loop) -> bool:
        other = self._of_var.get(var)
        return other is not None and loop.number < other.number <= loop.last

    def _nest(self, loop: Loop) -> Nest | None:
        """The contents of a loop, if it has only loops and blocks around a single store."""
        stmt, loops, blocks = loop.node.body, [], []
        while not isinstance(stmt, ir.BufferStore):
            if isinstance(stmt, ir.For):
                inner = self.loops[stmt.__chandle__()]
                if inner.kind == "serial":
                    return None
                loops.append(inner)
                stmt = stmt.body
            elif isinstance(stmt, ir.SBlockRealize):
                if integer(stmt.predicate) != 1:
                    return None
                blocks.append(stmt)
                stmt = stmt.block.body
            elif isinstance(stmt, ir.AttrStmt):
                stmt = stmt.body
            else:
                return None
        return Nest(stmt, loops, blocks)

    def _contraction(self, loop: Loop) -> Contraction | None:
        """The sum of products that a loop computes, if it does nothing else."""
        nest = self._nest(loop)
        update = None if nest is None else self.updates.get(nest.store.__chandle__())
        if nest is None or update is None or not update.multiplies:
            return None
        held = 1
        for part in (*nest.store.indices, update.operand.a, update.operand.b):
            variables = self._forms.variables(part)
            lanes = [each.count for each in (loop, *nest.loops) if each.var in variables]
            held = max(held, math.prod(lanes))
        return Contraction(dtype_of(nest.store.buffer.ty.dtype), held)

    def _reduces(self, loop: Loop) -> bool:
        nest = self._nest(loop)
        if nest is None:
            return False
        stmt, blocks = nest.store, nest.blocks
        update = self._update(stmt)
        if update is None:
            return False
        target = [self._forms.form(index) for index in stmt.indices]
        if any(not form.exact or loop.var in form.terms for form in target):
            return False
        buffer = stmt.buffer.__chandle__()
        if not all(self._begins_once(loop, realize, buffer, target) for realize in blocks):
            return False
        self.updates[stmt.__chandle__()] = update
        return True

    def _update(self, store: Any) -> Update | None:
        """The operation by which a store changes an element, if it is one of `COMMUTATIVE`."""
        operator = COMMUTATIVE.get(type(store.value))
        if operator is None:
            return None
        a, b = store.value.a, store.value.b
        # min and max of floats prefer the second operand where one is NaN.
        ordered = operator in ("min", "max") and is_float(dtype_of(store.buffer.ty.dtype))
        for old, operand in [(a, b)] if ordered else [(a, b), (b, a)]:
            if self._is_target(old, store) and not self._reads(operand, store.buffer):
                return Update(operator, operand)
        return None

    def _is_target(self, expr: Any, store: Any) -> bool:
        if not isinstance(expr, ir.TensorLoad):
            return False
        if ir.tensor_of(expr).__chandle__() != store.buffer.__chandle__():
            return False
        return all(
            self._forms.form(a).exact and self._forms.form(a) == self._forms.form(b)
            for a, b in zip(expr.indices, store.indices, strict=True)
        )

    def _reads(self, expr: Any, buffer: Any) -> bool:
        before = len(self._accesses)
        self.expression(expr)
        loads = self._accesses[before:]
        del self._accesses[before:]
        handle = buffer.__chandle__()
        root = self._roots.get(handle, handle)
        return any(self._roots.get(load.buffer, load.buffer) == root for load in loads)

    def _begins_once(
        self, loop: Loop, realize: Any, buffer: int, target: Sequence[LinearForm]
    ) -> bool:
        """True if a block sets the element at most in the first iteration of a loop."""
        block = realize.block
        init = block.init
        if init is None:
            return True
        if not isinstance(init, ir.BufferStore) or init.buffer.__chandle__() != buffer:
            return False
        if [self._forms.form(index) for index in init.indices] != list(target):
            return False
        for iter_var, expr in zip(block.iter_vars, realize.iter_values, strict=True):
            form = self._forms.form(expr)
            if iter_var.iter_type == REDUCE and form.exact and form.terms.get(loop.var, 0) > 0:
                return True
        return False


def _largest(sizes: Sequence[Size]) -> Size:
    height = max((size.height for size in sizes), default=0)
    return Size(height, max((size.lanes for size in sizes), default=1))
