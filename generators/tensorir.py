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

from .scope import Dim, same_dim


def own_dims(shape: Sequence[Dim], known: list[tuple[Dim, tirx.Var]]) -> list[Dim]:
    """The shape over variables of the PrimFunc itself: one for each distinct symbolic dim.

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


@dataclass(frozen=True, slots=True)
class Template:
    """A PrimFunc of one input, for any shape of the ranks it takes."""

    name: str
    compute: Callable[[te.Tensor], list[te.Tensor]]
    ranks: tuple[int, ...] = (2, 1, 3, 4)
    output_shapes: Callable[[tuple[Dim, ...]], list[tuple[Dim, ...]]] = lambda shape: [shape]
    static: bool = False


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
)


def private(func: tirx.PrimFunc) -> tirx.PrimFunc:
    """The PrimFunc without a global symbol, as passes add them."""
    return func.without_attr("global_symbol")


def prim_func(template: Template, shape: Sequence[Dim], dtype: str) -> tirx.PrimFunc:
    """The template for this input shape and dtype."""
    a = te.placeholder(own_dims(shape, []), name="A", dtype=dtype)
    return private(te.create_prim_func([a, *template.compute(a)]))


def binary(shape: Sequence[Dim], dtype: str) -> tirx.PrimFunc:
    """A PrimFunc of two inputs of one shape: their sum."""
    dims = own_dims(shape, [])
    a, b = (te.placeholder(dims, name=name, dtype=dtype) for name in "AB")
    return private(
        te.create_prim_func([a, b, te.compute(dims, lambda *i: a(*i) + b(*i), name="sum")])
    )


def inplace(shape: Sequence[int], dtype: str) -> tirx.PrimFunc:
    """A PrimFunc of rank 1 or more that adds 1 to every element of its only buffer."""
    with IRBuilder() as ib, builder.prim_func(s_tir=True):
        builder.func_name("inplace")
        a = builder.arg("A", builder.Buffer(tuple(shape), dtype))
        builder.func_attr({"tirx.noalias": True})
        with builder.grid(*shape) as loops, builder.sblock("update"):
            axes = builder.axis.remap("S" * len(shape), list(loops) if len(shape) > 1 else [loops])
            index = tuple(axes) if len(shape) > 1 else (axes,)
            builder.reads(a[index])
            builder.writes(a[index])
            builder.buffer_store(a, a[index] + tvm.tirx.const(1, dtype), list(index))
    return private(ib.get())
