"""Modules on which the second set of drafts is wrong, and others on which it is right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R

from relaxfuzz.compat.serialization import load_json, save_json

from ..witness import Witness
from .building import X, const, module, of, of_args, tensor

op = relax.op

ROWS = np.arange(24, dtype="float32").reshape(6, 4)
IMAGE = np.arange(-16, 0, dtype="float32").reshape(1, 1, 4, 4)
HEADS = np.linspace(-1, 2, 24, dtype="float32").reshape(1, 3, 2, 4)
BYTES = np.array([-128, -3, 0, 100, 127], "int8")


def triangles(build: Callable[..., relax.Expr], *diagonals: int) -> Callable[..., relax.Expr]:
    return lambda b, x: build(b.emit(build(x, diagonals[0])), diagonals[1])


def scaled_maximum(factor: float) -> Callable[..., relax.Expr]:
    return lambda b, x: op.max(b.emit(op.multiply(x, const(factor))), [1])


def padded_pool(b: relax.BlockBuilder, x: relax.Expr) -> relax.Expr:
    return op.nn.max_pool2d(b.emit(op.nn.pad(x, [0, 0, 0, 0, 1, 0, 1, 1])), (2, 2))


def resized(mode: str, size: tuple[int, int] = (8, 12)) -> Callable[..., relax.Expr]:
    return of(
        lambda x: op.image.resize2d(
            x, size, method="nearest_neighbor", coordinate_transformation_mode=mode
        )
    )


def scaled_attention(*heads: relax.Expr) -> relax.Expr:
    return op.nn.attention(*heads, scale=tvm.tirx.FloatImm("float32", 0.25))


def dequantized(zero: int) -> Callable[..., relax.Expr]:
    return of(lambda x: op.dequantize(x, const(0.5), const(zero, "int8"), out_dtype="float32"))


def taken(*indices: int) -> Callable[..., relax.Expr]:
    return of(lambda x: op.take(x, const(indices, "int64"), 0))


def largest(largest: bool) -> Callable[..., relax.Expr]:
    return of(lambda x: op.topk(x, 1, 1, ret_type="values", largest=largest))


def casts(*dtypes: str) -> Callable[..., relax.Expr]:
    return lambda b, x: op.astype(b.emit(op.astype(x, dtypes[0])), dtypes[1])


def field(b: relax.BlockBuilder, x: relax.Expr, y: relax.Expr) -> relax.Expr:
    pair = b.emit(relax.Tuple([x, b.emit(op.exp(y))]))
    return op.add(b.emit(relax.TupleGetItem(pair, 0)), b.emit(relax.TupleGetItem(pair, 1)))


VALUES: list[tuple[str, Callable[..., relax.Expr], tuple[Any, ...], bool]] = [
    ("take_range", taken(0, 2, 1, 3), (ROWS,), True),
    ("take_range", taken(2, 3, 4), (ROWS,), False),
    ("topk_one_to_max", largest(False), (X,), True),
    ("topk_one_to_max", largest(True), (X,), False),
    ("merge_triangles", triangles(op.tril, 1, -1), (ROWS,), True),
    ("merge_triangles", triangles(op.triu, 1, -1), (ROWS,), False),
    ("scale_after_reduction", scaled_maximum(-2.0), (X,), True),
    ("scale_after_reduction", scaled_maximum(2.0), (X,), False),
    ("PadIntoMaxPool", padded_pool, (IMAGE,), True),
    ("PadIntoMaxPool", padded_pool, (IMAGE + 16,), False),
    ("LowerAttention", of(op.nn.attention), (HEADS, HEADS, HEADS + 1), True),
    ("LowerAttention", of(scaled_attention), (HEADS, HEADS, HEADS + 1), False),
    ("ResizeByRepeat", resized("align_corners"), (IMAGE,), True),
    ("ResizeByRepeat", resized("half_pixel"), (IMAGE,), False),
    ("LowerDequantize", dequantized(-10), (BYTES,), True),
    ("LowerDequantize", dequantized(0), (BYTES,), False),
    ("constants_right", of(lambda x: op.multiply(const(3.0), x)), (X,), False),
    ("merge_widening_casts", casts("float32", "float64"), (X.astype("float16"),), False),
    ("merge_widening_casts", casts("float64", "float16"), (X,), False),
    ("forward_tuple_fields", field, (X, X), False),
]


def einsum(subscripts: str) -> tvm.IRModule:
    body = of(lambda x, y: op.einsum((x, y), subscripts))
    return module(body, tensor(2, 3), tensor(3, 4))


@I.ir_module
class Branching:
    @R.function
    def main(c: R.Tensor((), "bool"), x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        y = R.exp(x)
        if c:
            a = R.add(y, y)
            z = R.tanh(a)
        else:
            z = R.multiply(y, x)
        return z


@I.ir_module
class TwoBlocks:
    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        y = R.exp(x)
        with R.dataflow():
            z = R.add(y, y)
            R.output(z)
        return z


RETYPED = ("EinsumToMatmul",)
"""Drafts after which a function has another type."""

ILL_FORMED: list[tuple[str, tvm.IRModule, bool]] = [
    ("EinsumToMatmul", einsum("ij,jk->ki"), True),
    ("EinsumToMatmul", einsum("ij,jk->ik"), False),
    ("widen_dataflow", Branching, True),
    ("widen_dataflow", TwoBlocks, False),
]


@I.ir_module
class ResultsInTuples:
    @R.function
    def main(c: R.Tensor((), "bool"), x: R.Tensor((2,), "float32")):
        if c:
            a = R.exp(x)
            z = (a, x)
        else:
            b = R.tanh(x)
            z = (x, b)
        return z


def named(name: str) -> tvm.IRModule:
    func = module(of(lambda x: op.power(x, const(2.0))), tensor(2, 3))["main"]
    return tvm.IRModule({name: func.with_attr("global_symbol", name)})


CRASHES: list[tuple[str, tvm.IRModule, tvm.IRModule]] = [
    (
        "UpcastHalf",
        module(
            lambda b, x: relax.TupleGetItem(b.emit(op.split(x, 2, 0)), 1),
            tensor(2, 3, dtype="float16"),
        ),
        module(of(op.exp), tensor(2, 3, dtype="float16")),
    ),
    ("FlattenIf", ResultsInTuples, Branching),
    ("power_two_to_square", named("forward"), named("main")),
]


def two_kernels(equal: bool) -> tvm.IRModule:
    def body(b: relax.BlockBuilder, x: relax.Expr) -> relax.Expr:
        return op.add(b.emit(op.add(x, const(1.0))), const(2.0))

    mod = relax.transform.LegalizeOps()(module(body, tensor(2, 3)))
    if equal:
        names = [g for g in mod.get_global_vars() if g.name_hint != "main"]
        mod[names[1]] = load_json(save_json(mod))[names[0].name_hint]
    return mod


def kernel(public: bool) -> tvm.IRModule:
    mod = relax.transform.LegalizeOps()(module(of(op.exp), tensor(2, 3)))
    (name,) = {g.name_hint for g in mod.get_global_vars()} - {"main"}
    if public:
        mod[name] = mod[name].with_attr("global_symbol", name)
    return mod


WITNESSES = (
    *(
        Witness(name, "values" if shows else None, of_args(body, *args), args)
        for name, body, args, shows in VALUES
    ),
    *(
        Witness(name, None if not shows else "interface" if name in RETYPED else "ill-formed", mod)
        for name, mod, shows in ILL_FORMED
    ),
    *(Witness(name, "crash", bad) for name, bad, _ in CRASHES),
    *(Witness(name, None, good) for name, _, good in CRASHES),
    Witness("merge_kernels", "values", two_kernels(False), (X,)),
    Witness("merge_kernels", None, two_kernels(True), (X,)),
    Witness("prefix_kernels", "interface", kernel(True)),
    Witness("prefix_kernels", None, kernel(False), (X,)),
)
