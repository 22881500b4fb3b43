"""Statements of kernels as Python text; all threads execute each statement before the next one.

This is the meaning of a PrimFunc until ThreadSync puts barriers into it: a statement sees the
results of all the statements before it. With correct barriers every order of the threads gives the
same result.

A value that differs between threads is an array over the lanes of `grid.Grid`. A condition that
differs is a mask; a loop whose extent differs runs as long as one thread needs it. Memory of scope
`local`, and `global` memory that a kernel allocates, has one copy for each thread, `shared` memory
one for each block. Both live as long as the kernel.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from tvm import tirx

from ....compat import ir
from ...errors import Unsupported
from ...inspect import nodes
from ..lanes import Masked
from ..values import BufferArray, PyExpr, added, constant, dtype_of, sizes_of, type_name, width_of
from .launch import launch, tag, variable

SHUFFLES = {f"tvm_warp_shuffle{kind}": kind for kind in ("", "_up", "_down")}

UNKNOWN = 64
"""The assumed size of an unknown dimension, to estimate memory."""


@dataclass(slots=True)
class LockstepKernel:
    """The kernel being written: names of its grid and of the grid's lanes."""

    grid: str
    lane: str
    group: str
    copy: str
    extents: dict[str, PyExpr]
    bound: dict[int, str] = field(default_factory=dict)
    """Tags by the handles of the variables bound to them."""


class LaneSlice(NamedTuple):
    """The part of an array that the lanes access, as texts of indices."""

    texts: Sequence[str]
    lanes: bool = False
    """True if the part has an element, or a vector, for each lane."""
    vector: bool = False
    """True if its last axis has the scalars of vectors."""

    def __str__(self) -> str:
        return ", ".join(self.texts) or "()"

    @property
    def own(self) -> bool:
        """True if each lane accesses the same element of its own copy."""
        return self.texts[:1] == [":"]


class Lockstep(Masked):
    """Writes the text of a PrimFunc with kernels."""

    def __init__(self) -> None:
        super().__init__()
        self.kernel: LockstepKernel | None = None
        self.copies: dict[int, str] = {}
        """Names of the arrays that number the copies of a buffer, by its handle."""
        self.waiting: dict[int, Any] = {}
        """Buffers in memory of kernels that are allocated outside of them."""
        self._reducers: list[Any] = []

    # Threads

    def loop(self, stmt: Any) -> None:
        if tag(stmt) is not None:
            self._bound(stmt)
            return
        begin, count = self.value(stmt.min), self.value(stmt.extent)
        if not (begin.lanes or count.lanes):
            super().loop(stmt)
            return
        if stmt.step is not None:
            raise Unsupported("loop with a step whose extent differs between threads")
        first, end, name = self.fresh("n"), self.fresh("n"), self.fresh("i")
        last = self.decision(added(begin, count))
        self.emit(f"{first}, {end} = own({begin.text}), own({last.text})")
        active = "" if self.mask is None else f", {self.mask}"
        with self.block(f"for {name} in range(lowest({first}{active}), highest({end}{active})):"):
            self.count("1")
            self.vars[stmt.loop_var.__chandle__()] = PyExpr(name, begin.dtype, weak=True)
            inside = f"({first} <= {name}) & ({name} < {end})"
            with self.guarded(PyExpr(inside, "bool", lanes=True)):
                self.statement(stmt.body)

    def _bound(self, stmt: Any) -> None:
        """Write a statement that binds a variable to threads; the outermost launches the kernel."""
        if self.kernel is None:
            with self._launched(stmt):
                self._bound(stmt)
            return
        if type(stmt) is ir.For and self.value(stmt.min).literal != 0:
            raise Unsupported(f"threads that begin at {stmt.min}")
        name, var = str(tag(stmt)), variable(stmt)
        dtype, size = dtype_of(var.ty), self.kernel.extents[name]
        value = constant(0, dtype)
        if size.literal != 1:
            high = None if size.literal is None else size.literal - 1
            value = PyExpr(self.fresh("t"), dtype, False, True, 0, high, size.text)
            axis = f"{self.kernel.grid}.axis({name!r}, {dtype})"
            self.emit(f"{value.text} = {axis}")
        self.vars[var.__chandle__()] = value
        self.kernel.bound[var.__chandle__()] = name
        self.statement(stmt.body)

    def sequence(self, stmt: Any) -> None:
        """Write a sequence, with all its loops over threads of one block in one kernel.

        LiftThreadBinding also makes one kernel of them. Statements before the first loop or after
        the last one stay outside.
        """
        items = list(stmt.seq)
        loops = [i for i, item in enumerate(items) if self.kernel is None and _in_a_block(item)]
        if len(loops) < 2:
            super().sequence(stmt)
            return
        for item in items[: loops[0]]:
            self.statement(item)
        several = ir.SeqStmt(items[loops[0] : loops[-1] + 1])
        with self._launched(several):
            super().sequence(several)
        for item in items[loops[-1] + 1 :]:
            self.statement(item)

    @contextlib.contextmanager
    def _launched(self, stmt: Any) -> Iterator[None]:
        extents = {name: self.value(size) for name, size in launch(stmt).items()}
        grid, lane, group, copy = (self.fresh(letter) for letter in "kxyz")
        sizes = ", ".join(f"{name!r}: {size.text}" for name, size in extents.items())
        inside = self._memory(stmt)
        self.emit(f"{grid} = {self.grid(sizes, inside)}")
        with self.block(f"for {lane}, {group}, {copy} in {grid}.chunks():"):
            self.kernel = LockstepKernel(grid, lane, group, copy, extents)
            for buffer in self._used(stmt):
                self.allocate(buffer)
            yield
            self.kernel = None

    def grid(self, sizes: str, held: int) -> str:
        """Text of the grid of a kernel."""
        return f"Grid({{{sizes}}}, {held})"

    def _memory(self, stmt: Any) -> int:
        """The approximate number of scalars that each thread holds in memory of its own."""
        own = [alloc.buffer for alloc in nodes(stmt, ir.AllocBuffer)]
        for block in nodes(stmt, ir.SBlock):
            own.extend(block.alloc_buffers)
        total = 1
        for buffer in [*own, *self._used(stmt)]:
            if not shared(buffer):
                size = width_of(buffer.ty.dtype)
                for dim in buffer.ty.shape:
                    size *= int(dim.value) if isinstance(dim, tirx.IntImm) else UNKNOWN
                total += size
        return total

    def _used(self, stmt: Any) -> list[Any]:
        """The buffers that are allocated outside of kernels and used in this one."""
        used = {ir.tensor_of(load).__chandle__() for load in nodes(stmt, ir.TensorLoad)}
        used |= {store.buffer.__chandle__() for store in nodes(stmt, ir.BufferStore)}
        return [buffer for handle, buffer in self.waiting.items() if handle in used]

    def count(self, iterations: str) -> None:
        if self.kernel is not None:
            iterations = f"{iterations} * {self.kernel.grid}.weight"
        super().count(iterations)

    def attribute(self, stmt: Any) -> None:
        if tag(stmt) is not None:
            self._bound(stmt)
        elif str(stmt.attr_key) == "reduce_scope":
            self._reducers.append(stmt.node)
            self.statement(stmt.body)
            self._reducers.pop()
        else:
            super().attribute(stmt)

    # Masks

    @contextlib.contextmanager
    def guarded(self, condition: PyExpr) -> Iterator[None]:
        with super().guarded(condition):
            if not condition.lanes:
                yield
                return
            with self.block(f"if {self.mask}.any():"):
                yield

    def while_(self, stmt: Any) -> None:
        condition = self.value(stmt.condition)
        if not condition.lanes:
            super().while_(stmt)
            return
        name, outer = self.fresh("m"), self.mask
        self.emit(
            f"{name} = own({self.decision(condition).text})" + (f" & {outer}" if outer else "")
        )
        with self.block(f"while {name}.any():"):
            self.count("1")
            self.mask = name
            self.statement(stmt.body)
            self.emit(f"{name} = {name} & {self.decision(self.value(stmt.condition)).text}")
            self.mask = outer

    def assertion(self, stmt: Any) -> None:
        if self.kernel is not None:
            raise Unsupported("assertion in a kernel")
        super().assertion(stmt)

    # Memory

    def allocate(self, buffer: Any) -> None:
        scope = str(buffer.ty.storage_scope)
        if scope not in ("", "global", "local", "shared", "shared.dyn", "warp"):
            raise Unsupported(f"memory of scope {scope}")
        handle = buffer.__chandle__()
        if self.kernel is None:
            if scope in ("", "global"):
                super().allocate(buffer)
            else:
                self.waiting[handle] = buffer
            return
        kernel, name = self.kernel, self.fresh("b")
        storage = self.declare(buffer, name)
        if scope == "warp":
            copies, self.copies[handle] = f"{kernel.grid}.size", self._first_of_warp()
        elif not shared(buffer):
            copies, self.copies[handle] = f"{kernel.grid}.size", kernel.lane
        elif any(bound.startswith("vthread") for bound in kernel.bound.values()):
            copies = f"{kernel.grid}.blocks * {kernel.grid}.virtual"
            self.copies[handle] = kernel.copy
        else:
            copies, self.copies[handle] = f"{kernel.grid}.blocks", kernel.group
        sizes = sizes_of(storage)
        self.emit(f"{name} = alloc(({copies}, {sizes}), {type_name(storage.dtype)})")

    def _first_of_warp(self) -> str:
        """Name of the first lane of each thread's row along `threadIdx.x`.

        src/tirx/transform/lower_warp_memory.cc: "width equals to the extent of threadIdx.x, which
        should be no larger than the warp size".
        """
        name = self.fresh("w")
        self.emit(f"{name} = {self._grid}.first_of_row()")
        return name

    def match_buffer(self, match: Any) -> None:
        if self.kernel is not None:
            raise Unsupported("region of a buffer in a kernel")
        super().match_buffer(match)

    def declare_buffer(self, stmt: Any) -> None:
        buffer, source = stmt.buffer, self.pointed(stmt.data)
        copy = self.copies.get(source.node.__chandle__())
        if copy is None:
            super().declare_buffer(stmt)
            return
        if self.begin(stmt.data).literal != 0:
            raise Unsupported("the address of an element in a kernel")
        ty, name = buffer.ty, self.fresh("b")
        storage = self.declare(buffer, name)
        if storage.width > 1 or source.width > 1:
            raise Unsupported(f"buffer {buffer.name} of dtype {ty.dtype} over another one")
        if shared(buffer):
            storage = self._widened(storage, source)
        strides = ", ".join(self.value(stride).text for stride in ty.strides)
        where = f"[{sizes_of(storage)}], [{strides}], {self.value(ty.elem_offset).text}"
        self.emit(f"{name} = views({source.name}, {type_name(storage.dtype)}, {where})")
        self.copies[buffer.__chandle__()] = copy
        self._sources[buffer.__chandle__()] = source.node.__chandle__()

    def _widened(self, view: BufferArray, source: BufferArray) -> BufferArray:
        """A flat view of shared memory, as far as the memory reaches.

        MergeSharedMemoryAllocations keeps the shapes of the buffers that it merges, and adds their
        offsets to the indices, as its test test_matmul_t_buffer expects.
        """
        sizes = [dim.literal for dim in source.shape]
        ty = view.node.ty
        if len(view.shape) != 1 or ty.strides or None in sizes or not _is_zero(ty.elem_offset):
            return view
        memory = math.prod(size for size in sizes if size is not None) * _bytes(source.dtype)
        length = constant(memory // _bytes(view.dtype), view.shape[0].dtype)
        wide = replace(view, shape=(length,))
        self.buffers[view.node.__chandle__()] = wide
        return wide

    def load(self, expr: Any) -> PyExpr:
        storage = self.storage(ir.tensor_of(expr))
        part = self.part(storage, expr.indices, self.indices(storage, expr.indices))
        array = part.lanes or part.vector
        return PyExpr(f"{storage.name}[{part}]", storage.dtype, lanes=array)

    def part(
        self, storage: BufferArray, exprs: Sequence[Any], indices: Sequence[PyExpr]
    ) -> LaneSlice:
        """The part of an array that the lanes access."""
        copy = self.copies.get(storage.node.__chandle__())
        texts, wide = [index.text for index in indices], storage.width > 1
        if copy is None and not any(index.lanes for index in indices):
            return LaneSlice(texts, vector=wide)
        if copy is not None and copy == self._lane and not any(index.lanes for index in indices):
            return LaneSlice([":", *texts], True, wide)
        vectors = [width_of(expr.ty) > 1 for expr in exprs]
        if not any(vectors):
            return LaneSlice(texts if copy is None else [copy, *texts], True, wide)
        if wide:
            raise Unsupported(f"vector of the vectors of {storage.node.name}")
        for axis, (index, vector) in enumerate(zip(indices, vectors, strict=True)):
            if index.lanes and not vector:
                texts[axis] = f"{index.text}[..., None]"
        return LaneSlice(
            texts if copy is None else [f"{copy}[..., None]", *texts], copy is not None, True
        )

    @property
    def _lane(self) -> str:
        return "" if self.kernel is None else self.kernel.lane

    def store(self, stmt: Any) -> None:
        storage = self.storage(stmt.buffer)
        value = self.value(stmt.value)
        self.stored(stmt.buffer, storage, value)
        self.save(storage, stmt.indices, value)

    def save(self, storage: BufferArray, exprs: Sequence[Any], value: PyExpr) -> None:
        """Store a value into an element for each lane."""
        part = self.part(storage, exprs, self.indices(storage, exprs))
        target = f"{storage.name}[{part}]"
        if self.mask is None and (part.lanes or not value.lanes or self.kernel is None):
            self.emit(f"{target} = {self.held(value)}")
            return
        mask = "True" if self.mask is None else self.mask
        if self.mask is not None and part.vector:
            mask = f"{mask}[..., None]"
        if part.own:
            self.emit(f"copyto({target}, {self.exact(value)}, where={mask})")
        elif part.vector and storage.width > 1:
            raise Unsupported(f"store of a vector to {storage.node.name}")
        else:
            texts = "".join(f"{text}, " for text in part.texts)
            self.emit(f"put({storage.name}, ({texts}), {self.held(value)}, {mask})")

    # Operations of several threads

    def evaluate(self, stmt: Any) -> None:
        expr = stmt.value
        name = str(getattr(getattr(expr, "op", None), "name", ""))
        if name == "tirx.tvm_thread_allreduce":
            self.allreduce(list(expr.args))
        elif name == "tirx.tvm_storage_sync":
            self.barrier(str(expr.args[0].value))
        elif name in ("tirx.break_loop", "tirx.continue_loop") and self.mask is not None:
            raise Unsupported("a jump of some threads")
        else:
            super().evaluate(stmt)

    def barrier(self, scope: str) -> None:
        """Write nothing for a barrier: threads always wait for each other in this form."""
        if scope not in ("shared", "shared.dyn", "warp"):
            raise Unsupported(f"barrier of scope {scope}")

    def allreduce(self, args: Sequence[Any]) -> None:
        """Write an allreduce of these arguments: count, values, condition, targets, threads."""
        if self.kernel is None or not self._reducers:
            raise Unsupported("allreduce without threads or a reducer")
        reducer, count = self._reducers[-1], int(args[0].value)
        condition, mask = self.value(args[1 + count]), self.mask
        if condition.lanes or mask is None:
            mask = self.fresh("m")
            text = condition.text if self.mask is None else f"{condition.text} & {self.mask}"
            self.emit(f"{mask} = own({text})")
        values = [self.masked(mask, arg) for arg in args[1 : 1 + count]]
        targets, variables = args[2 + count : 2 + 2 * count], args[2 + 2 * count :]
        bound = self.kernel.bound
        tags = [bound[var.__chandle__()] for var in variables if isinstance(var, tirx.Var)]
        identity = ", ".join(self.exact(self.value(each)) for each in reducer.identity_element)
        given = ", ".join(self.exact(value) for value in values)
        results = [self.fresh("r") for _ in range(count)]
        self.emit(
            f"{', '.join(results)}, = {self.kernel.grid}.allreduce({self._combiner(reducer)}, "
            f"[{identity}], [{given}], {mask}, {tags!r})"
        )
        for target, result, value in zip(targets, results, values, strict=True):
            storage = self.storage(ir.tensor_of(target))
            self.written(storage.node.__chandle__())
            self.save(storage, target.indices, PyExpr(result, value.dtype, lanes=True))

    def _combiner(self, reducer: Any) -> str:
        """A function of two operands for each result."""
        names = []
        for var in (*reducer.lhs, *reducer.rhs):
            names.append(self.fresh("u"))
            self.vars[var.__chandle__()] = PyExpr(names[-1], dtype_of(var.ty), lanes=True)
        before, self.mask = self.mask, None
        results = "".join(f"{self.value(result).text}, " for result in reducer.result)
        self.mask = before
        return f"lambda {', '.join(names)}: ({results})"

    def call(self, expr: Any) -> PyExpr:
        name = str(getattr(expr.op, "name", "")).rpartition(".")[2]
        if self.kernel is None or name not in (*SHUFFLES, "tvm_warp_activemask"):
            return super().call(expr)
        active = "" if self.mask is None else f", {self.mask}"
        dtype = dtype_of(expr.ty)
        if name == "tvm_warp_activemask":
            text = f"{self.kernel.grid}.ballot({WARP}{active})"
            return PyExpr(text, dtype, lanes=True)
        return self.shuffle(SHUFFLES[name], list(expr.args)[1:])

    def shuffle(self, kind: str, args: Sequence[Any]) -> PyExpr:
        """The value of another thread; `args` are value, thread, and sizes of its part and warp."""
        value, *rest = map(self.value, args)
        active = "" if self.mask is None else f", {self.mask}"
        texts = ", ".join(each.text for each in rest)
        text = f"{self._grid}.shuffled({kind!r}, {self.exact(value)}, {texts}{active})"
        return PyExpr(text, value.dtype, lanes=True)

    @property
    def _grid(self) -> str:
        if self.kernel is None:
            raise Unsupported("threads outside of kernels")
        return self.kernel.grid


WARP = 32
"""Number of threads in a warp of CUDA, the only target that asks for the active threads."""


def _in_a_block(stmt: Any) -> bool:
    """True if the statement has loops over threads, and none over blocks."""
    tags = [str(tag(loop)) for loop in nodes(stmt, ir.For) if tag(loop) is not None]
    return bool(tags) and not any(name.startswith("blockIdx") for name in tags)


def shared(buffer: Any) -> bool:
    """True if the threads of a block share the memory of the buffer."""
    return str(buffer.ty.storage_scope).startswith("shared")


def _is_zero(expr: Any) -> bool:
    return isinstance(expr, tirx.IntImm) and expr.value == 0


def _bytes(dtype: str) -> int:
    return np.dtype(dtype).itemsize
