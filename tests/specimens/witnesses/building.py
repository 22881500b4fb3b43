"""Pieces that modules of witnesses are built of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tvm
from tvm import relax

op = relax.op
Body = Callable[..., relax.Expr]

X = np.array([[0.5, -2.0, 3.0], [1.5, 5.0, -0.25]], "float32")
INTS = np.array([[1, 5, -7], [9, 3, 2]], "int32")


def tensor(*shape: int, dtype: str = "float32") -> relax.TensorType:
    return relax.TensorType(shape, dtype)


def module(
    body: Body,
    *types: relax.Type,
    dataflow: bool = True,
    attrs: dict[str, Any] | None = None,
) -> tvm.IRModule:
    """A module with the function main; `body` is given the builder and the parameters."""
    builder = relax.BlockBuilder()
    params = [relax.Var(f"x{i}", ty) for i, ty in enumerate(types)]
    with builder.function("main", params, attrs=attrs):
        if dataflow:
            with builder.dataflow():
                result = builder.emit_output(body(builder, *params))
        else:
            result = builder.emit(body(builder, *params))
        builder.emit_func_output(result)
    return builder.get()


def const(value: Any, dtype: str = "float32") -> relax.Expr:
    return relax.const(np.array(value, dtype), dtype)


def of(build: Callable[[relax.Expr], relax.Expr]) -> Body:
    """A body from a function of the parameters only; inner calls are bound to variables."""
    return lambda b, *xs: build(*xs)


def private_calls(count: int) -> tvm.IRModule:
    """A module whose main calls a private function so often."""
    builder = relax.BlockBuilder()
    x, y = relax.Var("x", tensor(2, 3)), relax.Var("y", tensor(2, 3))
    with builder.function("f", [x], private=True):
        with builder.dataflow():
            result = builder.emit_output(op.exp(x))
        callee = builder.emit_func_output(result)
    with builder.function("main", [y]):
        with builder.dataflow():
            value: relax.Expr = y
            for _ in range(count):
                value = builder.emit(relax.Call(callee, [value]))
            result = builder.emit_output(value)
        builder.emit_func_output(result)
    return builder.get()


def of_args(body: Body, *args: Any) -> tvm.IRModule:
    """A module whose main takes tensors like these."""
    return module(body, *(tensor(*arg.shape, dtype=str(arg.dtype)) for arg in args))
