"""Helpers that the builders of models share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tvm
from tvm import relax, tirx

from ...compat import ir

F16, F32, I8, I32, I64 = "float16", "float32", "int8", "int32", "int64"


def size(name: str) -> Any:
    """A dimension that is known only when the model runs."""
    return tirx.Var(name, "int64")


def tensor(name: str, shape: Sequence[Any], dtype: str = F32) -> relax.Var:
    """A parameter."""
    return relax.Var(name, relax.TensorType(shape, dtype))


def weights(shapes: dict[str, Sequence[int]], dtype: str = F32) -> list[relax.Var]:
    """Parameters of one dtype, by name."""
    return [tensor(name, shape, dtype) for name, shape in shapes.items()]


def const(value: Any, dtype: str = F32) -> Any:
    """A constant, as importers make them of parameters and numbers."""
    return relax.const(np.asarray(value, dtype), dtype)


def parameters(shape: Sequence[int], dtype: str = F32, seed: int = 0) -> Any:
    """A constant of numbers that look trained."""
    return const(np.random.default_rng(seed).normal(size=tuple(shape)), dtype)


def linear(x: Any, weight: Any) -> Any:
    """A product with a weight of shape (out, in), as `nn.Linear` stores it."""
    return relax.op.matmul(x, relax.op.permute_dims(weight))


def add_function(
    bb: relax.BlockBuilder,
    name: str,
    params: Sequence[relax.Var],
    body: Callable[[], Any],
    *,
    inputs: int | None = None,
    dataflow: bool = True,
) -> None:
    """Add a function whose bindings `body` emits, and whose result `body` returns.

    Args:
        inputs: the number of parameters that are not weights.
        dataflow: the bindings are in a dataflow block. Otherwise the function is impure.
    """
    attrs = None if inputs is None else {"num_input": inputs}
    with bb.function(name, list(params), attrs, pure=dataflow):
        if dataflow:
            with bb.dataflow():
                result = bb.emit_output(body())
        else:
            result = body()
        bb.emit_func_output(result)


def module(
    params: Sequence[relax.Var],
    body: Callable[[relax.BlockBuilder], Any],
    *,
    name: str = "main",
    inputs: int | None = None,
    dataflow: bool = True,
) -> tvm.IRModule:
    """A module of one function, see `add_function`."""
    bb = relax.BlockBuilder()
    add_function(bb, name, params, lambda: body(bb), inputs=inputs, dataflow=dataflow)
    return bb.finalize()


def virtual_device(target: str, number: int) -> Any:
    """A device that values of a module may be on."""
    return ir.VDevice(target, number, "global")
