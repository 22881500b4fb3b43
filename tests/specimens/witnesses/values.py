"""Modules that passes make compute something else, and others that they do not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import tvm
from tvm import relax

from relaxfuzz.generators.stages import Stage

from ..witness import Witness

Build = Callable[..., Any]


def function(build: Build, *types: Any) -> tvm.IRModule:
    """A module with the function main, in one dataflow block, whose body `build` emits."""
    builder = relax.BlockBuilder()
    params = [relax.Var(f"x{i}", ty) for i, ty in enumerate(types)]
    with builder.function("main", params):
        with builder.dataflow():
            result = builder.emit_output(build(builder.emit, *params))
        builder.emit_func_output(result)
    return builder.get()


def tensor(*shape: Any, dtype: str = "float32") -> relax.TensorType:
    return relax.TensorType(shape, dtype)


def const(value: Any, dtype: str) -> relax.Expr:
    return relax.const(np.array(value, dtype), dtype)


op = relax.op
X = np.array([[0.5, -2.0, 3.0], [1.5, 5.0, -0.25]], "float32")
CUBE = np.arange(27, dtype="float32").reshape(3, 3, 3) / 8
NAN = np.array([[0.5, np.nan, 3.0], [1.5, np.inf, -7.0]], "float32")
INTS = np.array([[7, -7, 1], [100, -3, 0]], "int32")
LARGE = np.array([[2**24 + 1, -7, 1], [100, -3, 0]], "int32")
F23 = tensor(2, 3)
I23 = tensor(2, 3, dtype="int32")


def _cast(between: str, to: str) -> Build:
    return lambda emit, x: op.astype(emit(op.astype(x, between)), to)


def _softmax_of_transposed(axis: int) -> Build:
    return lambda emit, x: op.nn.softmax(emit(op.permute_dims(x, [2, 0, 1])), axis)


def _batch_norm(training: bool, axis: int) -> Build:
    def build(emit: Any, x: relax.Var) -> relax.Expr:
        weights = [const([k, 2, 3], "float32") for k in (1, 2, 3, 4)]
        norm = emit(op.nn.batch_norm(x, *weights, axis, training=training))
        return emit(relax.TupleGetItem(norm, 0))

    return build


def _const(call: Any, a: Any, b: Any, dtype: str) -> Build:
    return lambda emit, x: op.add(x, emit(call(const(a, dtype), const(b, dtype))))


def _mirror(emit: Any, x: relax.Var) -> relax.Expr:
    y = emit(op.exp(x))
    return op.subtract(y, emit(op.permute_dims(y)))


def _plain(emit: Any, x: relax.Var) -> relax.Expr:
    return op.nn.relu(emit(op.negative(emit(op.exp(x)))))


def _divided(call: Any, by: Any) -> Build:
    return lambda emit, x: call(x, const(by, "int32"))


RAW, LEGALIZED, REWRITTEN, TIR_FUSED = (
    Stage.RAW,
    Stage.LEGALIZED,
    Stage.REWRITTEN,
    Stage.TIR_FUSED,
)

SHOWN: list[tuple[str, Build, Any, Any, Stage]] = [
    ("simplifies_casts", _cast("float32", "int32"), I23, LARGE, RAW),
    ("simplifies_casts", _cast("float16", "float32"), I23, LARGE, RAW),
    ("simplifies_casts", _cast("uint8", "int32"), I23, INTS, RAW),
    ("keeps_negative_axes", _softmax_of_transposed(-1), tensor(3, 3, 3), CUBE, RAW),
    ("decomposes_softplus", lambda emit, x: op.nn.softplus(x, 2.0, 2.0), F23, X, RAW),
    ("decomposes_gelu_tanh", lambda emit, x: op.nn.gelu_tanh(x), F23, X, RAW),
    ("decomposes_batch_norm", _batch_norm(True, 1), F23, X, RAW),
    ("folds_division_downwards", _const(op.divide, [7, -7, 1], 2, "int32"), I23, INTS, RAW),
    ("divides_downwards", _divided(op.divide, 2), I23, INTS, LEGALIZED),
    ("divides_downwards", _divided(op.mod, 4), I23, INTS, LEGALIZED),
    ("inlines_one_pattern", _mirror, tensor(3, 3), CUBE[1], TIR_FUSED),
]

RIGHT: list[tuple[str, Build, Any, Any, Stage]] = [
    ("simplifies_casts", _cast("float32", "float64"), I23, INTS, RAW),
    ("simplifies_casts", _cast("int64", "int32"), I23, LARGE, RAW),
    ("simplifies_casts", _cast("float16", "float32"), F23, NAN * 1e5, RAW),
    ("simplifies_casts", _cast("float64", "float32"), F23, NAN * 1e5, RAW),
    ("keeps_negative_axes", _softmax_of_transposed(1), tensor(3, 3, 3), CUBE, RAW),
    ("decomposes_softplus", lambda emit, x: op.nn.softplus(x, 1.0, 2.0), F23, NAN, RAW),
    ("decomposes_gelu_tanh", lambda emit, x: op.nn.gelu(x), F23, NAN, RAW),
    ("decomposes_batch_norm", _batch_norm(False, 1), F23, NAN, RAW),
    ("decomposes_batch_norm", _batch_norm(False, -1), F23, NAN, RAW),
    ("folds_division_downwards", _const(op.divide, [7, 8, 1], 2, "int32"), I23, INTS, RAW),
    ("folds_division_downwards", _const(op.divide, [7, 0, -1], [0, 0, 0], "float32"), F23, X, RAW),
    ("folds_division_downwards", _const(op.mod, [7, -7, 1], 2, "int32"), I23, INTS, RAW),
    (
        "folds_division_downwards",
        _const(op.add, [127, 1, 2], 5, "int8"),
        tensor(3, dtype="int8"),
        INTS[0].astype("int8"),
        RAW,
    ),
    ("divides_downwards", _divided(op.divide, 2), I23, abs(INTS), LEGALIZED),
    ("divides_downwards", _divided(op.divide, -2), I23, INTS, LEGALIZED),
    ("inlines_one_pattern", _plain, F23, NAN, TIR_FUSED),
]


def _witnesses(problem: Any, rows: Any) -> Iterator[Witness]:
    for name, build, ty, arg, stage in rows:
        yield Witness(name, problem, function(build, ty), (arg,), stage)


WITNESSES = (*_witnesses("values", SHOWN), *_witnesses(None, RIGHT))
