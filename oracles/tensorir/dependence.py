"""Which loops of a PrimFunc may run all their iterations at once.

A loop over `v` **runs in lanes** (all iterations in lockstep, statement by statement) if no element
is written in one iteration and accessed in another. That is proven so: for every buffer written in
its body, no other name of the same memory is accessed there, and there is one number that an access
(load or store) determines by its indices and that every access in the body has as `c * v + u + r`.
There `c` is the same non-zero number everywhere, `u` is the same sum of multiples of variables that
the loop does not change, and `r`, which may differ from access to access, stays within bounds whose
distance is less than `c` times the step of the loop. Then no two iterations have that number in
common. It is the index of one dimension, or a number `f` that the indices of all accesses have as
digits: `f // 12`, `f % 12 // 4`, `f % 4`, each in the same dimension everywhere, determine `f`.

A loop **reduces** if it leads, through loops that run in lanes or reduce and through blocks without
predicate, to one store only, of the form `C[i] = C[i] op e`: `op` is associative, the indices are
sums of multiples of variables other than `v`, and `e` does not read C. Folding all `e` in the order
of the loops is then what the loops do. Where a block has initial values (a store to the same
element), `v` must have a positive coefficient in a reduction variable of that block: as the values
of such a variable are never below its domain, the block begins its reduction at the first `v` only.

Loops with anything that lanes do not know (allocations, views, `while`, bounds that depend on `v`
or on memory, calls, assertions, jumps) run one iteration after the other; that does not keep the
loops inside from running in lanes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import tvm
from tvm import s_tir, tirx
from tvm.ir import prim

from .expressions import dtype_of, is_float
from .statements import REDUCE, TRANSPARENT

COMMUTATIVE: Mapping[type, str] = {
    prim.Add: "add",
    prim.Mul: "mul",
    prim.Min: "min",
    prim.Max: "max",
    prim.And: "and",
    prim.Or: "or",
    prim.BitwiseAnd: "bitand",
    prim.BitwiseOr: "bitor",
    prim.BitwiseXor: "bitxor",
}
"""Operators that reductions may have."""


USUAL = 64
"""The extent of a loop where it is not known."""


class Size(NamedTuple):
    """How many loops are nested that run in lanes, and how many lanes they have."""

    height: int
    lanes: int


SCALAR = Size(0, 1)


class Form(NamedTuple):
    """`const + sum of terms + rest`, with the rest between two bounds (None: unknown)."""

    const: int
    terms: Mapping[int, int]
    """Coefficients by the handles of variables."""
    low: int | None = 0
    high: int | None = 0
    within: frozenset[int] = frozenset()
    """Variables that the rest depends on."""

    @property
    def exact(self) -> bool:
        return self.low == 0 and self.high == 0


class Digit(NamedTuple):
    """`form % modulus // divisor`, without a modulus where there is none.

    The divisor divides the modulus.
    """

    form: Form
    modulus: int | None
    divisor: int


Places = tuple[tuple[int, int, int | None], ...]
"""Dimensions with the divisors and moduli of the digits that they have."""


@dataclass(slots=True)
class Access:
    """A load or a store."""

    buffer: int
    indices: Sequence[Any]
    write: bool


@dataclass(slots=True)
class Loop:
    """A loop and what is inside."""

    node: Any
    var: int
    number: int
    """Loops are numbered as they stand in the text."""
    kind: str = "serial"
    """"lanes", "reduce", "unit" (one iteration) or "serial"."""
    height: int = 0
    """How many loops that run in lanes or reduce are nested here, this one included."""
    inner: int = 1
    """How many lanes one iteration has, about: an unknown extent counts as `USUAL`."""
    last: int = 0
    """The number of the last loop inside."""
    first_access: int = 0
    last_access: int = 0
    begin: int | None = None
    extent: int | None = None
    step: int | None = 1
    blocked: bool = False


class Update(NamedTuple):
    """A store `C[i] = C[i] op e`."""

    operator: str
    operand: Any


class Plan:
    """What is decided about the loops of one PrimFunc."""

    def __init__(self, func: tirx.PrimFunc) -> None:
        self.loops: dict[int, Loop] = {}
        """By handles of the loops' nodes."""
        self.updates: dict[int, Update] = {}
        """By handles of the stores that loops reduce to."""
        self._of_var: dict[int, Loop] = {}
        self._stack: list[Loop] = []
        self._accesses: list[Access] = []
        self._values: dict[int, Any] = {}
        self._forms: dict[int, Form] = {}
        self._roots: dict[int, int] = {}
        self._overlapping: set[int] = set()
        """Views that may have one element under several indices."""
        self.sound = True
        """Every variable is defined once; if not, all loops are to run one by one."""
        self.statement(func.body)

    # Walk

    def statement(self, stmt: Any) -> Size:
        """Note what a statement does, and decide the loops in it."""
        kind = type(stmt)
        if kind is tirx.For:
            return self._loop(stmt)
        if kind is s_tir.SBlockRealize:
            return self._block(stmt)
        if kind is tirx.SeqStmt:
            return _largest([self.statement(item) for item in stmt.seq])
        if kind is tirx.BufferStore:
            self._accesses.append(Access(stmt.buffer.__chandle__(), list(stmt.indices), True))
            for index in self._accesses[-1].indices:
                self.expression(index)
            self.expression(stmt.value)
            return SCALAR
        if kind is tirx.IfThenElse:
            self.expression(stmt.condition)
            cases = [stmt.then_case, *([] if stmt.else_case is None else [stmt.else_case])]
            return _largest([self.statement(case) for case in cases])
        if kind is tirx.Bind:
            self._define(stmt.var, stmt.value)
            self.expression(stmt.value)
            return SCALAR
        if kind is tirx.AttrStmt and str(stmt.attr_key).startswith(TRANSPARENT):
            return self.statement(stmt.body)
        if kind is tirx.Evaluate and not isinstance(stmt.value, tvm.ir.Call):
            return SCALAR
        self._block_all()
        if kind is tirx.While:
            return self.statement(stmt.body)
        if kind is tirx.DeclBuffer:
            self._alias(stmt.buffer, stmt.data)
        return SCALAR

    def _block_all(self) -> None:
        for loop in self._stack:
            loop.blocked = True

    def _define(self, var: Any, value: Any) -> None:
        """A variable has one value; with a second one nothing that is known of it holds."""
        handle = var.__chandle__()
        if handle in self._values or handle in self._of_var:
            self.sound = False
        self._values[handle] = value

    def _alias(self, buffer: Any, data: Any) -> None:
        if len(buffer.ty.strides):
            self._overlapping.add(buffer.__chandle__())
        source = data.args[0] if isinstance(data, tvm.ir.Call) and len(data.args) else data
        handle = source.__chandle__()
        self._roots[buffer.__chandle__()] = self._roots.get(handle, handle)

    def _loop(self, stmt: Any) -> Size:
        loop = Loop(stmt, stmt.loop_var.__chandle__(), len(self.loops))
        if loop.var in self._of_var or loop.var in self._values:
            self.sound = False
        for bound in (stmt.min, stmt.extent):
            self._uniform(bound)
        loop.begin, loop.extent = _number(stmt.min), _number(stmt.extent)
        if stmt.step is not None:
            loop.step = _number(stmt.step)
        self.loops[stmt.__chandle__()] = self._of_var[loop.var] = loop
        loop.first_access = len(self._accesses)
        self._stack.append(loop)
        inside = self.statement(stmt.body)
        self._stack.pop()
        loop.last, loop.last_access = len(self.loops) - 1, len(self._accesses)
        loop.kind = self._kind(loop)
        loop.height, loop.inner = inside
        if loop.kind in ("lanes", "reduce"):
            loop.height += 1
            count = USUAL if loop.extent is None else max(1, loop.extent // (loop.step or 1))
            return Size(loop.height, loop.inner * count)
        return inside

    def _uniform(self, bound: Any) -> None:
        """What the bounds of an inner loop depend on is the same for all lanes."""
        if isinstance(bound, tirx.IntImm):
            return
        before = len(self._accesses)
        self.expression(bound)
        if len(self._accesses) > before:
            self._block_all()
        depends = _all(self.form(bound))
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
                self._alias(match.buffer, match.source.source)
                self._overlapping.discard(match.buffer.__chandle__())  # a part of its source
        parts = [block.body] if block.init is None else [block.init, block.body]
        return _largest([self.statement(part) for part in parts])

    def expression(self, expr: Any) -> None:
        """Note the loads in an expression."""
        kind = type(expr)
        if kind in _LEAVES:
            return
        if kind is tvm.ir.TensorLoad:
            indices = list(expr.indices)
            self._accesses.append(Access(expr.source.__chandle__(), indices, False))
            for index in indices:
                self.expression(index)
        elif kind is tvm.ir.Call:
            for arg in expr.args:
                self.expression(arg)
        elif kind is prim.Let:
            self._define(expr.var, expr.value)
            self.expression(expr.value)
            self.expression(expr.body)
        else:
            for name in _FIELDS.get(kind, ("a", "b")):
                self.expression(getattr(expr, name))

    # Forms of indices

    def form(self, expr: Any) -> Form:
        """An integer expression as a sum of multiples of variables, as far as it is one."""
        kind = type(expr)
        if kind is tirx.IntImm:
            return Form(int(expr.value), {})
        if kind is tirx.Var:
            handle = expr.__chandle__()
            known = self._forms.get(handle)
            if known is None:
                value = self._values.get(handle)
                known = Form(0, {handle: 1}) if value is None else self.form(value)
                self._forms[handle] = known
            return known
        if kind is prim.Add or kind is prim.Sub:
            a, b = self.form(expr.a), self.form(expr.b)
            return _plus(a, _times(b, 1 if kind is prim.Add else -1))
        if kind is prim.Mul:
            a, b = self.form(expr.a), self.form(expr.b)
            for one, other in ((a, b), (b, a)):
                if one.exact and not one.terms:
                    return _times(other, one.const)
            return Form(0, {}, None, None, _all(a) | _all(b))
        if kind is prim.Cast and _is_integer(expr.value):
            return self.form(expr.value)
        if kind is prim.FloorDiv or kind is prim.FloorMod:
            a, b = self.form(expr.a), self.form(expr.b)
            within = _all(a) | _all(b)
            if b.exact and not b.terms and b.const > 0:
                if kind is prim.FloorMod:
                    return Form(0, {}, 0, b.const - 1, within)
                low, high = self.bounds(a)
                if low is not None and high is not None:
                    return Form(0, {}, low // b.const, high // b.const, within)
            return Form(0, {}, None, None, within)
        return Form(0, {}, None, None, self._variables(expr))

    def _variables(self, expr: Any) -> frozenset[int]:
        """All variables that an expression depends on."""
        kind = type(expr)
        if kind is tirx.Var:
            return _all(self.form(expr))
        if kind in _LEAVES:
            return frozenset()
        if kind is tvm.ir.TensorLoad:
            parts = list(expr.indices)
        elif kind is tvm.ir.Call:
            parts = list(expr.args)
        else:
            parts = [getattr(expr, name) for name in _FIELDS.get(kind, ("a", "b"))]
        return frozenset[int]().union(*map(self._variables, parts))

    def bounds(self, form: Form) -> tuple[int | None, int | None]:
        """Bounds of a form whose variables are all of loops with known bounds."""
        low, high = form.low, form.high
        if low is None or high is None:
            return None, None
        low, high = low + form.const, high + form.const
        for var, coefficient in form.terms.items():
            loop = self._of_var.get(var)
            if loop is None or loop.begin is None or loop.extent is None:
                return None, None
            ends = (coefficient * loop.begin, coefficient * (loop.begin + loop.extent - 1))
            low, high = low + min(ends), high + max(ends)
        return low, high

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
        return all(self._apart(loop, buffer, accesses) for buffer in written)

    def _apart(self, loop: Loop, buffer: int, accesses: Sequence[Access]) -> bool:
        """Whether no two iterations meet in a buffer."""
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
            self._injective(loop, [self.form(index[axis]) for index in indices])
            for axis in range(len(indices[0]))
        ):
            return True
        numbers = [self._number(index) for index in indices]
        digits = {places for _, places in numbers}
        return len(digits) == 1 and self._injective(
            loop, [form for form, _ in numbers if form is not None]
        )

    def _number(self, indices: Sequence[Any]) -> tuple[Form | None, Places]:
        """The number whose digits are among the indices, and where it has them."""
        found: dict[int, tuple[Digit, int]] = {}
        for axis, index in enumerate(indices):
            digit = self._digit(index)
            if digit.divisor != 1 or digit.modulus is not None:
                found.setdefault(digit.divisor, (digit, axis))
        if 1 not in found:
            return None, ()
        form = found[1][0].form
        places = []
        divisor: int | None = 1
        while divisor is not None:
            if divisor not in found or found[divisor][0].form != form:
                low, high = self.bounds(form)
                if low is None or high is None or low < 0 or high >= divisor:
                    return None, ()
                break
            digit, axis = found[divisor]
            places.append((axis, digit.divisor, digit.modulus))
            divisor = digit.modulus
        return (form, tuple(places)) if form.exact else (None, ())

    def _digit(self, expr: Any) -> Digit:
        """An index as `form % modulus // divisor`."""
        kind = type(expr)
        if kind is tirx.Var:
            value = self._values.get(expr.__chandle__())
            if value is not None:
                return self._digit(value)
        elif kind is prim.FloorDiv or kind is prim.FloorMod:
            by = _number(expr.b)
            if by is not None and by > 0:
                form, modulus, divisor = self._digit(expr.a)
                if kind is prim.FloorDiv and (modulus is None or modulus % (divisor * by) == 0):
                    return Digit(form, modulus, divisor * by)
                if kind is prim.FloorMod and (modulus is None or modulus % (divisor * by) == 0):
                    return Digit(form, divisor * by, divisor)
        return Digit(self.form(expr), None, 1)

    def _injective(self, loop: Loop, forms: Sequence[Form]) -> bool:
        """Whether these numbers, one of each access, never agree in two iterations."""
        if not forms or any(loop.var in form.within for form in forms):
            return False
        first = {v: c for v, c in forms[0].terms.items() if not self._inside(v, loop)}
        for form in forms:
            if {v: c for v, c in form.terms.items() if not self._inside(v, loop)} != first:
                return False
        c = abs(first.get(loop.var, 0)) * (loop.step or 0)
        shared = {
            v: n
            for v, n in forms[0].terms.items()
            if self._inside(v, loop) and all(form.terms.get(v) == n for form in forms)
        }
        rest = self._distance(loop, forms, {})
        if c == 0 or (rest is not None and rest < c):
            return c != 0
        # Variables that all accesses share are like digits: each one outweighs those before it.
        reach = self._distance(loop, forms, shared)
        for weight, variable in sorted([(c, loop.var), *((abs(n), v) for v, n in shared.items())]):
            if reach is None or weight <= reach:
                return False
            other = self._of_var[variable]
            if variable == loop.var and all(abs(n) < c for n in shared.values()):
                return True
            if other.extent is None:
                return False
            reach += weight * (other.extent - 1)
        return True

    def _distance(
        self, loop: Loop, forms: Sequence[Form], without: Mapping[int, int]
    ) -> int | None:
        """How far apart the numbers may be, apart from the loop's variable and these ones."""
        lowest, highest = [], []
        for form in forms:
            inner = {v: n for v, n in form.terms.items() if self._inside(v, loop)}
            terms = {v: n for v, n in inner.items() if v not in without}
            low, high = self.bounds(Form(form.const, terms, form.low, form.high))
            if low is None or high is None:
                return None
            lowest.append(low)
            highest.append(high)
        return max(highest) - min(lowest)

    def _inside(self, var: int, loop: Loop) -> bool:
        other = self._of_var.get(var)
        return other is not None and loop.number < other.number <= loop.last

    def _reduces(self, loop: Loop) -> bool:
        stmt, blocks = loop.node.body, []
        while not isinstance(stmt, tirx.BufferStore):
            if isinstance(stmt, tirx.For):
                if self.loops[stmt.__chandle__()].kind == "serial":
                    return False
                stmt = stmt.body
            elif isinstance(stmt, s_tir.SBlockRealize):
                if _number(stmt.predicate) != 1:
                    return False
                blocks.append(stmt)
                stmt = stmt.block.body
            elif isinstance(stmt, tirx.AttrStmt):
                stmt = stmt.body
            else:
                return False
        update = self._update(stmt)
        if update is None:
            return False
        target = [self.form(index) for index in stmt.indices]
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
        if not isinstance(expr, tvm.ir.TensorLoad):
            return False
        if expr.source.__chandle__() != store.buffer.__chandle__():
            return False
        pairs = zip(expr.indices, store.indices, strict=True)
        return all(self.form(a).exact and self.form(a) == self.form(b) for a, b in pairs)

    def _reads(self, expr: Any, buffer: Any) -> bool:
        before = len(self._accesses)
        self.expression(expr)
        loads = self._accesses[before:]
        del self._accesses[before:]
        handle = buffer.__chandle__()
        root = self._roots.get(handle, handle)
        return any(self._roots.get(load.buffer, load.buffer) == root for load in loads)

    def _begins_once(self, loop: Loop, realize: Any, buffer: int, target: Sequence[Form]) -> bool:
        """Whether a block sets the element only at the first iteration of a loop, if at all."""
        block = realize.block
        init = block.init
        if init is None:
            return True
        if not isinstance(init, tirx.BufferStore) or init.buffer.__chandle__() != buffer:
            return False
        if [self.form(index) for index in init.indices] != list(target):
            return False
        for iter_var, expr in zip(block.iter_vars, realize.iter_values, strict=True):
            form = self.form(expr)
            if iter_var.iter_type == REDUCE and form.exact and form.terms.get(loop.var, 0) > 0:
                return True
        return False


_LEAVES = frozenset({tirx.Var, tirx.IntImm, tirx.FloatImm, tvm.ir.StringImm})

_FIELDS: Mapping[type, tuple[str, ...]] = {
    prim.Cast: ("value",),
    prim.Not: ("a",),
    prim.BitwiseNot: ("a",),
    prim.Select: ("condition", "true_value", "false_value"),
    prim.Let: ("value", "body"),
    prim.Ramp: ("base", "stride", "lanes"),
    prim.Broadcast: ("value", "lanes"),
}
"""Where the operands of an expression are, if not in `a` and `b`."""


def _largest(sizes: Sequence[Size]) -> Size:
    height = max((size.height for size in sizes), default=0)
    return Size(height, max((size.lanes for size in sizes), default=1))


def _number(expr: Any) -> int | None:
    return int(expr.value) if isinstance(expr, tirx.IntImm) else None


def _is_integer(expr: Any) -> bool:
    return str(getattr(expr.ty, "dtype", "")) in ("int32", "int64")


def _all(form: Form) -> frozenset[int]:
    return form.within | frozenset(form.terms)


def _plus(a: Form, b: Form) -> Form:
    terms = dict(a.terms)
    for var, coefficient in b.terms.items():
        terms[var] = terms.get(var, 0) + coefficient
    low = None if a.low is None or b.low is None else a.low + b.low
    high = None if a.high is None or b.high is None else a.high + b.high
    kept = {var: coefficient for var, coefficient in terms.items() if coefficient}
    return Form(a.const + b.const, kept, low, high, a.within | b.within)


def _times(form: Form, factor: int) -> Form:
    if factor == 1:
        return form
    if factor == 0:
        return Form(0, {})
    ends = (form.low, form.high) if factor > 0 else (form.high, form.low)
    low, high = (None if end is None else end * factor for end in ends)
    terms = {var: coefficient * factor for var, coefficient in form.terms.items()}
    return Form(form.const * factor, terms, low, high, form.within)
