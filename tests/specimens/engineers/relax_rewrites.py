"""Rewriting of operators on tensors, with one mistake each."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tvm
from helpers import same_type, static_shape, updates_in_place
from tvm import relax, tirx
from tvm.relax.dpl import is_op, rewrite_call, wildcard

Constant = type(relax.const(0))
FLOATS = ("float16", "bfloat16", "float32", "float64")


@relax.expr_functor.mutator
class Rewriter(relax.PyExprMutator):  # type: ignore[misc]  # TVM has no types
    """Each call of an operator becomes what `rewrite` makes of it, unless that is None."""

    def __init__(self, mod: tvm.IRModule, rewrite: Callable[[Any, Any], Any]) -> None:
        super().__init__(mod)
        self.rewrite = rewrite

    def operand(self, call: relax.Call, *names: str) -> relax.Call | None:
        """The call of one of these operators that the first operand is bound to."""
        var = call.args[0]
        value = self.lookup_binding(var) if isinstance(var, relax.Var) else None
        if value is None or not is_call(value, *names):
            return None
        escapes = not isinstance(var, relax.DataflowVar)
        if escapes and any(isinstance(arg, relax.DataflowVar) for arg in value.args):
            return None
        return value

    def visit_call_(self, call: relax.Call) -> relax.Expr:
        call = self.visit_expr_post_order(call)
        new = self.rewrite(self, call) if isinstance(call.op, tvm.ir.Op) else None
        return call if new is None else new


def rewriting(name: str, rewrite: Callable[[Any, Any], Any]) -> tvm.transform.Pass:
    """A pass that rewrites calls of operators."""

    def transform(mod: tvm.IRModule, context: object) -> tvm.IRModule:
        if updates_in_place(mod):
            return mod
        functions = {}
        for gvar, func in mod.functions_items():
            is_relax = isinstance(func, relax.Function)
            functions[gvar] = Rewriter(mod, rewrite).visit_expr(func) if is_relax else func
        return tvm.IRModule(functions, attrs=mod.attrs, global_infos=mod.global_infos)

    return tvm.transform.module_pass(transform, opt_level=0, name=name)


def is_call(expr: Any, *names: str) -> bool:
    """A call of one of these operators."""
    if not isinstance(expr, relax.Call) or not isinstance(expr.op, tvm.ir.Op):
        return False
    return expr.op.name in names


def merge_pads() -> tvm.transform.Pass:
    """The padding of a padded tensor is added to it even where the two fill in different values."""

    def merged(m: Any, call: relax.Call) -> relax.Expr | None:
        if not is_call(call, "relax.nn.pad"):
            return None
        inner = m.operand(call, "relax.nn.pad")
        if inner is None or {inner.attrs.pad_mode, call.attrs.pad_mode} != {"constant"}:
            return None
        pairs = zip(inner.attrs.pad_width, call.attrs.pad_width, strict=True)
        widths = [int(a) + int(b) for a, b in pairs]
        return relax.op.nn.pad(inner.args[0], widths, "constant", call.attrs.pad_value)

    return rewriting("MergePads", merged)


REDUCTIONS = {f"relax.{name}": getattr(relax.op, name) for name in ("sum", "max", "min", "mean")}


def keepdims_for_expand_dims() -> tvm.transform.Pass:
    """A negative axis of expand_dims is counted from the rank of its operand, not of its result."""

    def kept(m: Any, call: relax.Call) -> relax.Expr | None:
        if not is_call(call, "relax.expand_dims"):
            return None
        inner = m.operand(call, *REDUCTIONS)
        if inner is None or inner.attrs.axis is None or inner.attrs.keepdims:
            return None
        before, after = inner.args[0].ty.ndim, inner.ty.ndim
        if before < 0 or after < 0:
            return None
        reduced = [counted(int(axis), before) for axis in inner.attrs.axis]
        inserted = [counted(int(axis), after) for axis in call.attrs.axis]
        if sorted(reduced) != sorted(inserted):
            return None
        return REDUCTIONS[inner.op.name](inner.args[0], reduced, keepdims=True)

    return rewriting("KeepdimsForExpandDims", kept)


def counted(axis: int, rank: int) -> int:
    """The axis from the front."""
    return axis + rank if axis < 0 else axis


def split_to_slices() -> tvm.transform.Pass:
    """An extent that the number of pieces does not divide gives pieces that are too short."""

    def sliced(m: Any, call: relax.Call) -> relax.Expr | None:
        if not is_call(call, "relax.split"):
            return None
        x, shape = call.args[0], static_shape(call.args[0])
        if shape is None or not isinstance(call.ty, relax.TupleType):
            return None  # a single piece is no tuple
        axis = counted(int(call.attrs.axis), len(shape))
        parts = call.attrs.indices_or_sections
        if isinstance(parts, tirx.IntImm | int):
            size = shape[axis] // int(parts)
            ends = [size * (i + 1) for i in range(int(parts) - 1)]
        else:
            ends = [int(end) for end in parts]
            if ends != sorted(ends) or not all(0 <= end <= shape[axis] for end in ends):
                return None
        pairs = zip([0, *ends], [*ends, shape[axis]], strict=True)
        slices = [relax.op.strided_slice(x, [axis], [begin], [end]) for begin, end in pairs]
        return relax.Tuple([m.builder_.emit(piece) for piece in slices])

    return rewriting("SplitToSlices", sliced)


def drop_abs_of_square() -> tvm.transform.Pass:
    """The square of an integer that overflows is negative, and its abs is dropped all the same."""

    def dropped(m: Any, call: relax.Call) -> relax.Expr | None:
        if not is_call(call, "relax.abs") or not same_type(call, call.args[0]):
            return None
        inner = m.operand(call, "relax.square", "relax.multiply")
        if inner is None or not inner.args[0].same_as(inner.args[-1]):
            return None
        return call.args[0]

    return rewriting("DropAbsOfSquare", dropped)


def transpose_of_matmul() -> tvm.transform.Pass:
    """The transpose of a product of batches of matrices is taken for that of a single one."""

    def swapped(m: Any, call: relax.Call) -> relax.Expr | None:
        if not is_call(call, "relax.permute_dims") or not reverses(call.attrs.axes):
            return None
        inner = m.operand(call, "relax.matmul")
        if inner is None:
            return None
        a, b = (m.builder_.emit(relax.op.permute_dims(arg)) for arg in inner.args)
        return relax.op.matmul(b, a, out_dtype=inner.attrs.out_dtype)

    def reverses(axes: Sequence[int] | None) -> bool:
        return axes is None or [int(axis) for axis in axes] == list(range(len(axes)))[::-1]

    return rewriting("TransposeOfMatmul", swapped)


def abs_from_maximum() -> tvm.transform.Pass:
    """The maximum of a tensor and the negative of another one is taken for an absolute value."""
    x, y = wildcard(), wildcard()
    pattern = is_op("relax.maximum")(x, is_op("relax.negative")(y))

    def rewriter(expr: relax.Expr, found: Any) -> relax.Expr:
        ty = expr.ty
        if not isinstance(ty, relax.TensorType) or str(ty.dtype) not in FLOATS:
            return expr
        return relax.op.abs(found[x])

    def transform(mod: tvm.IRModule, context: object) -> tvm.IRModule:
        if updates_in_place(mod):
            return mod
        functions = dict(mod.functions_items())
        for gvar, func in functions.items():
            if isinstance(func, relax.Function):
                functions[gvar] = rewrite_call(pattern, rewriter, func)
        return tvm.IRModule(functions, attrs=mod.attrs, global_infos=mod.global_infos)

    return tvm.transform.module_pass(transform, opt_level=0, name="AbsFromMaximum")


def fold_constant_sums() -> tvm.transform.Pass:
    """The sum of a constant of small integers gets the wider dtype in which NumPy adds up."""

    def folded(m: Any, call: relax.Call) -> relax.Expr | None:
        if not is_call(call, "relax.sum") or not isinstance(call.args[0], Constant):
            return None
        operand = call.args[0]
        if operand.ty.vdevice is not None or math.prod(static_shape(operand) or ()) > 1024:
            return None
        axes = call.attrs.axis
        axis = None if axes is None else tuple(int(axis) for axis in axes)
        total = np.sum(operand.value.numpy(), axis=axis, keepdims=bool(call.attrs.keepdims))
        return relax.const(np.asarray(total), str(total.dtype))

    return rewriting("FoldConstantSums", folded)


def drop_noop_broadcast() -> tvm.transform.Pass:
    """A symbolic dimension of one shape is taken to be equal to any dimension of the other."""

    def dropped(m: Any, call: relax.Call) -> relax.Expr | None:
        if not is_call(call, "relax.broadcast_to"):
            return None
        x, target = call.args
        shape = x.ty.shape
        if not isinstance(shape, relax.ShapeExpr) or not isinstance(target, relax.ShapeExpr):
            return None
        if len(shape.values) != len(target.values):
            return None
        for old, new in zip(shape.values, target.values, strict=True):
            known = isinstance(old, tirx.IntImm) and isinstance(new, tirx.IntImm)
            if known and int(old) != int(new):
                return None
        return x

    return rewriting("DropNoopBroadcast", dropped)


def lower_rsqrt() -> tvm.transform.Pass:
    """The one that is divided by a root is float32, whatever the dtype of the root."""

    def lowered(m: Any, call: relax.Call) -> relax.Expr | None:
        if not is_call(call, "relax.rsqrt"):
            return None
        root = m.builder_.emit(relax.op.sqrt(call.args[0]))
        return relax.op.divide(relax.const(1.0, "float32"), root)

    return rewriting("LowerRsqrt", lowered)


def lean_sums_right() -> tvm.transform.Pass:
    """The inner sum of a + (b + c) is not looked at again: a second run goes on with it."""

    def leant(m: Any, call: relax.Call) -> relax.Expr | None:
        if not is_call(call, "relax.add") or not fits(call):
            return None
        inner = m.operand(call, "relax.add")
        if inner is None or not fits(inner):
            return None
        rest = m.builder_.emit(relax.op.add(inner.args[1], call.args[1]))
        return relax.op.add(inner.args[0], rest)

    def fits(call: relax.Call) -> bool:
        # sums of integers are exact in any order
        integers = isinstance(call.ty, relax.TensorType) and str(call.ty.dtype)[:3] in (
            "int",
            "uin",
        )
        return integers and all(static_shape(expr) is not None for expr in (call, *call.args))

    return rewriting("LeanSumsRight", leant)
