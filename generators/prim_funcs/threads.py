"""Kernels whose threads are bound already, and exchange values in shared memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from tvm import tirx
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as builder

from ...compat import ir
from ..choices import Choices
from ..scope import near
from .expressions import Expr, const

BYTES = 48
"""Bytes for one function."""
WARP = 32
"""The number of threads that all devices run together."""
SEVERAL = 0.3
"""The chance that a function has two kernels."""
NEAR = 0.7
"""The chance that the extent of `threadIdx.x` is near a requested number."""
FEWEST = 4
"""The least threads for the steps of a kernel."""
THREADS = 256
"""The most threads in a block that all devices run."""

DYNAMIC = 0.2
"""The chance that the size of shared memory is given at the launch."""

DTYPES = ("float32", "int32")


@dataclass(frozen=True, slots=True)
class Kernel:
    """The threads of a kernel and their memory."""

    dtype: str
    tx: Expr
    ty: Expr
    columns: int
    """Extent of `threadIdx.x`."""
    rows: int
    """Extent of `threadIdx.y`."""
    vx: Expr | None
    """The virtual thread."""
    item: Expr
    """The index in the caller's buffers for each thread and virtual thread."""
    given: tirx.Buffer
    out: tirx.Buffer
    scope: str
    """The scope of the memory of the block."""
    filled: list[tirx.Buffer]
    """Buffers of the block with an element for each thread, which earlier steps have filled."""

    @property
    def own(self) -> Expr:
        """The number of the thread in its block."""
        return self.ty * self.columns + self.tx

    @property
    def threads(self) -> int:
        """The number of threads in a block."""
        return self.columns * self.rows

    @property
    def value(self) -> Expr:
        """The caller's value for a thread."""
        return self.given[self.item]

    def shared(self, size: int) -> tirx.Buffer:
        """Memory of the block."""
        made = builder.alloc_buffer((size,), self.dtype, scope=self.scope)
        IRBuilder.name("S", made)
        return made

    def add(self, value: Expr) -> None:
        """Add to the result of a thread."""
        builder.buffer_store(self.out, self.out[self.item] + value, [self.item])


def kernel(data: bytes, numbers: Sequence[float] = ()) -> tirx.PrimFunc:
    """The public PrimFunc that these bytes stand for.

    Args:
        data: the bytes.
        numbers: the extent of `threadIdx.x` is often one of these, next to one, or twice or half
            of one.
    """
    c = Choices(data)
    dtype = c.pick(DTYPES)
    grids = [_Grid.drawn(c, numbers) for _ in range(1 + c.flag(SEVERAL))]
    with IRBuilder() as ib, builder.prim_func():
        builder.func_name("kernel")
        buffers = [
            [builder.arg(name, builder.buffer((grid.size,), dtype)) for name in names]
            for grid, names in zip(grids, ("AB", "CD"), strict=False)
        ]
        builder.func_attr({"tirx.noalias": True, "tirx.is_scheduled": True})
        for grid, (given, out) in zip(grids, buffers, strict=True):
            _launched(c, grid, dtype, given, out)
    return ib.get().with_attr("global_symbol", "kernel")


@dataclass(frozen=True, slots=True)
class _Grid:
    """The extents of the thread axes of a kernel."""

    blocks: int
    columns: int
    rows: int
    virtual: int

    @classmethod
    def drawn(cls, c: Choices, numbers: Sequence[float]) -> _Grid:
        blocks, columns, rows = c.pick((1, 2)), c.pick((32, 16, 64)), c.pick((1, 2, 4))
        if numbers and c.flag(NEAR):
            extent = int(near(numbers, c.below(256)))
            if FEWEST <= extent <= THREADS:
                columns, rows = extent, min(rows, THREADS // extent)
        return cls(blocks, columns, rows, 2 if c.flag(0.3) else 1)

    @property
    def size(self) -> int:
        """The size of a buffer with an element for each thread."""
        return self.blocks * self.rows * self.columns * self.virtual


def _launched(c: Choices, grid: _Grid, dtype: str, given: tirx.Buffer, out: tirx.Buffer) -> None:
    with ExitStack() as frames:
        bx = _bound(frames, grid.blocks, "blockIdx.x")
        one_row = grid.rows == 1
        ty = tirx.IntImm("int32", 0) if one_row else _bound(frames, grid.rows, "threadIdx.y")
        tx = _bound(frames, grid.columns, "threadIdx.x")
        vx = _bound(frames, grid.virtual, "vthread.x") if grid.virtual > 1 else None
        item = (bx * grid.rows + ty) * grid.columns + tx
        item = item if vx is None else item * grid.virtual + vx
        scope = "shared.dyn" if c.flag(DYNAMIC) else "shared"
        made = Kernel(dtype, tx, ty, grid.columns, grid.rows, vx, item, given, out, scope, [])
        _exchanged(c, made)
        for _ in range(1 + c.below(4)):
            c.pick(_STEPS if vx is None else _VIRTUAL)(c, made)


def _bound(frames: ExitStack, extent: int, tag: str) -> Expr:
    var = frames.enter_context(builder.thread_binding(0, extent, thread=tag))
    IRBuilder.name(tag.replace(".", "_"), var)
    return var


def _exchanged(c: Choices, k: Kernel) -> None:
    """Each thread reads a value that another one has written."""
    s = k.shared(k.threads)
    builder.buffer_store(s, k.value, [k.own])
    builder.buffer_store(k.out, s[_other(c, k)], [k.item])
    k.filled.append(s)


def _other(c: Choices, k: Kernel) -> Expr:
    size = k.threads
    return c.pick((size - 1 - k.own, tirx.floormod(k.own + 1, size), k.own))


def _again(c: Choices, k: Kernel) -> None:
    """Values from an earlier step are read again, like tiles that are used twice."""
    k.add(c.pick(k.filled)[_other(c, k)])


def _first_row(c: Choices, k: Kernel) -> None:
    """One row of threads writes values that all threads read."""
    s = k.shared(k.columns)
    with builder.If(ir.EQ(k.ty, const(0, "int32"))), builder.Then():
        builder.buffer_store(s, k.value, [k.tx])
    k.add(s[c.pick((k.tx, k.columns - 1 - k.tx))])


def _one_of_several(c: Choices, k: Kernel) -> None:
    """The first of several threads writes a value that they all read."""
    several = c.pick((k.columns, k.columns // 2)) if k.columns % 2 == 0 else k.columns
    s = k.shared(k.threads // several)
    with builder.If(ir.EQ(tirx.floormod(k.own, several), const(0, "int32"))), builder.Then():
        builder.buffer_store(s, k.value, [tirx.floordiv(k.own, several)])
    k.add(s[tirx.floordiv(k.own, several)])


def _moving(c: Choices, k: Kernel) -> None:
    """A loop whose threads go on to elements that others have written."""
    more = c.pick((4, 2))
    s = k.shared(k.threads + more)
    builder.buffer_store(s, k.value, [k.own])
    with builder.If(k.own < more), builder.Then():
        builder.buffer_store(s, const(1, k.dtype), [k.own + k.threads])
    with builder.serial(0, more) as i:
        k.add(s[k.own + i])
        builder.buffer_store(s, k.value, [k.own + c.pick((i, const(0, "int32")))])


def _decided(c: Choices, k: Kernel) -> None:
    """The value that another thread has written is a condition."""
    s = k.shared(k.threads)
    builder.buffer_store(s, k.value, [k.own])
    with builder.If(s[k.threads - 1 - k.own] > const(1, k.dtype)), builder.Then():
        k.add(const(1, k.dtype))
    k.filled.append(s)


def _registers(c: Choices, k: Kernel) -> None:
    """A private value of each thread, including virtual ones."""
    own = builder.alloc_buffer((1,), k.dtype, scope="local")
    IRBuilder.name("R", own)
    builder.buffer_store(own, const(1, k.dtype), [0])
    which = k.tx if k.vx is None else k.vx
    with builder.If(ir.EQ(which, const(1, "int32"))), builder.Then():
        builder.buffer_store(own, const(2, k.dtype), [0])
    if c.flag(0.3):
        with builder.serial(0, 3) as i:
            builder.buffer_store(own, own[0] + ir.Cast(k.dtype, i), [0])
    k.add(own[0])


def _warp(c: Choices, k: Kernel) -> None:
    """Each thread reads a value that another thread of its warp has written."""
    if WARP % k.columns:
        _registers(c, k)
        return
    own = builder.alloc_buffer((k.columns,), k.dtype, scope="warp")
    IRBuilder.name("W", own)
    builder.buffer_store(own, k.value, [k.tx])
    k.add(own[c.pick((k.columns - 1 - k.tx, tirx.floormod(k.tx + 1, k.columns)))])


def _reduced(c: Choices, k: Kernel) -> None:
    """A row of threads reduces its values, like a lowered block with a reduction over threads."""
    result = builder.alloc_buffer((1,), k.dtype, scope="local")
    IRBuilder.name("R", result)
    combine = c.pick((lambda x, y: x + y, tirx.max))
    reducer = builder.comm_reducer(lambda x, y: combine(x, y), [const(0, k.dtype)])
    with builder.attr(reducer, "reduce_scope", const(0, "int32")):  # the value is not read
        count, always = tirx.IntImm("uint32", 1), tirx.IntImm("bool", 1)
        call = builder.tvm_thread_allreduce(count, k.value, always, result[0], k.tx)
        builder.evaluate(call)
    k.add(result[0])


Step = Callable[[Choices, Kernel], None]

_STEPS: tuple[Step, ...] = (
    _exchanged,
    _exchanged,
    _again,
    _again,
    _again,
    _first_row,
    _one_of_several,
    _moving,
    _decided,
    _registers,
    _warp,
    _reduced,
)

_VIRTUAL: tuple[Step, ...] = (_registers,)
