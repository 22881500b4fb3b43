"""Crashes and ill-formed modules that take a rare operand, or two features that meet."""

from __future__ import annotations

import math
from typing import Any

import tvm
import tvm_ffi
from tvm import relax, tirx
from tvm.ir import GlobalVar

from relaxfuzz.compat.ops import relax_op
from relaxfuzz.generators.rewrite.nodes import with_functions
from relaxfuzz.oracles.inspect import is_public, nodes, op_name

from ..specimen import Family, Specimen, of
from .rare_values import axes_of
from .tools import (
    Emit,
    bound_values,
    in_public_functions,
    made,
    on_calls,
    on_functions,
    on_values,
    static_tensor,
    writes_in_place,
)
from .values import dtype_of, visible


def _dims(expr: relax.Expr) -> list[int]:
    """The dims of a tensor of which all are known."""
    return [int(dim.value) for dim in expr.ty.shape.values]


# Crashes


_BINARY = ("relax.add", "relax.subtract", "relax.multiply", "relax.divide", "relax.maximum")


def broadcasts_operands() -> tvm.transform.Pass:
    """Operands of binary operators are broadcast before."""

    def change(var: relax.Var, value: relax.Expr, emit: Emit) -> relax.Expr | None:
        if op_name(value) not in _BINARY or not static_tensor(value):
            return None
        assert isinstance(value, relax.Call)
        shape = value.ty.shape
        args = [
            arg
            if arg.ty.shape is None or tvm_ffi.structural_equal(arg.ty.shape, shape)
            else emit(relax_op.broadcast_to(arg, shape))
            for arg in value.args
        ]
        if all(new.same_as(old) for new, old in zip(args, value.args, strict=True)):
            return None
        return relax.Call(value.op, args)

    return made("BroadcastOperands", lambda mod: on_values(mod, change))


def decomposes_layer_norm() -> tvm.transform.Pass:
    """layer_norm over the last axes becomes arithmetic."""

    def change(var: relax.Var, value: relax.Expr, emit: Emit) -> relax.Expr | None:
        if op_name(value) != "relax.nn.layer_norm" or dtype_of(value) != "float32":
            return None
        assert isinstance(value, relax.Call)
        x, gamma, beta = value.args
        ndim, attrs = x.ty.ndim, value.attrs
        if ndim < 1:
            return None
        axes = [int(axis) % ndim for axis in attrs.axes]
        others = [axis for axis in range(ndim) if axis not in axes]
        if others[-1] > min(axes) or axes != sorted(axes):
            return None  # gamma and beta would have to be expanded
        epsilon = relax.const(float(attrs.epsilon), dtype_of(value))
        shifted = emit(relax_op.subtract(x, emit(relax_op.mean(x, axes, True))))
        spread = emit(relax_op.add(emit(relax_op.variance(x, axes, True)), epsilon))
        out = emit(relax_op.divide(shifted, emit(relax_op.sqrt(spread))))
        if attrs.scale:
            out = emit(relax_op.multiply(out, gamma))
        return relax_op.add(out, beta) if attrs.center else out

    return made("DecomposeLayerNorm", lambda mod: on_values(mod, change))


def fuses_transposed_weights() -> tvm.transform.Pass:
    """Products become functions; a matrix that is transposed before gives them their name."""

    def transform(mod: tvm.IRModule) -> tvm.IRModule:
        values = bound_values(mod)
        numbers: dict[relax.Expr, int] = {}
        for var in nodes(mod, relax.Var):
            numbers.setdefault(var, len(numbers))

        def name(call: relax.Call) -> str:
            weight: Any = values.get(call.args[1])
            transposed = op_name(weight) == "relax.permute_dims"
            return f"linear{numbers[weight.args[0]]}" if transposed else "product"

        def operands(variables: list[relax.Var]) -> list[relax.Var]:
            return list(dict.fromkeys(variables))

        return in_public_functions(mod, relax.BlockBuilder(mod), name, operands, "relax.matmul")

    return made("OutlineLinearLayers", transform)


# Forms


def splits_combined_rows() -> tvm.transform.Pass:
    """A product with concatenated matrices becomes a concatenation of products."""

    def transform(mod: tvm.IRModule) -> tvm.IRModule:
        values = bound_values(mod)

        def change(call: relax.Call) -> relax.Expr | None:
            joined: Any = values.get(call.args[1])
            if op_name(joined) != "relax.concat" or not isinstance(joined.args[0], relax.Tuple):
                return None
            matrices = list(joined.args[0].fields)
            if not all(map(static_tensor, (*matrices, call.args[0]))) or len(matrices) < 2:
                return None
            if not all(visible(matrix, call.args[1]) for matrix in matrices):
                return None
            ndim = matrices[0].ty.ndim
            if ndim != 2 or joined.attrs.axis is None or int(joined.attrs.axis) % ndim != 1:
                return None
            out = dtype_of(call)
            parts = [relax_op.matmul(call.args[0], matrix, out) for matrix in matrices]
            return relax_op.concat(parts, 1)

        return on_calls(mod, change, "relax.matmul")

    return made("SplitProducts", lambda mod: mod if writes_in_place(mod) else transform(mod))


def permutes_after_concat() -> tvm.transform.Pass:
    """The same permute_dims of all that is concatenated is done once, afterwards."""

    def transform(mod: tvm.IRModule) -> tvm.IRModule:
        values = bound_values(mod)

        def change(call: relax.Call) -> relax.Expr | None:
            fields = list(getattr(call.args[0], "fields", ()))
            found: list[Any] = [values.get(field) for field in fields]
            if len(found) < 2 or any(op_name(each) != "relax.permute_dims" for each in found):
                return None
            operands = [each.args[0] for each in found]
            if not all(map(static_tensor, operands)) or call.attrs.axis is None:
                return None
            if not all(map(visible, operands, fields)):
                return None
            axes, axis = axes_of(found[0]), int(call.attrs.axis)
            if any(axes_of(each) != axes for each in found):
                return None
            before = dict(enumerate(axes)).get(axis, axis)
            rest = [
                [d for i, d in enumerate(_dims(x)) if i != before % len(axes)] for x in operands
            ]
            if any(dims != rest[0] for dims in rest):
                return None
            return relax_op.permute_dims(relax_op.concat(operands, before), axes)

        return on_calls(mod, change, "relax.concat")

    return made("PermuteAfterConcat", lambda mod: mod if writes_in_place(mod) else transform(mod))


def updates_equal_functions() -> tvm.transform.Pass:
    """x * x becomes square(x), in each private function once."""

    def square(call: relax.Call) -> relax.Expr | None:
        a, b = call.args
        if not isinstance(a, relax.Var) or not a.same_as(b) or dtype_of(call) != "float32":
            return None
        return relax_op.square(a)

    def transform(mod: tvm.IRModule) -> tvm.IRModule:
        new = on_calls(mod, square, "relax.multiply")
        if new.same_as(mod) or tvm_ffi.structural_equal(new, mod):
            return mod
        done: list[tuple[GlobalVar, tvm.ir.BaseFunc]] = []
        for gvar, func in new.functions_items():
            private = isinstance(func, relax.Function) and not is_public(func)
            known = any(tvm_ffi.structural_equal(func, other) for _, other in done)
            if not (private and known):
                done.append((gvar, func))
        return with_functions(new, dict(done))

    return made("Square", transform)


def notes_sizes_of_arguments() -> tvm.transform.Pass:
    """Notes on each function how many bytes the tensors among its arguments take."""

    def size(ty: Any) -> int:
        if isinstance(ty, relax.TupleType):
            return sum(map(size, ty.fields))
        if ty.dtype is None or not isinstance(ty.shape, relax.ShapeExpr):
            return 0
        dims = [dim.value for dim in ty.shape.values if isinstance(dim, tirx.IntImm)]
        return math.prod(map(int, dims)) * int(tvm.DataType(str(ty.dtype)).itemsize)

    def change(func: relax.Function) -> relax.Function:
        types = [param.ty for param in func.params]
        taken = [ty for ty in types if isinstance(ty, relax.TensorType | relax.TupleType)]
        return func.with_attr("argument_bytes", sum(map(size, taken)))

    return made("NoteSizesOfArguments", lambda mod: on_functions(mod, change))


SPECIMENS: tuple[Specimen, ...] = (
    Specimen(
        factory=of(notes_sizes_of_arguments),
        family=Family.CRASH,
        fault="Expects all fields of a tuple to be tensors or tuples.",
        source="apache/tvm#16304: [Unity][Analysis] Handle PrimStructInfo in EraseToWellDefined",
        needs=("a tuple as parameter", "a field of it that is a shape, a number or anything"),
    ),
    Specimen(
        factory=of(broadcasts_operands),
        family=Family.CRASH,
        fault="Expects all operands of arithmetic to be tensors.",
        source="apache/tvm#16827: [Relax] Handle binary operations between Tensor and PrimValue",
        needs=("arithmetic", "an operand that is a number"),
    ),
    Specimen(
        factory=of(decomposes_layer_norm),
        family=Family.CRASH,
        fault="Expects an axis over which nothing is normalized.",
        source="apache/tvm#18063: [TOPI][NN][Layer_Norm] Fix layer_norm error with reduce-only "
        "axes",
        needs=("layer_norm", "all axes"),
    ),
    Specimen(
        factory=of(fuses_transposed_weights),
        family=Family.CRASH,
        fault="Expects a transposed weight to be a variable.",
        source="apache/tvm#17761: [FIX][RELAX] fix fusion of transpose + matmul when constant  "
        "weight",
        needs=("matmul", "permute_dims of a constant"),
    ),
    Specimen(
        factory=of(splits_combined_rows),
        family=Family.STRUCTURE,
        fault="Concatenates the products along axis 1, whatever the rank of the other operand.",
        source="apache/tvm#13597: [Relay] Fix `CombineParallelDense` slicing axis",
        needs=("matmul with concatenated matrices", "another rank than two"),
    ),
    Specimen(
        factory=of(permutes_after_concat),
        family=Family.STRUCTURE,
        fault="Moves a permute_dims behind concat, but does not permute an axis that is negative.",
        source="apache/tvm#19588: Normalize negative concat axis in ReorderPermuteDimsAfterConcat",
        needs=("concat along a negative axis", "permute_dims of every operand"),
    ),
    Specimen(
        factory=of(updates_equal_functions),
        family=Family.STRUCTURE,
        fault="Loses one of two private functions that are equal.",
        source="apache/tvm#16805: [Bugfix][Relax] BlockBuilder may not assume unique input "
        "functions",
        needs=("equal private functions", "the product of a tensor with itself"),
    ),
)
