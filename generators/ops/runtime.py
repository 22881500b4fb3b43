"""Operators about the tensor as an object: shapes, views, markers that passes look for."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tvm_ffi
from tvm import relax

from ...compat import ir
from ...compat.ops import registered, relax_op
from ..choices import Choices
from ..scope import Scope
from ..values import Dim
from .operands import nonempty_tensor
from .record import ALL, FLOATS, Op

__all__ = ["OPS"]


def _identity(
    name: str,
    call: Callable[[relax.Expr], relax.Expr],
    dtypes: tuple[str, ...] = ALL,
    **others: Any,
) -> Op:
    return Op(
        name=name,
        build=lambda c, s: call(s.tensor(c, dtype=dtypes).expr),
        reference=lambda args, attrs: args[0],
        dtypes=dtypes,
        nonfinite=True,
        **others,
    )


def _build_shape_to_tensor(c: Choices, s: Scope) -> relax.Expr:
    return relax_op.shape_to_tensor(s.shape_expr(c, s.shape(c, c.pick((2, 1, 3)))))


def _build_tensor_to_shape(c: Choices, s: Scope) -> relax.Expr:
    size, constant = c.pick((2, 1, 3)), c.flag()
    dtype = c.pick(("int64", "int64", "int64", "int32"))
    if constant:
        return relax_op.tensor_to_shape(s.constant(c, (size,), dtype, low=1, high=3).expr)
    return relax_op.tensor_to_shape(s.tensor(c, dtype=dtype, shape=(size,)).expr)


WIDTH = {"float32": 4, "int32": 4, "float16": 2, "int8": 1, "uint8": 1, "int64": 8, "float64": 8}

OF_BYTES = ("int8", "uint8", "int32", "int64")
"""Dtypes to view any tensor's bytes as; viewed as floats, they might be NaN or too small."""


def _build_view(c: Choices, s: Scope) -> relax.Expr:
    """A view whose operands may be absent, inline or variables, with static or symbolic numbers.

    Built from the node, because `relax.op.memory.view` makes operands that are not leaves.
    """
    x = nonempty_tensor(c, s, tuple(WIDTH))
    assert x.shape is not None
    assert x.dtype is not None
    size, row = (_product(dims) for dims in (x.shape, x.shape[1:]))
    kind, offset = c.below(5), relax.Tuple([])
    target: list[Dim] = [size] if kind == 0 else [1, size] if kind == 1 else list(x.shape)
    first = x.shape[0]
    if kind == 2 and isinstance(first, int) and first > 1:
        target[0] = first - 1
        offset = _in_place_or_bound(c, s, relax.prim_value(row * WIDTH[x.dtype]))
    elif kind == 3:
        target.reverse()
    dtype, times = _viewed_as(c, s, x.dtype)
    if times > 1 and c.flag():
        target[-1] = target[-1] * times
    elif kind == 4 and isinstance(size, int) and size > 1:
        return _view_of(x.expr, relax.Tuple([]), dtype, offset)
    return _view_of(x.expr, s.shape_expr(c, target), dtype, offset)


def _view_of(*operands: relax.Expr) -> relax.Call:
    return relax.Call(registered("relax.memory.view"), list(operands))


def _product(dims: Sequence[Dim]) -> Dim:
    return functools.reduce(operator.mul, dims, 1)


def _viewed_as(c: Choices, s: Scope, dtype: str) -> tuple[relax.Expr, int]:
    """The operand for a dtype, and the number of its elements in one element of the tensor."""
    kind = c.below(8)
    if kind < 4:
        return relax.Tuple([]), 1
    if kind == 4:
        return s.bind(relax_op.null_value()), 1
    to = c.pick([each for each in (dtype, *OF_BYTES) if WIDTH[each] <= WIDTH[dtype]])
    constant = ir.dtype_constant(tvm_ffi.dtype(to))
    return _in_place_or_bound(c, s, constant), WIDTH[dtype] // WIDTH[to]


def _in_place_or_bound(c: Choices, s: Scope, value: relax.Expr) -> relax.Expr:
    return s.bind(value) if c.flag(0.3) else value


def _view(args: Sequence[Any], attrs: Any) -> Any:
    """The same bytes from an offset on, under another shape and dtype."""
    x, shape, dtype, offset = args
    if shape == ():
        if x.size == 1:
            raise ValueError("no shape, or that of rank 0")
        shape = x.shape
    data = np.ascontiguousarray(x).reshape(-1).view("uint8")
    to = x.dtype if dtype in ((), None) else np.dtype(str(dtype))
    start = 0 if offset == () else int(offset)
    end = start + int(np.prod(shape)) * to.itemsize
    return data[start:end].view(to).reshape(shape)


def _checkpoint(name: str, call: Callable[[relax.Expr], relax.Expr]) -> Op:
    def build(c: Choices, s: Scope) -> relax.Expr:
        # The operand must be and stay a variable; passes replace other variables by constants.
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
        interchangeable=True,
        dtypes=ALL,
        nonfinite=True,
        legalizes=False,
        lowered_by="LowerRuntimeBuiltin",
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
        interchangeable=True,
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
    ),
    Op(
        name="memory.view",
        build=_build_view,
        reference=_view,
        views=True,
        dtypes=tuple(WIDTH),
        nonfinite=True,
        legalizes=False,
        lowered_by="LowerRuntimeBuiltin",
    ),
    _identity(
        "memory.ensure_zero_offset",
        relax_op.memory.ensure_zero_offset,
        views=True,
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
