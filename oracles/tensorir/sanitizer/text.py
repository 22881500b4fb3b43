"""Statements of TensorIR as Python text that checks every access.

Only checks that cannot fail are left out: an index with known bounds, a buffer that the caller has
filled, iterations that provably never conflict.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from tvm import tirx

from ....compat import ir
from ...errors import Unsupported
from ..dependence import LoopPlan
from ..statements import REDUCE, kept, targets
from ..values import INDEX, BufferArray, PyExpr, dtype_of, width_of
from .races import SPATIAL, conflicts, spatial, unordered, variables
from .sites import Overflow, Sited

PER_STEP = 64
"""Number of elements in an allocation that count as one step."""

_ROOT = "    race = None"
"""The line of the program for the race detectors of the outermost scope."""


class RaceGroup(NamedTuple):
    """A group of iterations that must not conflict, active while their body is written."""

    name: str
    keys: tuple[int, ...]
    """Handles of the variables that distinguish iterations."""
    order: tuple[int, ...]
    """Handles of variables that order iterations; only iterations that agree in them conflict."""
    buffers: frozenset[int]


class CheckedStatements(Sited):
    """Writes the text of one PrimFunc with checks.

    Args:
        plan: the loops that provably have independent iterations.
        outputs: positions of the parameters that hold nothing at first.
        overflow: the meaning of overflow of integers.
        placed: parallel iterations share memory that is allocated outside of them.
    """

    def __init__(
        self,
        plan: LoopPlan,
        outputs: Collection[int] = (),
        *,
        overflow: Overflow = Overflow.OF_INDICES,
        placed: bool = True,
    ) -> None:
        super().__init__(overflow)
        self._plan = plan
        self._outputs = frozenset(outputs)
        self._placed = placed
        self._given: frozenset[int] = frozenset()
        """Handles of the parameters."""
        self._marks: dict[int, str] = {}
        """Names of the arrays that record which elements of a buffer are written."""
        self._charge = ""
        self._weight = 0
        self._watches: list[RaceGroup] = []
        self._scopes: list[list[str]] = [[]]
        self._loops: list[int] = []
        """Handles of the variables of the enclosing loops, up to the next block."""
        self._in_while = False
        self._chosen: str | None = None
        """Text of the mask of the expression's used lanes; None for all of them."""

    def function(self, func: tirx.PrimFunc) -> str:
        self._given = frozenset(param.__chandle__() for param in func.params)
        return super().function(func).replace(_ROOT, "    " + _races(self._scopes[0]), 1)

    def parameters(self, func: tirx.PrimFunc, names: Sequence[str]) -> None:
        super().parameters(func, names)
        for position in sorted(self._outputs):
            param, name = func.params[position], f"{names[position]}u"
            self.emit(f"{name} = marks[{position}] = unwritten({names[position]})")
            self._marks[param.__chandle__()] = name
        self.emit(_ROOT.strip())

    # Steps

    def count(self, iterations: str) -> None:
        self._charge = self.fresh("w")
        super().count(f"{iterations} * {self._charge}")

    def charge(self, value: PyExpr) -> None:
        """Charge nothing for an expression, since its accesses are charged."""

    @contextmanager
    def _weighed(self) -> Iterator[None]:
        """Weigh an iteration: itself, and its accesses outside inner loops."""
        begin, outer, self._weight = len(self.lines), self._weight, 1
        yield
        # This loop's charge is the first one without a weight.
        for number in range(begin, len(self.lines)):
            head, times, charge = self.lines[number].rpartition(" * ")
            if times and charge.startswith("w") and head.lstrip().startswith("left -= "):
                self.lines[number] = f"{head} * {self._weight}"
                break
        self._weight = outer

    def loop(self, stmt: Any) -> None:
        around = self._loops
        self._loops = [*around, stmt.loop_var.__chandle__()]
        with self._weighed(), self._watched(self._iterations(stmt)):
            super().loop(stmt)
        self._loops = around

    def while_(self, stmt: Any) -> None:
        outside, self._in_while = self._in_while, True
        with self._weighed():
            super().while_(stmt)
        self._in_while = outside

    # Iterations that must not conflict

    @contextmanager
    def _watched(self, watch: RaceGroup | None) -> Iterator[None]:
        if watch is None:
            yield
            return
        self._watches.append(watch)
        yield
        self._watches.pop()

    def _iterations(self, stmt: Any) -> RaceGroup | None:
        """The watch for a loop; None if its iterations may be ordered or are proven independent."""
        if not unordered(stmt):
            return None
        if self._plan.sound and self._plan.loops[stmt.__chandle__()].kind in ("lanes", "unit"):
            return None
        buffers = conflicts(stmt.body, (), self._private())
        if stmt.kind == ir.ForKind.THREAD_BINDING:
            buffers = frozenset(b for b in buffers if self._is_global(b))
        if not buffers:
            return None
        name = self.fresh("q")
        self.emit(f"{name} = Race()")
        return RaceGroup(name, (stmt.loop_var.__chandle__(),), (), buffers)

    def _private(self) -> Collection[int]:
        """The allocated buffers, if a later pass gives each iteration its own."""
        if self._placed:
            return ()
        return [buffer for buffer in self.buffers if self.root(buffer) not in self._given]

    def _is_global(self, buffer: int) -> bool:
        storage = self.buffers.get(buffer)
        return storage is not None and str(storage.node.ty.storage_scope) in ("", "global")

    def _instances(self, stmt: Any) -> RaceGroup | None:
        """The watch for a block, or None.

        Its ordered variables give its instances an order, as do enclosing loops that its variables
        do not depend on. There is no watch inside a `while`, whose number of iterations is not
        known.
        """
        keys = spatial(stmt.block)
        if not keys or self._in_while:
            return None
        buffers = conflicts(stmt.block, keys)
        if not buffers:
            return None
        bound: set[int] = set()
        order: list[int] = []
        for iter_var, expr in zip(stmt.block.iter_vars, stmt.iter_values, strict=True):
            if iter_var.iter_type in (SPATIAL, REDUCE):
                bound |= variables(expr)
            else:
                order.append(iter_var.var.__chandle__())
        order.extend(var for var in self._loops if var not in bound)
        name = self.fresh("q")
        self._scopes[-1].append(name)
        return RaceGroup(name, tuple(key.__chandle__() for key in keys), tuple(order), buffers)

    def instance(self, stmt: Any) -> None:
        with self._watched(self._instances(stmt)):
            line, loops = len(self.lines), self._loops
            self.emit("pass")
            self._scopes.append([])
            self._loops = []
            super().instance(stmt)
            self._loops = loops
            names = self._scopes.pop()
            self.lines[line] = self.lines[line].replace("pass", _races(names))

    def _tuple(self, handles: Sequence[int]) -> str:
        texts = [self.vars[handle].text for handle in handles]
        return texts[0] if len(texts) == 1 else f"({', '.join(texts)})"

    def _iteration(self, storage: BufferArray) -> list[tuple[str, str]]:
        """The watches for accesses of a buffer here, with arguments that identify the iteration."""
        handle = storage.node.__chandle__()
        return [
            (watch.name, f"{self._tuple(watch.keys)}, {self._tuple(watch.order)}")
            for watch in self._watches
            if handle in watch.buffers
        ]

    def _disjoint(self, method: str, storage: BufferArray, index: str) -> list[str]:
        """Conditions under which no iteration conflicts with another one here."""
        return [
            f"{name}.{method}({iteration}, {storage.name}, {index})"
            for name, iteration in self._iteration(storage)
        ]

    # Accesses

    def allocate(self, buffer: Any) -> None:
        size = " * ".join(self.value(dim).text for dim in buffer.ty.shape) or "1"
        self.emit(f"left -= {size} // {PER_STEP}")
        self.emit("if left < 0: too_large()")
        super().allocate(buffer)
        name = self.storage(buffer).name
        self.emit(f"{name}u = unwritten({name})")
        self._marks[buffer.__chandle__()] = f"{name}u"

    def match_buffer(self, match: Any) -> None:
        super().match_buffer(match)
        self._see(match.buffer, ir.tensor_of(match.source))

    def declare_buffer(self, stmt: Any) -> None:
        super().declare_buffer(stmt)
        self._see(stmt.buffer, self.pointed(stmt.data).node)

    def _see(self, buffer: Any, source: Any) -> None:
        """Give a view the marks of the elements that it shows."""
        marks = self._marks.get(source.__chandle__())
        if marks is None:
            return
        old, new = self.storage(source), self.storage(buffer)
        if old.dtype != new.dtype:
            # The elements have another size, so the memory is not checked any further.
            self.emit(f"{marks}[...] = True")
            return
        self.emit(f"{new.name}u = marks_of({new.name}, {old.name}, {marks})")
        self._marks[buffer.__chandle__()] = f"{new.name}u"

    def indices(self, storage: BufferArray, exprs: Sequence[Any]) -> list[PyExpr]:
        if len(exprs) != len(storage.shape):
            raise Unsupported(f"{len(exprs)} indices of {storage.node.name}")
        outer, self._wide = self._wide, True
        values = [self.value(expr) for expr in exprs]
        self._wide = outer
        return values

    def _access(
        self, storage: BufferArray, indices: Sequence[PyExpr]
    ) -> tuple[list[str], list[str], str]:
        """Conditions for indices in bounds; the indices as text if these hold, and in any case."""
        inside, names = [], []
        for index, size in zip(indices, storage.shape, strict=True):
            if self._checked(index, size, None) is index:
                names.append(index.text)
            elif index.text.isidentifier():
                names.append(index.text)
                inside.append(f"0 <= {index.text} < {size.text}")
            else:
                names.append(self.fresh("j"))
                inside.append(f"0 <= ({names[-1]} := {index.text}) < {size.text}")
        self._weight += 1
        return inside, names, _index(index.text for index in indices)

    def load(self, expr: Any) -> PyExpr:
        storage = self.storage(ir.tensor_of(expr))
        indices = self.indices(storage, list(expr.indices))
        if _is_vector(storage, indices):
            return self._load_lanes(expr, storage, indices)
        checks, names, again = self._access(storage, indices)
        index = _index(names)
        marks = self._marks.get(storage.node.__chandle__())
        if marks is not None:
            checks.append(f"{marks}[{index}]")
        checks.extend(self._disjoint("read", storage, index))
        text = f"{storage.name}[{index}]"
        if self._wide and storage.dtype in INDEX:
            text = f"int({text})"
        if checks:
            site = self.site(str(ir.tensor_of(expr).name), expr)
            text = (
                f"({text} if {' and '.join(checks)} "
                f"else bad_read({site}, {storage.name}, {marks}, {again}))"
            )
        return PyExpr(text, storage.dtype, weak=self._wide and storage.dtype in INDEX)

    def store(self, stmt: Any) -> None:
        storage = self.storage(stmt.buffer)
        value = kept(stmt, self.value(stmt.value))
        self.stored(stmt.buffer, storage, value)
        text = self.held(value)
        indices = self.indices(storage, targets(stmt))
        if _is_vector(storage, indices):
            self.emit(f"write_lanes({self._lanes(storage, indices, stmt.value)}, {value.text})")
            return
        if value.lanes:
            raise Unsupported("a vector stored to a single element")
        checks, names, again = self._access(storage, indices)
        index = _index(names)
        checks.extend(self._disjoint("write", storage, index))
        if checks:
            # Evaluate the value first: a failing read is reported before a failing write.
            text = self.fresh("x")
            self.emit(f"{text} = {self.held(value)}")
            site = self.site(str(stmt.buffer.name))
            self.emit(
                f"if not ({' and '.join(checks)}): bad_write({site}, {storage.name}, {again})"
            )
        self.emit(f"{storage.name}[{index}] = {text}")
        marks = self._marks.get(stmt.buffer.__chandle__())
        if marks is not None:
            self.emit(f"{marks}[{index}] = True")

    # Vectors

    def _lanes(
        self, storage: BufferArray, indices: Sequence[PyExpr], vector: Any, expr: Any = None
    ) -> str:
        """Arguments that identify the iteration, and the elements that a vector's lanes access."""
        self._weight += width_of(vector.ty)
        marks = self._marks.get(storage.node.__chandle__())
        watches = "".join(f"({name}, {it}), " for name, it in self._iteration(storage))
        site = self.site(str(storage.node.name), expr)
        index = _index(index.text for index in indices)
        return f"{site}, {storage.name}, {marks}, {index}, [{watches}]"

    def _load_lanes(self, expr: Any, storage: BufferArray, indices: Sequence[PyExpr]) -> PyExpr:
        text = f"read_lanes({self._lanes(storage, indices, expr, expr)}, {self._chosen})"
        if self._wide and storage.dtype in INDEX:
            text = f"integers({text})"
        return PyExpr(text, storage.dtype, lanes=True)

    def choice(self, condition: Any, first: Any, second: Any) -> PyExpr:
        """One of two values. For vectors, all lanes of both are computed and must be in bounds."""
        if width_of(condition.ty) == 1:
            return super().choice(condition, first, second)
        cond, name, outer = self.value(condition), self.fresh("m"), self._chosen
        rest = "" if outer is None else f" & {outer}"
        self._chosen = f"({name}{rest})"
        a = self.value(first)
        self._chosen = f"(logical_not({name}){rest})"
        b = self.value(second)
        self._chosen = outer
        left, right, *_ = self.both_exact(a, b)
        return PyExpr(f"where(({name} := {cond.text}), {left}, {right})", a.dtype, lanes=True)

    def numbers(self, width: int, dtype: str) -> str:
        return super().numbers(width, "object" if self._wide and dtype in INDEX else dtype)

    def array(self, args: Sequence[Any], *, written: bool) -> str:
        """An array for a function of the runtime, which reads or writes all its elements."""
        text = super().array(args, written=written)
        data, shape, _, _, element, offset = args
        storage = self.pointed(data)
        marks = self._marks.get(storage.node.__chandle__())
        if marks is None:
            return text
        if storage.dtype != dtype_of(element.ty):
            self.emit(f"{marks}[...] = True")
            return text
        dims = ", ".join(self.value(dim).text for dim in shape.args)
        part = f"view({marks}, bool_, [{dims}], [], {self.value(offset).text})"
        if written:
            self.emit(f"{part}[...] = True")
        else:
            self.emit(f"all_read({self.site(str(storage.node.name))}, {part})")
        return text

    # Undefined arithmetic

    def _guarded(self, function: str, ty: Any, *args: str) -> str:
        site = self.site(expr=self._operation)
        if width_of(ty) > 1:
            return f"{function}_where({', '.join(args)}, True, {site})"
        return f"{function}_at({', '.join(args)}, {site})"


def _is_vector(storage: BufferArray, indices: Sequence[PyExpr]) -> bool:
    """True if an access at these indices touches several scalars."""
    return storage.width > 1 or any(index.lanes for index in indices)


def _races(names: Sequence[str]) -> str:
    return "; ".join(f"{name} = Race()" for name in names) or "pass"


def _index(texts: Iterable[str]) -> str:
    """The text of a tuple."""
    return f"({', '.join(texts)},)" if (texts := list(texts)) else "()"
