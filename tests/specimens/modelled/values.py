"""Passes after which a module computes something else."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import tvm
from tvm import relax, tirx

from relaxfuzz.compat import ir
from relaxfuzz.compat.ops import relax_op
from relaxfuzz.compat.structural import structural_map
from relaxfuzz.generators.stages import Stage
from relaxfuzz.oracles.inspect import nodes, op_name

from ..specimen import Family, Specimen, of
from .tools import (
    Emit,
    Transform,
    Value,
    bound_values,
    made,
    on_prim_funcs,
    on_values,
    until_stable,
    writes_in_place,
)

FLOATS = ("float16", "float32", "float64")


def dtype_of(expr: relax.Expr) -> str:
    """The dtype of a tensor, or the empty string where it is not known."""
    ty = expr.ty
    return str(ty.dtype) if isinstance(ty, relax.TensorType) and ty.dtype is not None else ""


def visible(var: relax.Expr, through: relax.Expr) -> bool:
    """What `through` was made of can be used wherever `through` can."""
    return not isinstance(var, relax.DataflowVar) or isinstance(through, relax.DataflowVar)


def _operand(values: dict[relax.Var, relax.Expr], call: relax.Call, op: str) -> Any:
    """The call of `op` that the first operand is bound to, if its own operand is still at hand."""
    inner: Any = values.get(call.args[0]) if isinstance(call.args[0], relax.Var) else None
    if op_name(inner) != op or not visible(inner.args[0], call.args[0]):
        return None
    return inner


# Common subexpressions


# Algebra


_RANK = {"bool": 0, "int": 1, "uint": 2, "float": 3}


def _kind(dtype: str) -> tuple[str, int] | None:
    """ "int", 8 of "int8"; None of types that are left alone."""
    name = dtype.rstrip("0123456789")
    return (name, int(dtype[len(name) :] or 1)) if name in _RANK else None


def _wider(origin: str, cast: str) -> bool:
    """Each value of `origin` survives the cast."""
    old, new = _kind(origin), _kind(cast)
    if old is None or new is None:
        return False
    if old[0] == new[0]:
        return old[1] <= new[1]
    return _RANK[old[0]] < _RANK[new[0]]


def simplifies_casts() -> tvm.transform.Pass:
    """A cast of a cast skips the first one where that loses nothing."""

    def transform(mod: tvm.IRModule) -> tvm.IRModule:
        if writes_in_place(mod):
            return mod
        values = bound_values(mod)

        def change(var: relax.Var, value: relax.Expr, emit: Emit) -> relax.Expr | None:
            if op_name(value) != "relax.astype":
                return None
            inner = _operand(values, value, "relax.astype")
            if inner is None:
                return None
            origin, between, to = (dtype_of(e) for e in (inner.args[0], inner, value))
            # What is out of the range of an integer type is cast to it in different ways.
            if to != origin and not to.startswith("float"):
                return None
            if _wider(origin, between):
                return inner.args[0] if to == origin else relax_op.astype(inner.args[0], to)
            return None

        return on_values(mod, change)

    return made("SimplifyConsecutiveCasts", until_stable(transform))


_ALONG_ONE_AXIS: dict[str, Callable[[relax.Expr, int], relax.Expr]] = {
    "relax.nn.softmax": relax_op.nn.softmax,
    "relax.nn.log_softmax": relax_op.nn.log_softmax,
}


def keeps_negative_axes() -> tvm.transform.Pass:
    """Moves permute_dims behind softmax, so that it meets others and cancels."""

    def transform(mod: tvm.IRModule) -> tvm.IRModule:
        if writes_in_place(mod):
            return mod
        values = bound_values(mod)

        def change(var: relax.Var, value: relax.Expr, emit: Emit) -> relax.Expr | None:
            op = op_name(value)
            if op not in _ALONG_ONE_AXIS:
                return None
            inner = _operand(values, value, "relax.permute_dims")
            if inner is None or value.args[0].ty.ndim <= 0:
                return None
            axes, axis = _permutation(inner), int(value.attrs.axis)
            axis = axes[axis] if axis >= 0 else axis
            return relax_op.permute_dims(emit(_ALONG_ONE_AXIS[op](inner.args[0], axis)), axes)

        return on_values(mod, change)

    return made("SinkPermuteDims", until_stable(transform))


def _permutation(call: relax.Call) -> list[int]:
    ndim, axes = call.ty.ndim, call.attrs.axes
    return list(range(ndim))[::-1] if axes is None else [int(axis) % ndim for axis in axes]


def _decomposing(
    name: str, op: str, change: Callable[[relax.Call, Callable[..., relax.Var]], relax.Expr | None]
) -> tvm.transform.Pass:
    """Float operators of one kind are written as simpler ones."""

    def rewrite(var: relax.Var, value: relax.Expr, emit: Emit) -> relax.Expr | None:
        if op_name(value) != op or dtype_of(value) not in FLOATS:
            return None
        return change(value, emit)

    return made(name, lambda mod: on_values(mod, rewrite))


def decomposes_softplus() -> tvm.transform.Pass:
    """Softplus becomes log(1 + exp(beta x)) / beta, and x itself where that would overflow."""

    def change(call: relax.Call, emit: Emit) -> relax.Expr | None:
        x, dtype = call.args[0], dtype_of(call)
        beta, threshold = float(call.attrs.beta), float(call.attrs.threshold)
        if beta <= 0 or dtype == "float16":
            return None

        def const(number: float) -> relax.Expr:
            return relax.const(number, dtype)

        power = emit(relax_op.exp(emit(relax_op.multiply(x, const(beta)))))
        smooth = emit(
            relax_op.divide(emit(relax_op.log(emit(relax_op.add(power, const(1.0))))), const(beta))
        )
        linear = emit(relax_op.greater(x, const(threshold)))
        return relax_op.where(linear, x, smooth)

    return _decomposing("DecomposeSoftplus", "relax.nn.softplus", change)


def decomposes_gelu_tanh() -> tvm.transform.Pass:
    """The approximation of gelu by tanh becomes arithmetic."""

    def change(call: relax.Call, emit: Emit) -> relax.Expr | None:
        x, dtype = call.args[0], dtype_of(call)
        if dtype == "float16":
            return None

        def times(number: float, y: relax.Expr) -> relax.Var:
            return emit(relax_op.multiply(relax.const(number, dtype), y))

        cube = emit(relax_op.multiply(emit(relax_op.multiply(x, x)), x))
        inner = times(math.sqrt(2 / math.pi), emit(relax_op.add(x, times(0.044715, cube))))
        gate = emit(relax_op.add(emit(relax_op.tanh(inner)), relax.const(1.0, dtype)))
        return relax_op.multiply(relax.const(0.5, dtype), gate)

    return _decomposing("DecomposeGeluTanh", "relax.nn.gelu_tanh", change)


def decomposes_batch_norm() -> tvm.transform.Pass:
    """The normalized data of a batch_norm becomes arithmetic on the moving mean and variance."""

    def transform(mod: tvm.IRModule) -> tvm.IRModule:
        if writes_in_place(mod):
            return mod
        values = bound_values(mod)

        def change(var: relax.Var, value: relax.Expr, emit: Emit) -> relax.Expr | None:
            if not isinstance(value, relax.TupleGetItem) or value.index != 0:
                return None
            norm: Any = values.get(value.tuple_value)
            if op_name(norm) != "relax.nn.batch_norm" or dtype_of(norm.args[0]) != "float32":
                return None
            if not all(visible(arg, value.tuple_value) for arg in norm.args):
                return None
            return _normalized(norm, emit)

        return on_values(mod, change)

    return made("DecomposeBatchNormForInference", transform)


def _normalized(norm: relax.Call, emit: Emit) -> relax.Expr | None:
    data, ndim = norm.args[0], norm.args[0].ty.ndim
    if ndim <= 0:
        return None
    others = [i for i in range(ndim) if i != int(norm.attrs.axis) % ndim]
    gamma, beta, mean, var = (
        emit(relax_op.expand_dims(arg, others)) if others else arg for arg in norm.args[1:]
    )
    epsilon = relax.const(float(norm.attrs.epsilon), "float32")
    deviation = emit(relax_op.sqrt(emit(relax_op.add(var, epsilon))))
    out = emit(relax_op.divide(emit(relax_op.subtract(data, mean)), deviation))
    if norm.attrs.scale:
        out = emit(relax_op.multiply(out, gamma))
    if norm.attrs.center:
        out = emit(relax_op.add(out, beta))
    return out


# Constants


def _folding(change: Value) -> Transform:
    """Folds until nothing is left to fold; what may be overwritten must not become a constant."""
    fold = until_stable(lambda mod: on_values(mod, change))
    return lambda mod: mod if writes_in_place(mod) else fold(mod)


def _quotient(a: Any, b: Any) -> Any:
    return a // b if a.dtype.kind in "iu" else a / b


_FOLDED: dict[str, Callable[[Any, Any], Any]] = {
    "relax.add": np.add,
    "relax.subtract": np.subtract,
    "relax.multiply": np.multiply,
}
_FOLDED_DIVISIONS: dict[str, Callable[[Any, Any], Any]] = {
    "relax.divide": _quotient,
    "relax.mod": np.fmod,
}
_FOLDED_TYPES = (*FLOATS, "int8", "int16", "int32", "int64", "uint8")


def folds_division_downwards() -> tvm.transform.Pass:
    """Arithmetic on two constants is done by NumPy."""

    def change(var: relax.Var, value: relax.Expr, emit: Emit) -> relax.Expr | None:
        op, dtype = op_name(value), dtype_of(value)
        fold = _FOLDED.get(op or "") or _FOLDED_DIVISIONS.get(op or "")
        if fold is None or dtype not in _FOLDED_TYPES:
            return None
        if not all(isinstance(arg, ir.GenericConst) for arg in value.args):
            return None
        a, b = (ir.constant_data(arg).numpy() for arg in value.args)
        if op in _FOLDED_DIVISIONS and dtype not in FLOATS and not b.all():
            return None  # undefined, whenever it is done
        with np.errstate(all="ignore"):
            return relax.const(np.asarray(fold(a, b)).astype(dtype), dtype)

    return made("FoldArithmetic", _folding(change))


# TensorIR


def divides_downwards() -> tvm.transform.Pass:
    """Truncating division becomes flooring division, which the simplifier knows better."""

    def rewritten(func: tirx.PrimFunc) -> tirx.PrimFunc:
        counted = {loop.loop_var for loop in nodes(func, ir.For) if _is(loop.min, 0)}
        blocks = nodes(func, ir.SBlock)
        counted |= {i.var for b in blocks for i in b.iter_vars if _is(i.dom.min, 0)}

        def non_negative(expr: Any) -> bool:
            if isinstance(expr, tirx.IntImm):
                return int(expr.value) >= 0
            if isinstance(expr, tirx.Var):
                return expr in counted
            if isinstance(expr, ir.Cast):
                return non_negative(expr.value)
            if isinstance(expr, ir.TensorLoad):
                return all(map(non_negative, expr.indices))
            if isinstance(expr, ir.Add | ir.Mul | ir.FloorDiv | ir.FloorMod):
                return non_negative(expr.a) and non_negative(expr.b)
            return False

        def change(expr: Any) -> Any:
            if not _is_integer(expr) or not (non_negative(expr.a) and non_negative(expr.b)):
                return expr
            return (ir.FloorDiv if isinstance(expr, ir.Div) else ir.FloorMod)(expr.a, expr.b)

        return structural_map(func, ((ir.Div, ir.Mod), change))

    return made("UseFlooringDivision", lambda mod: on_prim_funcs(mod, rewritten))


def _is(expr: Any, number: int) -> bool:
    return isinstance(expr, tirx.IntImm) and int(expr.value) == number


def _is_integer(expr: Any) -> bool:
    return str(expr.ty.dtype).startswith(("int", "uint"))


def _substituted(expr: Any, new: dict[tirx.Var, Any]) -> Any:
    return structural_map(expr, (tirx.Var, lambda var: new.get(var, var)))


def inlines_one_pattern() -> tvm.transform.Pass:
    """Element-wise intermediate results of a fused PrimFunc are computed where they are used."""

    def rewritten(func: tirx.PrimFunc) -> tirx.PrimFunc:
        root = func.body
        if not isinstance(root, ir.SBlockRealize):
            return func
        for buffer in reversed(list(root.block.alloc_buffers)):
            new = _inlined(func, buffer)
            if new is not None:
                func = new
        return func

    return made("InlineIntermediates", lambda mod: on_prim_funcs(mod, rewritten))


def _inlined(func: tirx.PrimFunc, buffer: tirx.Var) -> tirx.PrimFunc | None:
    """Without an intermediate buffer, if one plain block fills it; None otherwise."""
    root = func.body.block
    stores = [s for s in nodes(func, ir.BufferStore) if s.buffer.same_as(buffer)]
    if len(stores) != 1 or not isinstance(root.body, ir.SeqStmt):
        return None
    makers = [part for part in root.body.seq if nodes(part, ir.BufferStore)[-1].same_as(stores[0])]
    if len(makers) != 1 or len(nodes(makers[0], ir.BufferStore)) != 1:
        return None
    block = nodes(makers[0], ir.SBlock)[-1]
    indices, domain = list(stores[0].indices), [i.var for i in block.iter_vars]
    if not _fills(makers[0], block, buffer) or len(indices) != len(domain):
        return None
    if not all(a.same_as(b) for a, b in zip(indices, domain, strict=True)):
        return None

    def consumer(old: ir.SBlock) -> ir.SBlock:
        if old.same_as(root) or not any(ir.tensor_of(r).same_as(buffer) for r in old.reads):
            return old
        known: dict[Any, Any] = {}

        def load(expr: Any) -> Any:
            if not ir.tensor_of(expr).same_as(buffer):
                return expr
            if buffer not in known:
                point = dict(zip(domain, expr.indices, strict=True))
                known[buffer] = _substituted(stores[0].value, point)
            return known[buffer]

        body = structural_map(old.body, (ir.TensorLoad, load))
        init = old.init and structural_map(old.init, (ir.TensorLoad, load))
        reads = [r for r in old.reads if not ir.tensor_of(r).same_as(buffer)]
        reads += [_whole(r) for r in block.reads]
        return _block(old, body=body, init=init, reads=reads)

    parts = [
        structural_map(part, (ir.SBlock, consumer))
        for part in root.body.seq
        if not part.same_as(makers[0])
    ]
    if any(buffer in nodes(part, tirx.Var) for part in parts):
        return None
    body = ir.SeqStmt(parts) if len(parts) > 1 else parts[0]
    kept = [b for b in root.alloc_buffers if not b.same_as(buffer)]
    whole = ir.SBlockRealize([], True, _block(root, body=body, alloc_buffers=kept))
    return func.with_body(whole)


def _fills(maker: tirx.Stmt, block: ir.SBlock, buffer: tirx.Var) -> bool:
    """Each element is written once, and made of other buffers alone."""
    realize = nodes(maker, ir.SBlockRealize)[-1]
    loops = nodes(maker, ir.For)
    plain = block.init is None and isinstance(block.body, ir.BufferStore)
    spatial = all(i.iter_type == tirx.IterVar.DataPar for i in block.iter_vars)
    return (
        plain
        and spatial
        and _is(realize.predicate, 1)
        and len(loops) == len(block.iter_vars)
        and all(isinstance(value, tirx.Var) for value in realize.iter_values)
        and not any(ir.tensor_of(load).same_as(buffer) for load in nodes(block.body, ir.TensorLoad))
    )


def _whole(region: ir.TensorRegion) -> ir.TensorRegion:
    shape = ir.tensor_of(region).ty.shape
    ranges = [tvm.ir.Range(tirx.const(0, str(dim.ty.dtype)), dim) for dim in shape]
    return ir.TensorRegion(ir.tensor_of(region), ranges, region.ty)


_BLOCK_FIELDS = (
    *("iter_vars", "reads", "writes", "name_hint", "body", "init"),
    *("alloc_buffers", "match_buffers", "annotations"),
)


def _block(old: ir.SBlock, **parts: Any) -> ir.SBlock:
    return ir.SBlock(**{name: parts.get(name, getattr(old, name)) for name in _BLOCK_FIELDS})


LOWERED = (Stage.LEGALIZED, Stage.TIR_FUSED)

SPECIMENS: tuple[Specimen, ...] = (
    Specimen(
        factory=of(simplifies_casts),
        family=Family.VALUES,
        fault="Thinks that a cast from int to uint or float loses nothing, however many bits.",
        source="apache/tvm#13056: [Relay] Fix simplifying consecutive casts when intermediate type "
        "has fewer bits",
    ),
    Specimen(
        factory=of(keeps_negative_axes),
        family=Family.VALUES,
        fault="Moves softmax before a permute_dims, but does not permute an axis that is negative.",
        source="apache/tvm#14365: [Unity][Fix] Infer Layout must support negative axes",
    ),
    Specimen(
        factory=of(decomposes_softplus),
        family=Family.VALUES,
        fault="Compares x instead of beta times x with the threshold.",
        source="apache/tvm#14821: [Bugfix][Relay] Fix softplus about the wrong calculation formula "
        "in Relay PyTorch frontend",
    ),
    Specimen(
        factory=of(decomposes_gelu_tanh),
        family=Family.VALUES,
        fault="Forgets the factor x.",
        source="apache/tvm#16188: [Unity][BugFix] Fix a bug in relax gelu_tanh computation",
    ),
    Specimen(
        factory=of(decomposes_batch_norm),
        family=Family.VALUES,
        fault="Uses the moving mean and variance in training too.",
        source="apache/tvm#18609: [Relax] Fix batch normalization computation logic",
    ),
    Specimen(
        factory=of(folds_division_downwards),
        family=Family.VALUES,
        fault="Folds the division of integers by rounding down; TVM rounds to zero.",
        source="apache/tvm#19975: [Fix][Relax][ONNX] Preserve integer Div truncation during import",
    ),
    Specimen(
        factory=of(divides_downwards),
        family=Family.VALUES,
        fault="Takes an element for non-negative because its indices are.",
        source="apache/tvm#5922: [BACKPORT-0.6][Bugfix][Arith] keep div_mode during floordiv "
        "simplify",
        stages=LOWERED,
    ),
    Specimen(
        factory=of(inlines_one_pattern),
        family=Family.VALUES,
        fault="A block that reads two elements of an intermediate result gets the first one twice.",
        source="apache/tvm#14603: [Unity] Fix FuseTIR when the same buffer is read multiple times "
        "with different access pattern",
        stages=(Stage.TIR_FUSED,),
    ),
)
