"""Values in scope for the parameters of a piece, including values that nearly fit."""

from __future__ import annotations

from tvm import relax

from ....compat.ops import relax_op
from ...choices import Choices
from ...scope import DTYPES, Scope
from ...values import Dim, Value, broadcasts, dims_of, same_shape, static_size

NEARLY = 8
"""The number of latest nearly fitting values to choose from."""


def glued(c: Choices, s: Scope, ty: relax.TensorType) -> relax.Expr | None:
    """A value in scope, reshaped or broadcast and cast as needed to have the type; None if no value
    can have it.
    """
    if ty.vdevice is not None or not isinstance(ty.shape, relax.ShapeExpr):
        return None
    shape, dtype = dims_of(ty.shape), str(ty.dtype)
    found: list[tuple[Value, bool]] = []
    for value in reversed(s.values):
        if dtype not in DTYPES or value.dtype not in DTYPES or value.vdevice is not None:
            continue
        same = value.shape is not None and same_shape(value.shape, shape)
        if (same and value.dtype != dtype) or (not same and _becomes(value.shape, shape)):
            found.append((value, same))
    if not found:
        return None
    value, same = c.pick(found[:NEARLY])
    expr = value.expr
    if not same:
        joint = relax_op.broadcast_to if _spreads(value.shape, shape) else relax_op.reshape
        expr = s.emit(joint(expr, ty.shape)).expr
    return expr if value.dtype == dtype else s.emit(relax_op.astype(expr, dtype)).expr


def _becomes(old: tuple[Dim, ...] | None, new: tuple[Dim, ...]) -> bool:
    """True if a tensor of the old shape can be converted to the new shape."""
    if old is None:
        return False
    size = static_size(old)
    return _spreads(old, new) or (size is not None and size == static_size(new) and size > 0)


def _spreads(old: tuple[Dim, ...] | None, new: tuple[Dim, ...]) -> bool:
    """True if the old shape broadcasts to the new one."""
    if old is None or len(old) > len(new) or not broadcasts(old, new):
        return False
    last = new[len(new) - len(old) :]
    return all(a == b for a, b in zip(old, last, strict=True) if isinstance(b, int) and b == 1)
