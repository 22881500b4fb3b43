"""One generated PrimFunc: its parameters, and a few nests one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TypeAlias

import tvm
from tvm import tirx
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as builder

from ..choices import Choices
from ..scope import near
from ..values import Dim
from .expressions import FLOATS, FLOATS8, INTEGERS, NARROWER
from .nests import nest
from .rare.helpers import called
from .task import NestTask

HEADER = 40
"""Bytes for all but the nests."""
BUFFER = 10
"""Bytes for the buffer that a nest writes, if that is none of the outputs."""
NEST = 50 + BUFFER
"""Bytes for one nest."""

Functions: TypeAlias = dict[tvm.ir.GlobalVar, tirx.PrimFunc]

DTYPES = ("float32", *FLOATS[1:], *INTEGERS, "bool")

SIZES = (4, 3, 8, 5, 2, 16, 1, 7, 12, 20)
"""Sizes of dimensions; most are not divisible by the factors of loop splits."""
NEAR = 0.7
"""The chance that one of a function's three sizes is near a requested number."""
LONGEST = 130
"""The largest size near a requested number."""

FLOAT8 = 0.06
"""The chance that float inputs have one byte, as weights do."""
STORED = 0.4
"""The chance that results have one byte, too, if such dtypes are requested."""
VECTORS = 0.04
"""The chance that the elements of most buffers are vectors."""
LANES = (4, 2, 8)
CALLING = 0.3
"""The chance that a function without blocks calls a private one."""

ZERO = 0.02
"""The chance that a dimension is 0."""
SCOPES = (*("global",) * 10, *("local",) * 2, "global.vtcm")
"""Scopes of the function's own buffers; the last is memory of Hexagon."""
ELEMENTWISE = 0.25
"""The chance that a function is marked as elementwise, as AnnotateTIROpPattern does."""
SYMBOLIC = 0.25
"""The chance that a function has symbolic dimensions."""
WIDENING = 0.25
"""The chance that a function computes in a wider dtype than its operands have."""
CHAINED = 0.3
"""The chance that the function's own buffers are all like the first, each needed until the next one
is written. Layer fusion makes such functions; their buffers can share memory."""


class Incomplete(Exception):
    """TVM fails to complete a PrimFunc: bugs of TVM prevent writing it at all."""


@contextmanager
def completed(frame: builder.frame.PrimFuncFrame) -> Iterator[None]:
    """The frame of a PrimFunc, at whose end TVM infers the regions of its blocks.

    Raises:
        Incomplete: TVM fails to infer them.
    """
    frame.__enter__()
    yield
    try:
        frame.__exit__(None, None, None)
    except Exception as error:
        raise Incomplete(str(error)) from error


def prim_func(
    name: str,
    header: bytes,
    bodies: Sequence[bytes],
    dtypes: Sequence[str],
    numbers: Sequence[float] = (),
) -> Functions:
    """The public PrimFunc that these bytes stand for, and a private one if it calls one.

    Args:
        bodies: the bytes of its nests.
        dtypes: the dtypes of most of its buffers; if empty, mostly float32.
        numbers: a size is often one of these, next to one, or twice or half of one.

    Raises:
        Incomplete: see `completed`.
    """
    c = Choices(header)
    # TVM mostly simplifies integers.
    usual = c.pick(list(dtypes) if dtypes else ("float32", "float32", *DTYPES, "int32", "int64"))
    # Floats of one byte are computed in a wider dtype.
    byte, usual = (usual, "float32") if usual in FLOATS8 else (None, usual)
    given = NARROWER.get(usual, usual) if c.flag(WIDENING) else usual
    if byte or (usual in FLOATS and c.flag(FLOAT8)):
        given = byte or c.pick(FLOATS8)
    result = byte if byte and c.flag(STORED) else usual
    lanes = c.pick(LANES) if c.flag(VECTORS) else 1
    index = c.pick(("int32", "int64"))
    sizes = _sizes(c, numbers)
    if any(not isinstance(size, int) for size in sizes):
        index = "int64"
    blocks = not c.flag(0.25)
    with IRBuilder() as ib, completed(builder.prim_func(s_tir=blocks)):
        builder.func_name(name)
        readable = [
            builder.arg(letter, _parameter(c, _shape(c, sizes), _dtype(c, given, lanes)))
            for letter in "ABC"[: 1 + c.pick((0, 1, 0, 2))]
        ]
        scalars = []
        if c.flag(0.2):
            dtype = c.pick(("int32", "float32", "int64"))
            scalars.append(builder.arg("scalar", tirx.Var("scalar", dtype)))
        outputs = [
            builder.arg(f"out{number}", _parameter(c, _shape(c, sizes), _dtype(c, result, lanes)))
            for number in range(1 + (len(bodies) > 1 and c.flag(0.3)))
        ]
        builder.func_attr({"tirx.noalias": not c.flag(0.1)})
        if c.flag(ELEMENTWISE):
            builder.func_attr({"op_pattern": 0})
        # A dimension that no parameter has is not defined.
        dims = {hash(dim) for buffer in (*readable, *outputs) for dim in buffer.ty.shape}
        known = [size for size in sizes if isinstance(size, int) or hash(size) in dims] or [4]
        between = len(bodies) - len(outputs)
        chained = c.flag(CHAINED)
        for number, body in enumerate(bodies):
            b = Choices(body)
            # Drawn in any case, so that removing a later nest changes no other decision.
            own, again = b.part(BUFFER), b.flag(0.1)
            if number >= between:
                target = outputs[number - between]
            else:
                like = Choices(bodies[0]).part(BUFFER) if chained else own
                dtype = _dtype(like, usual, lanes)
                target = _allocated(like, _shape(like, known), dtype, blocks=blocks)
                IRBuilder.name("DEFGH"[number], target)
            # An output may also be updated.
            output = number >= between
            updated = output and again
            task = NestTask(target, [target] * updated + readable, scalars, index, blocks, output)
            nest(b, task)
            readable = [target] if chained else [*readable, target]
        calling = c.flag(CALLING) and not blocks and task.lanes == 1
        others = called(c, f"{name}_helper", task) if calling else {}
    main = ib.get().with_attr("global_symbol", name)
    return {tvm.ir.GlobalVar(name): main, **others}


def _sizes(c: Choices, numbers: Sequence[float]) -> list[Dim]:
    """The sizes for all buffers of a function: only a few, so that the buffers fit together."""
    sizes: list[Dim] = [0 if c.flag(ZERO) else c.pick(SIZES) for _ in range(3)]
    if numbers and c.flag(NEAR):
        # Only one, since shapes with several large sizes take long to evaluate.
        size = int(near(numbers, c.below(256)))
        if 1 <= size <= LONGEST:
            sizes[c.below(3)] = size
    if c.flag(SYMBOLIC):
        sizes[c.below(3)] = tirx.Var("n", "int64")
        if c.flag(0.3):
            sizes[2] = tirx.Var("m", "int64")
    return sizes


def _shape(c: Choices, sizes: Sequence[Dim]) -> list[Dim]:
    rank = c.pick((2, 2, 1, 3, 2, 1, 4, 0))
    shape = [sizes[(at + c.pick((0, 0, 0, 1, 2))) % len(sizes)] for at in range(rank)]
    return shape[:3] + [2] * (len(shape) > 3)


def _dtype(c: Choices, usual: str, lanes: int) -> str:
    dtype = c.pick(DTYPES) if c.flag(0.15) else usual
    if lanes == 1 or dtype == "bool" or dtype in FLOATS8 or c.flag(0.2):
        return dtype
    return f"{dtype}x{lanes}"


def _parameter(c: Choices, shape: Sequence[Dim], dtype: str) -> tirx.Buffer:
    """A buffer from the caller, who may also choose its strides and offset."""
    kind = c.pick(("compact",) * 10 + ("offset", "strided"))
    if kind == "offset":
        offset = tirx.Var("offset", "int64")
        return builder.buffer(shape, dtype, elem_offset=offset, offset_factor=1)
    if kind == "strided" and shape:
        # Integers in shapes are int32, as in TVMScript.
        usual = "int32" if all(isinstance(dim, int) for dim in shape) else "int64"
        index = c.pick((usual,) * 9 + ("int64",))
        strides = [tirx.Var(f"stride{at}", index) for at in range(len(shape))]
        return builder.buffer(shape, dtype, strides=strides)
    return builder.buffer(shape, dtype)


def _allocated(c: Choices, shape: Sequence[Dim], dtype: str, *, blocks: bool) -> tirx.Buffer:
    """A buffer of the function's own."""
    make = builder.sblock_alloc_buffer if blocks else builder.alloc_buffer
    strides = None
    if c.flag(0.06) and len(shape) == 2 and all(isinstance(dim, int) for dim in shape):
        strides = [int(shape[1]) + c.below(3), 1]
    return make(shape, dtype, strides=strides, scope=c.pick(SCOPES))
