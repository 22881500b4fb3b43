"""Passes for modules after public reports: faults that TVM has repaired, and one of TVM's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tvm
import tvm_ffi
from tvm import relax, tirx

from relaxfuzz.generators.rewrite.nodes import with_functions


def divides_after_a_shift() -> tvm.transform.Pass:
    """Floor division of int32 as a truncating one of a number that is shifted beyond the range."""

    def shifted(node: tirx.FloorDiv) -> Any:
        if str(node.ty.dtype) != "int32" or not isinstance(node.b, tirx.IntImm):
            return node
        divisor = int(node.b.value)
        turns = (2**31 - 1) // divisor - 1
        moved = tirx.Add(node.a, tirx.const(divisor * turns, "int32"))
        return tirx.Sub(tirx.Div(moved, node.b), tirx.const(turns, "int32"))

    @tirx.transform.prim_func_pass(opt_level=0, name="divides_after_a_shift")
    def run(func: tirx.PrimFunc, mod: tvm.IRModule, context: Any) -> tirx.PrimFunc:
        return tvm_ffi.structural_map(func, [(tirx.FloorDiv, shifted)])

    return run


def _on_calls(name: str, op: str, make: Callable[[relax.Call], Any]) -> tvm.transform.Pass:
    @relax.expr_functor.mutator
    class Replaces(relax.PyExprMutator):
        def visit_call_(self, call: relax.Call) -> relax.Expr:
            call = self.visit_expr_post_order(call)
            is_op = isinstance(call.op, tvm.ir.Op) and call.op.name == op
            return make(call) if is_op else call

    @tvm.transform.module_pass(opt_level=0, name=name)
    def run(mod: tvm.IRModule, context: Any) -> tvm.IRModule:
        functions = dict(mod.functions_items())
        for gvar, func in mod.functions_items():
            if isinstance(func, relax.Function):
                functions[gvar] = Replaces(mod).visit_expr(func)
        return with_functions(mod, functions)

    return run


def variance_in_one_pass() -> tvm.transform.Pass:
    """layer_norm by the mean of squares less the square of the mean."""

    def made(call: relax.Call) -> Any:
        x, gamma, beta = call.args
        axes = [int(axis) for axis in call.attrs.axes]
        op = relax.op
        mean = op.mean(x, axes, keepdims=True)
        square = op.mean(op.multiply(x, x), axes, keepdims=True)
        variance = op.subtract(square, op.multiply(mean, mean))
        epsilon = relax.const(float(call.attrs.epsilon), "float32")
        scaled = op.divide(op.subtract(x, mean), op.sqrt(op.add(variance, epsilon)))
        return op.add(op.multiply(scaled, gamma), beta)

    return _on_calls("variance_in_one_pass", "relax.nn.layer_norm", made)


def counts_axes_from_one() -> tvm.transform.Pass:
    """A negative axis of strided_slice is one too small."""

    def made(call: relax.Call) -> Any:
        axes = [int(axis.value) for axis in call.args[1].fields]
        wrong = [axis if axis >= 0 else max(0, axis + call.args[0].ty.ndim - 1) for axis in axes]
        fields = relax.Tuple([tirx.IntImm("int64", axis) for axis in wrong])
        return relax.Call(call.op, [call.args[0], fields, *call.args[2:]], call.attrs)

    return _on_calls("counts_axes_from_one", "relax.strided_slice", made)


def partitions_for_cudnn() -> tvm.transform.Pass:
    """TVM's partitioning for cuDNN as a pass."""
    from tvm.relax.backend.cuda import cudnn

    @tvm.transform.module_pass(opt_level=0, name="partitions_for_cudnn")
    def run(mod: tvm.IRModule, context: Any) -> tvm.IRModule:
        return cudnn.partition_for_cudnn(mod)

    return run
