"""Faults of values that show only with a rare attribute, or where two operators meet."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import tvm
from tvm import relax, tirx

from relaxfuzz.compat import ir
from relaxfuzz.compat.ops import relax_op
from relaxfuzz.generators.stages import Stage
from relaxfuzz.oracles.inspect import op_name

from ..specimen import Family, Specimen, of
from .crossing import reusing
from .tools import (
    Emit,
    bound_values,
    made,
    on_blocks,
    on_functions,
    on_values,
    until_stable,
    writes_in_place,
)
from .values import FLOATS, dtype_of, visible

INTEGERS = ("int8", "int16", "int32", "int64", "uint8")

Definition = Callable[[relax.Expr, str], relax.Call | None]
"""The call of this operator that a variable is bound to, if its operands are visible here."""

Rewrite = Callable[[relax.Call, Definition, Emit], relax.Expr | None]


def _on_chains(name: str, op: str, rewrite: Rewrite) -> tvm.transform.Pass:
    """The result of `rewrite` in place of each call of an operator, until nothing changes."""

    def once(mod: tvm.IRModule) -> tvm.IRModule:
        values = bound_values(mod)

        def definition(var: relax.Expr, inner: str) -> relax.Call | None:
            value = values.get(var) if isinstance(var, relax.Var) else None
            if op_name(value) != inner:
                return None
            assert isinstance(value, relax.Call)
            return value if all(visible(arg, var) for arg in value.args) else None

        def change(var: relax.Var, value: relax.Expr, emit: Emit) -> relax.Expr | None:
            if op_name(value) != op:
                return None
            assert isinstance(value, relax.Call)
            return rewrite(value, definition, emit)

        return on_values(mod, change)

    stable = until_stable(once)
    return made(name, lambda mod: mod if writes_in_place(mod) else stable(mod))


def _dims(expr: relax.Expr) -> list[int] | None:
    """The dims of a tensor, where all of them are known."""
    shape = getattr(expr.ty, "shape", None)
    if not isinstance(shape, relax.ShapeExpr):
        return None
    dims = list(shape.values)
    return [int(d.value) for d in dims] if all(isinstance(d, tirx.IntImm) for d in dims) else None


def _integers(expr: relax.Expr) -> list[int] | None:
    """The numbers of a tuple of numbers."""
    if not isinstance(expr, relax.Tuple):
        return None
    numbers = [getattr(field, "value", None) for field in expr.fields]
    plain: list[Any] = [n if isinstance(n, int) else getattr(n, "value", None) for n in numbers]
    return plain if all(isinstance(n, int) for n in plain) else None


def axes_of(call: relax.Call) -> list[int]:
    """The axes of a `permute_dims`, from the front."""
    ndim = call.args[0].ty.ndim
    if call.attrs.axes is None:
        return list(reversed(range(ndim)))
    return [int(axis) % ndim for axis in call.attrs.axes]


# Products


def reassociates_identity_transposes() -> tvm.transform.Pass:
    """a (b c)^T becomes (a c^T) b^T, for matrices of integers."""

    def rewrite(call: relax.Call, definition: Definition, emit: Emit) -> relax.Expr | None:
        a = call.args[0]
        transposed = definition(call.args[1], "relax.permute_dims")
        if transposed is None or dtype_of(call) not in INTEGERS:
            return None
        product = definition(transposed.args[0], "relax.matmul")
        if product is None:
            return None
        b, c = product.args
        sizes = [_dims(each) for each in (a, b, c)]
        if any(size is None or len(size) != 2 for size in sizes):
            return None
        if {dtype_of(each) for each in (a, b, c, product)} != {dtype_of(call)}:
            return None
        (_, k), (m, _), (_, n) = (size for size in sizes if size is not None)
        if k != n or m != (_dims(call) or [0])[-1]:
            return None
        left = emit(relax_op.matmul(a, emit(relax_op.permute_dims(c, [1, 0]))))
        return relax_op.matmul(left, emit(relax_op.permute_dims(b, [1, 0])))

    return _on_chains("ReassociateTransposed", "relax.matmul", rewrite)


def combines_mixed_matmuls() -> tvm.transform.Pass:
    """Products of one matrix with several become one product."""

    def rewrite(block: relax.BindingBlock, bindings: list[relax.Binding]) -> list[relax.Binding]:
        if not isinstance(block, relax.DataflowBlock):
            return bindings
        at = {binding.var: i for i, binding in enumerate(bindings)}
        done, taken = list[relax.Binding](), dict[relax.Var, relax.Expr]()
        for i, binding in enumerate(bindings):
            if binding.var in taken:
                done.append(relax.VarBinding(binding.var, taken[binding.var]))
                continue
            group = [
                other
                for other in bindings[i:]
                if _parallel(binding, other) and at.get(other.value.args[1], -1) < i
            ]
            if len(group) > 1:
                before, parts = _combined([other.value for other in group])
                done += before
                taken |= {other.var: part for other, part in zip(group, parts, strict=True)}
                done.append(relax.VarBinding(binding.var, taken[binding.var]))
            else:
                done.append(binding)
        return done

    def transform(mod: tvm.IRModule) -> tvm.IRModule:
        if writes_in_place(mod):
            return mod
        return on_functions(mod, lambda func: on_blocks(func, rewrite))

    return made("CombineMatmuls", transform)


def _parallel(first: relax.Binding, other: relax.Binding) -> bool:
    """Both are products of the same matrix, and everything about them is known."""
    calls: list[Any] = [
        b.value if isinstance(b, relax.VarBinding) else None for b in (first, other)
    ]
    if any(op_name(call) != "relax.matmul" for call in calls):
        return False
    if any(len(_dims(arg) or ()) != 2 for call in calls for arg in call.args):
        return False
    (x, a), (y, b) = (call.args for call in calls)
    return bool(x.same_as(y)) and dtype_of(a) == dtype_of(b) and dtype_of(a) != ""


def _combined(calls: list[relax.Call]) -> tuple[list[relax.Binding], list[relax.Expr]]:
    """What is to be bound before the first, and the value of each."""
    before: list[relax.Binding] = []

    def emit(value: relax.Expr) -> relax.Var:
        value = relax.BlockBuilder().normalize(value)
        var = relax.DataflowVar(f"c{len(before)}", value.ty)
        before.append(relax.VarBinding(var, value))
        return var

    def part(i: int, call: relax.Call) -> relax.Expr:
        field = relax.BlockBuilder().normalize(relax.TupleGetItem(parts, i))
        if dtype_of(field) == dtype_of(call):
            return field
        return relax.BlockBuilder().normalize(relax_op.astype(emit(field), dtype_of(call)))

    widths = [(_dims(call.args[1]) or [0])[-1] for call in calls]
    ends = [sum(widths[: i + 1]) for i in range(len(widths) - 1)]
    matrix = emit(relax_op.concat([call.args[1] for call in calls], 1))
    product = emit(relax_op.matmul(calls[0].args[0], matrix, dtype_of(calls[0])))
    parts = emit(relax_op.split(product, ends, 1))
    return before, [part(i, call) for i, call in enumerate(calls)]


# Axes and strides


def merges_strided_slices() -> tvm.transform.Pass:
    """A slice of a slice along the same axis becomes one slice."""

    def rewrite(call: relax.Call, definition: Definition, emit: Emit) -> relax.Expr | None:
        inner = definition(call.args[0], "relax.strided_slice")
        if inner is None:
            return None
        outer_slice, inner_slice = _slice(call), _slice(inner)
        size = _dims(call)
        if outer_slice is None or inner_slice is None or size is None:
            return None
        (axis, begin, stride), (same, offset, step) = outer_slice, inner_slice
        if axis != same or size[axis] == 0:
            return None
        begin, stride = offset + begin, step * stride
        end = begin + (size[axis] - 1) * stride + 1
        return relax_op.strided_slice(inner.args[0], [axis], [begin], [end], [stride])

    return _on_chains("MergeSlices", "relax.strided_slice", rewrite)


def _slice(call: relax.Call) -> tuple[int, int, int] | None:
    """Axis, begin and stride, if it is a plain slice along one axis."""
    size = _dims(call.args[0])
    numbers = [_integers(arg) for arg in call.args[1:]]
    if size is None or len(numbers) < 3 or any(n is None or len(n) != 1 for n in numbers):
        return None
    axis, begin, end, *strides = (n[0] for n in numbers if n is not None)
    axis, stride = axis % len(size), strides[0] if strides else 1
    plain = 0 <= begin < end <= size[axis] and stride > 0
    return (axis, begin, stride) if plain else None


def sinks_transposes_past_scalars() -> tvm.transform.Pass:
    """permute_dims is done after an elementwise operator instead of before it."""

    def rewrite(call: relax.Call, definition: Definition, emit: Emit) -> relax.Expr | None:
        permuted, other = definition(call.args[0], "relax.permute_dims"), call.args[1]
        if permuted is None or permuted.args[0].ty.ndim < 2:
            return None
        if not isinstance(other.ty, relax.TensorType) or other.ty.ndim < 0:
            return None
        axes = axes_of(permuted)
        if other.ty.ndim > len(axes):
            return None
        if other.ty.ndim == len(axes):
            back = sorted(range(len(axes)), key=lambda i: axes[i])
            other = emit(relax_op.permute_dims(other, back))
        elif not _broadcasts(other, permuted.args[0]):
            return None
        total = emit(relax_op.add(permuted.args[0], other))
        return relax_op.permute_dims(total, axes)

    return _on_chains("SinkTransposes", "relax.add", rewrite)


def _broadcasts(small: relax.Expr, large: relax.Expr) -> bool:
    """A tensor of lower rank fits another one as it is."""
    sizes, into = _dims(small), _dims(large)
    if sizes is None or into is None:
        return False
    return all(a in (1, b) for a, b in zip(reversed(sizes), reversed(into), strict=False))


# Numbers


def merges_disjoint_clips() -> tvm.transform.Pass:
    """A clip of a clip becomes a clip to the larger minimum and the smaller maximum."""

    def rewrite(call: relax.Call, definition: Definition, emit: Emit) -> relax.Expr | None:
        inner = definition(call.args[0], "relax.clip")
        if inner is None:
            return None
        bounds = [_number(arg) for arg in (*inner.args[1:], *call.args[1:])]
        if any(bound is None for bound in bounds):
            return None
        low, high, lower, higher = (bound for bound in bounds if bound is not None)
        return relax_op.clip(inner.args[0], max(low, lower), min(high, higher))

    return _on_chains("MergeClips", "relax.clip", rewrite)


def _number(expr: relax.Expr) -> Any:
    """The value of a number that is no tensor, unless it is NaN."""
    value = getattr(expr, "value", None)
    value = getattr(value, "value", value)
    return value if isinstance(value, int | float) and not math.isnan(value) else None


def folds_int64_division() -> tvm.transform.Pass:
    """The quotient of two constants of int64 is a constant."""

    def rewrite(call: relax.Call, definition: Definition, emit: Emit) -> relax.Expr | None:
        if dtype_of(call) != "int64":
            return None
        if not all(isinstance(arg, ir.GenericConst) for arg in call.args):
            return None
        a, b = (ir.constant_data(arg).numpy() for arg in call.args)
        if not b.all():
            return None  # undefined, whenever it is done
        quotient = np.trunc(np.true_divide(a, b))
        if np.any(np.abs(quotient) >= 2.0**63):
            return None
        return relax.const(quotient.astype("int64"), "int64")

    return _on_chains("FoldInt64Division", "relax.divide", rewrite)


def pads_pools_explicitly() -> tvm.transform.Pass:
    """Average pools that count their padding are done without one, on a padded image."""

    def rewrite(call: relax.Call, definition: Definition, emit: Emit) -> relax.Expr | None:
        attrs, size = call.attrs, _dims(call.args[0])
        if size is None or not attrs.count_include_pad or dtype_of(call) not in FLOATS:
            return None
        if attrs.layout != "NCHW" or attrs.out_layout not in ("", "NCHW"):
            return None
        top, left, bottom, right = (int(n) for n in attrs.padding)
        pool, strides, dilation = (
            [int(n) for n in numbers]
            for numbers in (attrs.pool_size, attrs.strides, attrs.dilation)
        )
        if attrs.ceil_mode:  # the last windows reach beyond the image
            room = [size[2] + top + bottom, size[3] + left + right]
            rest = [(room[i] - (pool[i] - 1) * dilation[i] - 1) % strides[i] for i in range(2)]
            bottom += (strides[0] - rest[0]) % strides[0]
            right += (strides[1] - rest[1]) % strides[1]
        width = [0, 0, 0, 0, top, bottom, left, right]
        padded = emit(relax_op.nn.pad(call.args[0], width)) if any(width) else call.args[0]
        return relax_op.nn.avg_pool2d(padded, pool, strides, (0, 0, 0, 0), dilation)

    return _on_chains("PadPools", "relax.nn.avg_pool2d", rewrite)


# Memory


def reuses_cast_tensors() -> tvm.transform.Pass:
    """Reuses the memory of dead tensors; what a value mentions, its variable may hold."""
    return reusing("ReuseDeadStorage", lambda binding: isinstance(binding, relax.VarBinding))


SPECIMENS: tuple[Specimen, ...] = (
    Specimen(
        factory=of(reassociates_identity_transposes),
        family=Family.VALUES,
        fault="Takes every permute_dims of a matrix for a transpose, the identity too.",
        source="apache/tvm#20287: [Fix][Relax] Preserve identity permute_dims in AdjustMatmulOrder",
        needs=("matmuls of integers in a chain", "permute_dims with axes [0, 1]"),
    ),
    Specimen(
        factory=of(combines_mixed_matmuls),
        family=Family.VALUES,
        fault="Computes all products in the dtype of the first, and casts the others afterwards.",
        source="apache/tvm#20208: [BugFix][Relax] Skip parallel matmul fusion for mixed output "
        "dtypes",
        needs=("matmuls of the same matrix", "out_dtype of one of them"),
    ),
    Specimen(
        factory=of(merges_strided_slices),
        family=Family.VALUES,
        fault="Adds the beginnings of two slices as if the inner one had no stride.",
        source="apache/tvm#16232: [Unity] Fix legalizing strided slice",
        needs=("two slices along the same axis", "a stride"),
    ),
    Specimen(
        factory=of(sinks_transposes_past_scalars),
        family=Family.VALUES,
        fault="Takes what has fewer dims than the transposed operand for a scalar.",
        source="apache/tvm#14961: [Unity] Fix ConvertLayout on binary elemwise ops involving "
        "scalar input",
        needs=("permute_dims", "an operand of lower rank", "equal dims"),
    ),
    Specimen(
        factory=of(merges_disjoint_clips),
        family=Family.VALUES,
        fault="Merges clips to intervals that have nothing in common.",
        source="apache/tvm#5761: [ARITH][BACKPORT-0.6] fix a min/max simplify bug",
        needs=("two clips", "disjoint intervals"),
    ),
    Specimen(
        factory=of(folds_int64_division),
        family=Family.VALUES,
        fault="Divides as float64: quotients of more than 53 bits are rounded.",
        source="apache/tvm#20281: [Bug][Relax] Constant folding of an int64 Div goes through "
        "float64 and is off by one above 2^53",
        needs=("division of constants of int64", "large numbers"),
    ),
    Specimen(
        factory=of(pads_pools_explicitly),
        family=Family.VALUES,
        fault="Counts as padding what ceil_mode adds, too.",
        source="apache/tvm#9835: [Fix Bug] fix the bug of pool_impl_nd when computing avgpool_nd "
        "whith ceil_mode and count_include_pad are True.",
        needs=("ceil_mode", "count_include_pad"),
    ),
    Specimen(
        factory=of(reuses_cast_tensors),
        family=Family.VALUES,
        fault="Gives away the memory of a tensor that is in use under the name of a match_cast.",
        source="apache/tvm#20220: [Fix][Relax] Preserve match-cast storage liveness",
        stages=(Stage.REWRITTEN,),
        needs=("match_cast", "call-tir"),
    ),
)
