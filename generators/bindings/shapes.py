"""Shapes as values: their sources, and uses of a variable in place of a literal shape."""

from __future__ import annotations

import functools
import operator as operators
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from tvm import relax

from ...compat.ops import registered, relax_op
from .. import tensorir
from ..choices import Choices
from ..ops.operands import positive
from ..ops.record import ALL
from ..scope import DEFAULT_DTYPE, Scope
from ..traits import Trait
from ..values import Dim, Value, dims_of
from .kind import Callees, Ops


@dataclass(frozen=True, slots=True)
class Shape:
    """A shape in a variable."""

    var: relax.Var
    dims: tuple[Dim, ...] | None
    """The dims; None if the type knows the rank at most."""
    origin: Value | None = None
    """A tensor of this shape."""
    literal: bool = False
    """True if the variable is bound to a ShapeExpr."""

    @property
    def expr(self) -> relax.Expr:
        """The shape as a type may use it: not a DataflowVar, which ends with its block."""
        if isinstance(self.var, relax.DataflowVar) and self.dims is not None:
            return relax.ShapeExpr(list(self.dims))
        return self.var


def shape_value(c: Choices, s: Scope, ops: Ops, callees: Callees) -> None:
    """A shape in a variable, and one or two bindings that take it."""
    exporting, s.exporting = s.exporting, s.exporting or c.flag(0.7)
    shape = c.pick(_SOURCES)(c, s)
    if s.has(Trait.MATCH_CAST) and c.flag(0.7 if shape.dims is None else 0.3):
        shape = _found_out(c, s, shape)
    s.exporting = exporting
    for _ in range(1 + c.flag(0.4)):
        c.pick(_USES if shape.dims is not None else _USES_OF_UNKNOWN)(c, s, shape)


def _shape(var: relax.Var, origin: Value | None = None, *, literal: bool = False) -> Shape:
    if var.ty.values is None:
        return Shape(var, None, origin)
    return Shape(var, dims_of(var.ty), origin, literal)


# Sources of shapes


def _of_tensor(c: Choices, s: Scope) -> Shape:
    x = s.tensor(c, dtype=ALL, complete=False)
    return _shape(s.bind(relax_op.shape_of(x.expr)), x)


def _literal(c: Choices, s: Scope) -> Shape:
    dims = s.shape_expr(c, positive(s.shape(c, c.pick((2, 1, 3)))))
    return _shape(s.bind(dims), literal=True)


def _of_data(c: Choices, s: Scope) -> Shape:
    """The elements of a tensor as a shape: a constant, or a tensor that holds a tensor's shape."""
    if c.flag():
        x = s.tensor(c, dtype=ALL, ndim=(2, 1, 3))
        data = s.emit(relax_op.shape_to_tensor(s.bind(relax_op.shape_of(x.expr))))
        return _shape(s.bind(relax_op.tensor_to_shape(data.expr)), x)
    data = s.constant(c, (c.pick((2, 1, 3)),), c.pick(("int64", "int64", "int32")), low=1)
    return _shape(s.bind(relax_op.tensor_to_shape(data.expr)))


def _given(c: Choices, s: Scope) -> Shape:
    """A parameter; for half of these, only the rank is known."""
    rank = c.pick((2, 1, 3))
    dims = positive(s.shape(c, rank))
    ty = relax.ShapeType(ndim=rank) if c.flag() else relax.ShapeType(list(dims))
    var = s.param(ty, "shape")
    s.shapes.append(var)
    return _shape(var)


def _in_scope(c: Choices, s: Scope) -> Shape:
    return _shape(c.pick(s.shapes)) if s.shapes else _of_tensor(c, s)


_SOURCES: tuple[Callable[[Choices, Scope], Shape], ...] = (
    _of_tensor,
    _literal,
    _of_data,
    _given,
    _in_scope,
)


def fresh_dims(c: Choices, s: Scope, dims: Sequence[Dim | None], chance: float = 0.6) -> list[Dim]:
    """These dims, with unknown ones and some others replaced by variables for a match_cast."""
    return [s.fresh_dim(dim) if dim is None or c.flag(chance) else dim for dim in dims]


def _found_out(c: Choices, s: Scope, shape: Shape) -> Shape:
    """The shape after a match_cast to fresh symbolic variables."""
    rank = shape.var.ty.ndim
    if rank < 0:
        return shape
    dims = fresh_dims(c, s, shape.dims or (None,) * rank)
    return _shape(s.match_cast(shape.var, relax.ShapeType(dims)), shape.origin)


# Uses of shapes


def _filled(c: Choices, s: Scope, shape: Shape) -> None:
    dtype = c.pick(s.dtypes)
    kind = c.below(3)
    if kind == 2:
        result = s.emit(relax_op.full(shape.expr, relax.const(1, dtype)))
    else:
        result = s.emit((relax_op.ones if kind else relax_op.zeros)(shape.expr, dtype))
    _narrowed(c, s, shape, result)


def _broadcast(c: Choices, s: Scope, shape: Shape) -> None:
    known = shape.dims or ()
    x = s.tensor(c, dtype=s.dtypes, shape=known[c.below(len(known) + 1) :])
    _narrowed(c, s, shape, s.emit(relax_op.broadcast_to(x.expr, shape.expr)))


def _narrowed(c: Choices, s: Scope, shape: Shape, result: Value) -> None:
    """Sometimes bind a match_cast that gives dims to a result whose shape is only a variable."""
    if result.shape is not None or result.ndim < 0 or not s.has(Trait.MATCH_CAST) or c.flag(0.3):
        return
    dims = fresh_dims(c, s, shape.dims or (None,) * result.ndim)
    s.match_cast(result.expr, relax.TensorType(relax.ShapeExpr(dims), result.dtype))


def _flat(c: Choices, s: Scope, shape: Shape) -> relax.Expr:
    """All elements of a tensor of this shape, in one row."""
    assert shape.dims is not None
    x = s.tensor(c, dtype=s.dtypes, shape=shape.dims)
    product = functools.reduce(operators.mul, shape.dims, 1)
    return s.emit(relax_op.reshape(x.expr, relax.ShapeExpr([product]))).expr


def _reshaped(c: Choices, s: Scope, shape: Shape) -> None:
    if shape.dims is None:
        if shape.origin is None:
            _filled(c, s, shape)
            return
        result = s.emit(relax_op.reshape(shape.origin.expr, shape.expr))
        _narrowed(c, s, shape, result)
    elif 0 in _static(shape.dims):  # a 0 stands for the dim of the operand
        _broadcast(c, s, shape)
    else:
        # LegalizeOps of TVM 0.27 crashes on a variable that is not bound to a ShapeExpr.
        by_name = shape.literal or c.flag(0.1)
        to = shape.var if by_name else relax.ShapeExpr(list(shape.dims))
        s.emit(relax_op.reshape(_flat(c, s, shape), to))


def _static(dims: tuple[Dim, ...]) -> list[int]:
    return [dim for dim in dims if isinstance(dim, int)]


def _viewed(c: Choices, s: Scope, shape: Shape) -> None:
    if shape.dims is not None and 0 not in _static(shape.dims):
        x = _flat(c, s, shape)
    elif shape.origin is not None:
        x = shape.origin.expr
    else:
        _filled(c, s, shape)
        return
    none = relax.Tuple([])
    s.emit(relax.Call(registered("relax.memory.view"), [x, shape.var, none, none]))


def _as_tensor(c: Choices, s: Scope, shape: Shape) -> None:
    if shape.var.ty.ndim < 0:
        _filled(c, s, shape)
    else:
        s.emit(relax_op.shape_to_tensor(shape.var))


def _sliced(c: Choices, s: Scope, shape: Shape) -> None:
    """A slice that is the whole tensor, with ends that are computed at run time."""
    rank = shape.var.ty.ndim
    if rank < 1 or shape.dims is None:
        _as_tensor(c, s, shape)
        return
    x = s.tensor(c, dtype=s.dtypes, shape=shape.dims)
    ends = s.emit(relax_op.shape_to_tensor(shape.var))
    begin, strides = (relax.const(np.full(rank, value, "int64"), "int64") for value in (0, 1))
    s.emit(relax_op.dynamic_strided_slice(x.expr, begin, ends.expr, strides))


def _cut(c: Choices, s: Scope, shape: Shape) -> None:
    """A slice up to one of the dims."""
    assert shape.dims is not None
    x = s.tensor(c, dtype=s.dtypes, ndim=(2, 1, 3), static=True)
    s.emit(relax_op.strided_slice(x.expr, [0], [0], [c.pick((*shape.dims, 2))]))


def _sized(c: Choices, s: Scope, shape: Shape) -> None:
    """A tensor that has one of the shape's dims."""
    assert shape.dims is not None
    dims = [c.pick((*shape.dims, 2)), c.pick((2, 3))]
    s.emit(relax_op.zeros(relax.ShapeExpr(dims), c.pick(s.dtypes)))


def _repeated(c: Choices, s: Scope, shape: Shape) -> None:
    """A TensorIR call whose output has a dim that no operand has."""
    assert shape.dims is not None
    if not s.has(Trait.CALL_TIR):
        _sized(c, s, shape)
        return
    x = s.tensor(c, dtype=(DEFAULT_DTYPE, "int64"), ndim=(1, 2, 3))
    func = tensorir.prim_func(tensorir.REPEATED, x.shape or (), x.dtype or "")
    gvar = s.module.add(tensorir.REPEATED.name, func)
    dims = [c.pick((*shape.dims, 2)), *(x.shape or ())]
    s.emit(relax.call_tir(gvar, (x.expr,), relax.TensorType(relax.ShapeExpr(dims), x.dtype)))


def _packed(c: Choices, s: Scope, shape: Shape) -> None:
    """A call of a packed function on the shape; only its `ty_args` have the dims."""
    if shape.dims is None or 0 in _static(shape.dims) or not s.has(Trait.CALL_PACKED):
        _as_tensor(c, s, shape)
        return
    x = _flat(c, s, shape)
    ty = relax.TensorType(relax.ShapeExpr(list(shape.dims)), x.ty.dtype)
    s.emit(relax_op.call_pure_packed("vm.builtin.reshape", x, shape.var, ty_args=[ty]))


def _cast_to(c: Choices, s: Scope, shape: Shape) -> None:
    """A match_cast to a type whose shape is the variable."""
    x = shape.origin
    # VMShapeLower of TVM 0.27 refuses a shape that is a variable.
    local = isinstance(shape.var, relax.DataflowVar)
    if x is None or local or not s.has(Trait.MATCH_CAST) or not c.flag(0.3):
        _filled(c, s, shape)
        return
    s.match_cast(x.expr, relax.TensorType(shape.var, x.dtype or ""))


_USES_OF_UNKNOWN: tuple[Callable[[Choices, Scope, Shape], None], ...] = (
    _filled,
    _broadcast,
    _reshaped,
    _viewed,
    _as_tensor,
    _cast_to,
)

_USES: tuple[Callable[[Choices, Scope, Shape], None], ...] = (
    _filled,
    _broadcast,
    _reshaped,
    _viewed,
    _as_tensor,
    _sliced,
    _cut,
    _sized,
    _repeated,
    _packed,
    _cast_to,
)


def shape_argument(c: Choices, s: Scope, dims: list[Dim]) -> relax.Expr:
    """A shape of these dims for a function that takes one: literal, or in a variable."""
    literal = relax.ShapeExpr(dims)
    return s.bind(literal) if s.has(Trait.SHAPE_VALUES) and c.flag() else literal
