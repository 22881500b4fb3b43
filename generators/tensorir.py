"""PrimFuncs to call: small TensorIR functions that write every element of their outputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import mul

import tvm
from tvm import te, tirx
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as builder

from .values import Dim, same_dim

Shape = tuple[Dim, ...]


def own_dims(shape: Sequence[Dim], known: list[tuple[Dim, tirx.Var]]) -> list[Dim]:
    """The shape over the PrimFunc's own variables: one for each distinct symbolic dim.

    A PrimFunc shares no symbolic variable with its caller; `known` holds the pairs made so far.
    """
    own: list[Dim] = []
    for dim in shape:
        if isinstance(dim, int):
            own.append(dim)
            continue
        var = next((var for seen, var in known if same_dim(seen, dim)), None)
        if var is None:
            var = tirx.Var(f"d{len(known)}", "int64")
            known.append((dim, var))
        own.append(var)
    return own


def _elementwise(a: te.Tensor) -> list[te.Tensor]:
    one = tirx.const(1, a.dtype)
    return [te.compute(a.shape, lambda *i: a(*i) + one, name="add_one")]


def _square(a: te.Tensor) -> list[te.Tensor]:
    return [te.compute(a.shape, lambda *i: a(*i) * a(*i), name="square")]


def _transpose(a: te.Tensor) -> list[te.Tensor]:
    return [te.compute(list(a.shape)[::-1], lambda *i: a(*reversed(i)), name="transpose")]


def _row_sum(a: te.Tensor) -> list[te.Tensor]:
    k = te.reduce_axis((0, a.shape[-1]), name="k")
    return [te.compute(list(a.shape)[:-1], lambda *i: te.sum(a(*i, k), axis=k), name="row_sum")]


def _two_outputs(a: te.Tensor) -> list[te.Tensor]:
    return [*_elementwise(a), *_square(a)]


def _two_steps(a: te.Tensor) -> list[te.Tensor]:
    return _square(_elementwise(a)[0])


def _less_its_sum(a: te.Tensor) -> list[te.Tensor]:
    """A reduction, which is also an output, and an elementwise step that reads it."""
    (total,) = _row_sum(a)
    return [
        te.compute(a.shape, lambda *i: a(*i) - total(*i[:-1]), name="less_its_sum"),
        total,
    ]


def _flatten(a: te.Tensor) -> list[te.Tensor]:
    def at(i: tvm.ir.Expr) -> tvm.ir.Expr:
        index = []
        if any(isinstance(d, tirx.IntImm) and d.value == 0 for d in a.shape):
            return tirx.const(0, a.dtype)
        for extent in reversed(list(a.shape)):
            index.append(tirx.indexmod(i, extent))
            i = tirx.indexdiv(i, extent)
        return a(*reversed(index))

    return [te.compute((reduce(mul, a.shape),), at, name="flatten")]


def _sum(a: te.Tensor, b: te.Tensor) -> list[te.Tensor]:
    return [te.compute(a.shape, lambda *i: a(*i) + b(*i), name="sum")]


def _both_ways(a: te.Tensor, b: te.Tensor) -> list[te.Tensor]:
    return [*_sum(a, b), te.compute(a.shape, lambda *i: b(*i) - a(*i), name="less")]


def _to_float(a: te.Tensor) -> list[te.Tensor]:
    return [te.compute(a.shape, lambda *i: a(*i).astype("float32"), name="to_float")]


def _prepacked(a: te.Tensor, weight: te.Tensor) -> list[te.Tensor]:
    """A step that changes the layout of a weight, marked as MetaSchedule marks it."""
    packed = te.compute(
        list(weight.shape)[::-1],
        lambda *i: weight(*reversed(i)),
        name="packed",
        attrs={"meta_schedule.layout_rewrite_preproc": tirx.IntImm("bool", 1)},
    )
    return [te.compute(a.shape, lambda *i: a(*i) + packed(*reversed(i)), name="prepacked")]


def _scaled(a: te.Tensor, factor: tirx.Var) -> list[te.Tensor]:
    return [te.compute(a.shape, lambda *i: a(*i) * factor.astype(a.dtype), name="scaled")]


def _repeated(a: te.Tensor, count: tirx.Var) -> list[te.Tensor]:
    return [te.compute((count, *a.shape), lambda n, *i: a(*i), name="repeated")]


def _one_shape(shape: Shape) -> list[Shape]:
    return [shape]


@dataclass(frozen=True, slots=True)
class Template:
    """A PrimFunc on inputs of one shape."""

    name: str
    compute: Callable[..., list[te.Tensor]]
    """Computes the outputs from the inputs and the number after them."""
    output_shapes: Callable[[Shape], list[Shape]] = _one_shape
    static: bool = False
    inputs: int = 1
    output_dtype: str | None = None
    """The dtype of the output; None: that of the inputs."""
    scalar: bool = False
    """True if a number follows the inputs."""
    leading: bool = False
    """True if the output has a leading dimension that no input has."""


SCALED = Template("tir_scaled", _scaled, scalar=True)
REPEATED = Template("tir_repeated", _repeated, leading=True)

TEMPLATES = (
    Template("tir_add_one", _elementwise),
    Template("tir_square", _square),
    Template("tir_transpose", _transpose, output_shapes=lambda s: [s[::-1]]),
    Template("tir_row_sum", _row_sum, output_shapes=lambda s: [s[:-1]]),
    Template("tir_two_outputs", _two_outputs, output_shapes=lambda s: [s, s]),
    Template("tir_two_steps", _two_steps),
    Template(
        "tir_flatten",
        _flatten,
        output_shapes=lambda s: [(reduce(mul, s),)],
        static=True,
    ),
    Template("tir_sum", _sum, inputs=2),
    Template("tir_less_its_sum", _less_its_sum, output_shapes=lambda s: [s, s[:-1]]),
    Template("tir_both_ways", _both_ways, inputs=2, output_shapes=lambda s: [s, s]),
    Template("tir_to_float", _to_float, output_dtype="float32"),
    Template("tir_prepacked", _prepacked, inputs=2, static=True),
    SCALED,
    REPEATED,
)


def private(func: tirx.PrimFunc) -> tirx.PrimFunc:
    """The PrimFunc without a global symbol, as passes add them."""
    return func.without_attr("global_symbol")


def prim_func(template: Template, shape: Sequence[Dim], dtype: str) -> tirx.PrimFunc:
    """The template for this input shape and dtype."""
    dims = own_dims(shape, [])
    inputs = [te.placeholder(dims, name=name, dtype=dtype) for name in "AB"[: template.inputs]]
    if template.leading:
        return private(
            te.create_prim_func([*inputs, *template.compute(*inputs, tirx.Var("count", "int64"))])
        )
    scalars = [tirx.Var("factor", "int64")] if template.scalar else []
    return private(te.create_prim_func([*inputs, *scalars, *template.compute(*inputs, *scalars)]))


def inplace(shape: Sequence[int], dtype: str, buffers: int = 1, new: int = 0) -> tirx.PrimFunc:
    """A PrimFunc that adds 1, 2, ... to every element of its first buffers, of rank 1 or more.

    Args:
        shape: the shape of all buffers.
        dtype: the dtype of all buffers.
        buffers: the number of updated buffers.
        new: the number of further buffers, after these, that receive the first one's new elements.
    """
    with IRBuilder() as ib, builder.prim_func(s_tir=True):
        builder.func_name("inplace")
        updated, others = (
            [
                builder.arg(f"{name}{number}", builder.Buffer(tuple(shape), dtype))
                for number in range(count)
            ]
            for name, count in (("A", buffers), ("B", new))
        )
        builder.func_attr({"tirx.noalias": True})
        with builder.grid(*shape) as loops, builder.sblock("update"):
            axes = builder.axis.remap("S" * len(shape), list(loops) if len(shape) > 1 else [loops])
            index = tuple(axes) if len(shape) > 1 else (axes,)
            builder.reads(*(a[index] for a in updated))
            builder.writes(*(a[index] for a in [*updated, *others]))
            for number, a in enumerate(updated):
                builder.buffer_store(a, a[index] + tvm.tirx.const(number + 1, dtype), list(index))
            for b in others:
                builder.buffer_store(b, updated[0][index], list(index))
    return private(ib.get())
