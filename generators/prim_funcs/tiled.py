"""Kernels that are scheduled by hand: tiles of the operands are copied to shared memory, and added
up in registers, as in the schedules of MetaSchedule and of tuned libraries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvm import s_tir, te, tirx

from ..choices import Choices
from .rare.nests import ASYNC, ORDER, STAGE
from .reductions import MOST, PRODUCTS

BYTES = 24
"""Bytes for one function."""

PLANS = (
    ((0, 0, 1), (0, 1, 2)),
    ((0, 1, 2), (0, 1, 2)),
    ((0, 0, 2), (0, 1, 2)),
    ((0, 0, 1), (0, 2, 1)),
)
"""Stages and order of a software pipeline: the copies of both operands, and the product."""

LOCAL_STAGE = "tirx.manifest_shared_memory_local_stage"
"""Annotation of a block that copies to shared memory through registers."""


def tiled(data: bytes, sizes: Sequence[int]) -> tirx.PrimFunc:
    """The public PrimFunc that these bytes stand for.

    Args:
        sizes: the sizes of its dimensions.
    """
    c = Choices(data)
    func = _product(c, sizes)
    sch = s_tir.Schedule(func)
    block = sch.get_sblock("total")
    if c.flag(0.3):
        sch.pad_einsum(block, [1, 1, c.pick((4, 8))])
    padding = sch.get_producers(block)
    x, y, k = sch.get_loops(block)
    rows, columns, step = c.pick((4, 8, 1)), c.pick((8, 16, 4)), c.pick((4, 8, 2, 16))
    by, ty = sch.split(x, [None, rows])
    bx, tx = sch.split(y, [None, columns])
    ko, ki = sch.split(k, [None, step])
    serial = []
    if c.flag(0.3):
        tx, inner = sch.split(tx, [None, 2])
        serial = [inner]
        columns //= 2
    sch.reorder(by, bx, ty, tx, ko, ki, *serial)
    for loop, axis in ((by, "blockIdx.y"), (bx, "blockIdx.x"), (tx, "threadIdx.x")):
        sch.bind(loop, axis)
    virtual = c.flag(0.15)
    sch.bind(ty, "vthread.y" if virtual else "threadIdx.y")
    accumulator = sch.cache_write(block, 0, "local")
    sch.reverse_compute_at(accumulator, tx)
    scope = c.pick(("shared", "shared", "shared.dyn"))
    pipelined = c.flag(0.3)
    for copy in [sch.cache_read(block, operand, scope) for operand in range(2)]:
        sch.compute_at(copy, ko, preserve_unit_loops=True)
        _fetched(c, sch, copy, 1 if virtual else rows, columns, pipelined)
    for each in padding:
        sch.compute_inline(each)
    sch.decompose_reduction(block, ko)
    if pipelined:
        stages, order = c.pick(PLANS)
        sch.annotate(ko, STAGE, list(stages))
        sch.annotate(ko, ORDER, list(order))
        if c.flag(0.5):
            sch.annotate(ko, ASYNC, [0])
    if c.flag(0.2):
        sch.unroll(ki)
    made = sch.mod["main"]
    return made.with_attrs({"global_symbol": "tiled", "tirx.is_scheduled": True})


def _product(c: Choices, sizes: Sequence[int]) -> tirx.PrimFunc:
    """A product of two matrices, the second perhaps transposed."""
    narrow, wide = c.pick(PRODUCTS)
    rows, columns, length = (c.pick(sizes) for _ in range(3))
    rows = rows if rows * columns * length <= MOST else 4
    a = te.placeholder((rows, length), narrow, name="A")
    transposed = c.flag(0.4)
    shape = (columns, length) if transposed else (length, columns)
    b = te.placeholder(shape, narrow, name="B")
    k = te.reduce_axis((0, length), name="k")

    def term(i: Any, j: Any) -> Any:
        other = b[j, k] if transposed else b[k, j]
        return te.sum(a[i, k].astype(wide) * other.astype(wide), axis=k)

    total = te.compute((rows, columns), term, name="total")
    return te.create_prim_func([a, b, total])


def _fetched(c: Choices, sch: Any, copy: Any, rows: int, columns: int, pipelined: bool) -> None:
    """The threads of a block share a copy.

    Args:
        rows, columns: extents of `threadIdx.y` and `threadIdx.x`.
        pipelined: the copy stays one statement, as the annotations of the pipeline require.
    """
    loops = sch.get_loops(copy)[-2:]
    vector = c.pick((1, 1, 2, 4))
    _, ty, tx, lanes = sch.split(sch.fuse(*loops), [None, rows, columns, vector])
    sch.bind(tx, "threadIdx.x")
    if rows > 1:
        sch.bind(ty, "threadIdx.y")
    if vector > 1:
        sch.vectorize(lanes)
    match c.pick(("plain", "plain", "aligned", "double", "plain" if pipelined else "staged")):
        case "aligned":
            sch.storage_align(copy, 0, -2, 32, c.pick((8, 4)))
        case "double":
            sch.annotate(copy, "double_buffer_scope", 0)
        case "staged":
            sch.annotate(copy, LOCAL_STAGE, 1)
