"""Operators about the tensor as an object: shapes, views, markers that passes look for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from tvm import relax

from ...compat.ops import registered, relax_op
from ..choices import Choices
from ..scope import Scope
from . import batching
from .operands import ints, nonempty_tensor
from .record import ALL, FLOATS, Op

__all__ = ["OPS"]


def _identity(
    name: str,
    call: Callable[[relax.Expr], relax.Expr],
    *,
    dtypes: tuple[str, ...] = ALL,
    legalizes: bool = True,
    lowered_by: str | None = None,
    executes: bool = True,
) -> Op:
    return Op(
        name=name,
        build=lambda c, s: call(s.tensor(c, dtype=dtypes).expr),
        reference=lambda args, attrs: args[0],
        dtypes=dtypes,
        nonfinite=True,
        legalizes=legalizes,
        lowered_by=lowered_by,
        executes=executes,
    )


def _build_shape_to_tensor(c: Choices, s: Scope) -> relax.Expr:
    return relax_op.shape_to_tensor(s.shape_expr(c, s.shape(c, c.pick((2, 1, 3)))))


def _build_tensor_to_shape(c: Choices, s: Scope) -> relax.Expr:
    size = c.pick((2, 1, 3))
    if c.flag():
        return relax_op.tensor_to_shape(s.constant(c, (size,), "int64", low=1, high=3).expr)
    return relax_op.tensor_to_shape(s.tensor(c, dtype="int64", shape=(size,)).expr)


WIDTH = {"float32": 4, "int32": 4, "float16": 2, "int8": 1, "uint8": 1, "int64": 8, "float64": 8}


def _build_view(c: Choices, s: Scope) -> relax.Expr:
    """Built from the node: `relax.op.memory.view` makes operands that are no leaves."""
    x = nonempty_tensor(c, s, tuple(WIDTH), static=True)
    assert x.dtype is not None
    shape = ints(x.shape)
    size = int(np.prod(shape))
    kind = c.below(4)
    offset: relax.Expr = relax.Tuple([])
    target: tuple[int, ...] = (size,) if kind == 0 else (1, size)
    if kind == 2 and shape[0] > 1:
        offset = relax.prim_value(size // shape[0] * WIDTH[x.dtype])
        target = (shape[0] - 1, *shape[1:])
    as_before = kind == 3 and size > 1
    new = relax.Tuple([]) if as_before else s.shape_expr(c, target)
    return relax.Call(registered("relax.memory.view"), [x.expr, new, relax.Tuple([]), offset])


def _view(args: Sequence[Any], attrs: Any) -> Any:
    """The same bytes from an offset on, under another shape."""
    x, shape, dtype, offset = args
    if dtype != ():
        raise ValueError(f"a view as {dtype}")
    if shape == ():
        if x.size == 1:
            raise ValueError("no shape, or that of rank 0")
        shape = x.shape
    flat = np.ascontiguousarray(x).reshape(-1)
    start = 0 if offset == () else int(offset) // x.dtype.itemsize
    return flat[start : start + int(np.prod(shape))].reshape(shape)


def _checkpoint(name: str, call: Callable[[relax.Expr], relax.Expr]) -> Op:
    def build(c: Choices, s: Scope) -> relax.Expr:
        # The operand must be a variable, and must stay one: passes put constants for others.
        return call(s.emit(relax_op.negative(s.tensor(c, dtype=FLOATS).expr)).expr)

    return Op(
        name=name,
        build=build,
        reference=lambda args, attrs: args[0],
        dtypes=FLOATS,
        nonfinite=True,
    )


OPS = (
    Op(
        name="shape_of",
        build=lambda c, s: relax_op.shape_of(s.tensor(c, dtype=ALL, complete=False).expr),
        reference=lambda args, attrs: tuple(int(dim) for dim in args[0].shape),
        dtypes=ALL,
        nonfinite=True,
        legalizes=False,
        lowered_by="LowerRuntimeBuiltin",
        batching=batching.independent,
    ),
    Op(
        name="shape_to_tensor",
        build=_build_shape_to_tensor,
        reference=lambda args, attrs: np.asarray(args[0], "int64"),
        dtypes=("int64",),
    ),
    Op(
        name="tensor_to_shape",
        build=_build_tensor_to_shape,
        reference=lambda args, attrs: tuple(int(dim) for dim in args[0]),
        dtypes=("int64",),
        legalizes=False,
        lowered_by="LowerRuntimeBuiltin",
    ),
    Op(
        name="size",
        build=lambda c, s: relax_op.size(s.tensor(c, dtype=ALL, complete=False).expr),
        reference=lambda args, attrs: np.asarray(args[0].size, "int64"),
        dtypes=ALL,
        nonfinite=True,
        batching=batching.independent,
    ),
    Op(
        name="memory.view",
        build=_build_view,
        reference=_view,
        dtypes=tuple(WIDTH),
        nonfinite=True,
        legalizes=False,
        lowered_by="LowerRuntimeBuiltin",
    ),
    _identity(
        "memory.ensure_zero_offset",
        relax_op.memory.ensure_zero_offset,
        legalizes=False,
        lowered_by="LowerRuntimeBuiltin",
    ),
    _identity(
        "builtin.stop_lift_params",
        relax_op.builtin.stop_lift_params,
        legalizes=False,
        lowered_by="LiftTransformParams",
        executes=False,
    ),
    _identity("grad.no_grad", relax_op.grad.no_grad, dtypes=FLOATS),
    _checkpoint("grad.start_checkpoint", relax_op.grad.start_checkpoint),
    _checkpoint("grad.end_checkpoint", relax_op.grad.end_checkpoint),
)
