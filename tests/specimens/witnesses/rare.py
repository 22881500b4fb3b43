"""Modules with rare attributes, or features that meet, on which passes are wrong; and others."""
# ruff: noqa: RET504  (TVMScript reads statements, it does not execute them)

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R

from relaxfuzz.generators.stages import Stage

from ..witness import Witness

op = relax.op
Body = Callable[..., relax.Expr]

X = np.array([[0.5, -2.0, 3.0], [1.5, 5.0, -0.25]], "float32")
SQUARE = np.array([[1, 2], [3, 4]], "int32")
OTHER = np.array([[0, 1], [2, 5]], "int32")
BYTES = np.array([[100, 90], [3, 4]], "int8")
IMAGE = np.arange(1, 26, dtype="float32").reshape(1, 1, 5, 5)


def type_of(arg: Any) -> relax.TensorType:
    return relax.TensorType(arg.shape, str(arg.dtype))


def const(value: Any, dtype: str = "float32") -> relax.Expr:
    return relax.const(np.array(value, dtype), dtype)


def module(body: Body, *types: relax.Type, extra: Body | None = None) -> tvm.IRModule:
    """A module with the function main. `extra` is bound, too, but not used."""
    builder = relax.BlockBuilder()
    params = [relax.Var(f"x{i}", ty) for i, ty in enumerate(types)]
    with builder.function("main", params):
        with builder.dataflow():
            if extra is not None:
                builder.emit(extra(*params))
            result = builder.emit_output(body(*params))
        builder.emit_func_output(result)
    return builder.get()


def both(x: relax.Expr, y: relax.Expr, dtype: str | None) -> relax.Expr:
    first, second = op.matmul(x, x), op.matmul(x, y, out_dtype=dtype)
    return relax.Tuple([first, second])


def concat(x: relax.Expr, axis: int) -> relax.Expr:
    return op.concat([op.permute_dims(x, [1, 0]), op.permute_dims(x, [1, 0])], axis)


def sliced(x: relax.Expr, stride: int) -> relax.Expr:
    return op.strided_slice(op.strided_slice(x, [1], [1], [5], [stride]), [1], [1], [2])


def pooled(x: relax.Expr, **attrs: Any) -> relax.Expr:
    return op.nn.avg_pool2d(x, (2, 2), (2, 2), (1, 1, 1, 1), **attrs)


def chain(a: relax.Expr, b: relax.Expr, axes: list[int]) -> relax.Expr:
    return op.matmul(a, op.permute_dims(op.matmul(b, a), axes))


LARGE = 2**60 + 1

VALUES: list[tuple[str, Body, tuple[Any, ...], bool]] = [
    (
        "reassociates_identity_transposes",
        lambda a, b: chain(a, b, [0, 1]),
        (SQUARE, OTHER),
        True,
    ),
    (
        "reassociates_identity_transposes",
        lambda a, b: chain(a, b, [1, 0]),
        (SQUARE, OTHER),
        False,
    ),
    ("combines_mixed_matmuls", lambda x, y: both(x, y, "int32"), (BYTES, BYTES), True),
    ("combines_mixed_matmuls", lambda x, y: both(x, y, None), (BYTES, BYTES), False),
    ("merges_strided_slices", lambda x: sliced(x, 2), (IMAGE[0, 0],), True),
    ("merges_strided_slices", lambda x: sliced(x, 1), (IMAGE[0, 0],), False),
    (
        "sinks_transposes_past_scalars",
        lambda x, y: op.add(op.permute_dims(x), y),
        (X[:, :2], X[0, :2]),
        True,
    ),
    (
        "sinks_transposes_past_scalars",
        lambda x, y: op.add(op.permute_dims(x), y),
        (X[:, :2], X[0, 0]),
        False,
    ),
    (
        "sinks_transposes_past_scalars",
        lambda x, y: op.add(op.permute_dims(x), y),
        (X, X.T),
        False,
    ),
    ("merges_disjoint_clips", lambda x: op.clip(op.clip(x, 2.0, 3.0), 0.0, 1.0), (X,), True),
    ("merges_disjoint_clips", lambda x: op.clip(op.clip(x, 0.0, 3.0), 1.0, 4.0), (X,), False),
    ("pads_pools_explicitly", lambda x: pooled(x, count_include_pad=True), (IMAGE,), False),
    (
        "pads_pools_explicitly",
        lambda x: op.nn.avg_pool2d(
            x, (3, 3), (2, 2), (1, 1, 1, 1), ceil_mode=True, count_include_pad=True
        ),
        (IMAGE[:, :, :4, :4],),
        True,
    ),
    (
        "folds_int64_division",
        lambda x: op.add(x, op.divide(const(LARGE, "int64"), const(1, "int64"))),
        (np.array(0, "int64"),),
        True,
    ),
    (
        "folds_int64_division",
        lambda x: op.add(x, op.divide(const(99, "int64"), const(1, "int64"))),
        (np.array(0, "int64"),),
        False,
    ),
]


def cast() -> tvm.IRModule:
    """A value that is used under the name that a match_cast gives it."""
    builder, x = relax.BlockBuilder(), relax.Var("x", relax.TensorType([2, 3], "float32"))
    with builder.function("main", [x]):
        y = builder.emit(op.add(x, x))
        unknown = builder.match_cast(y, relax.TensorType(dtype="float32", ndim=2))
        z = builder.match_cast(unknown, relax.TensorType([2, 3], "float32"))
        w = builder.emit(op.exp(x))
        u = builder.emit(op.add(z, z))
        builder.emit_func_output(builder.emit(relax.Tuple([w, u])))
    return builder.get()


@I.ir_module
class Aliased:
    @R.function
    def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        y = R.add(x, x)
        z = y
        w = R.exp(x)
        v = R.multiply(z, w)
        u = R.add(v, x)
        t = R.add(u, x)
        return t


MATRIX = relax.TensorType((2, 2), "int32")
FLOAT = relax.TensorType((2, 2), "float32")
BATCH = relax.TensorType((2, 2, 2), "int32")
NARROW = relax.TensorType((2,), "float32")


def transposed(x: relax.Expr, weight: relax.Expr) -> relax.Expr:
    return op.matmul(x, op.permute_dims(weight))


CRASHES: list[tuple[str, tvm.IRModule, tvm.IRModule]] = [
    (
        "broadcasts_operands",
        module(lambda x: op.add(x, relax.prim_value(tvm.tirx.const(1.0, "float32"))), FLOAT),
        module(lambda x: op.add(x, const(1.0)), FLOAT),
    ),
    (
        "decomposes_layer_norm",
        module(lambda x: op.nn.layer_norm(x, x, x, [0, 1]), FLOAT),
        module(lambda x, y: op.nn.layer_norm(x, y, y, [1]), FLOAT, NARROW),
    ),
    (
        "fuses_transposed_weights",
        module(lambda x: transposed(x, const(X[:, :2])), FLOAT),
        module(transposed, FLOAT, FLOAT),
    ),
    (
        "notes_sizes_of_arguments",
        module(lambda t: t[0], relax.TupleType([FLOAT, relax.ShapeType(ndim=2)])),
        module(op.exp, FLOAT),
    ),
]


def joined(x: relax.Expr, w: relax.Expr) -> relax.Expr:
    return op.matmul(x, op.concat([w, w], 1))


def private(equal: bool) -> tvm.IRModule:
    """Two private functions, and main, which calls both."""
    builder = relax.BlockBuilder()
    callees = []
    for name in "fg":
        x = relax.Var("x", NARROW)
        with builder.function(name, [x], private=True):
            y = builder.emit(op.exp(op.multiply(x, x)) if name == "f" else op.tanh(x))
            callees.append(builder.emit_func_output(y))
    x = relax.Var("x", NARROW)
    with builder.function("main", [x]):
        first = builder.emit(relax.Call(callees[0], [x]))
        builder.emit_func_output(builder.emit(relax.Call(callees[1], [first])))
    functions = dict(builder.get().functions_items())
    if equal:
        functions[callees[1]] = functions[callees[0]]
    return tvm.IRModule(functions)


FORMS: list[tuple[str, tvm.IRModule, bool]] = [
    ("permutes_after_concat", module(lambda x: concat(x, -1), FLOAT), True),
    ("permutes_after_concat", module(lambda x: concat(x, 1), FLOAT), False),
    ("splits_combined_rows", module(joined, BATCH, MATRIX), True),
    ("splits_combined_rows", module(joined, MATRIX, MATRIX), False),
    ("updates_equal_functions", private(True), True),
    ("updates_equal_functions", private(False), False),
]


INTERFACE = ("permutes_after_concat", "splits_combined_rows")
"""Their fault is another type; that of the others leaves the module ill-formed."""

WITNESSES = (
    *(
        Witness(name, "values" if shows else None, module(body, *map(type_of, args)), args)
        for name, body, args, shows in VALUES
    ),
    *(Witness(name, "crash", bad) for name, bad, _ in CRASHES),
    *(Witness(name, None, good) for name, _, good in CRASHES),
    *(
        Witness(
            name, None if not shows else "interface" if name in INTERFACE else "ill-formed", mod
        )
        for name, mod, shows in FORMS
    ),
    Witness("reuses_cast_tensors", "values", cast(), (X,), Stage.REWRITTEN),
    Witness("reuses_cast_tensors", None, Aliased, (X,), Stage.REWRITTEN),
)
