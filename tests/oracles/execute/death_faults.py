"""Passes whose results kill the process that runs them, and one whose result does not."""

from __future__ import annotations

import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T


def module() -> tvm.IRModule:
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((3,), "int32"))
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(relax.op.add(x, relax.const(0, "int32"))))
    return builder.get()


def _divides(divisor: int) -> tvm.transform.Pass:
    @tvm.transform.module_pass(opt_level=0, name="divides")
    def transform(mod: tvm.IRModule, context: tvm.transform.PassContext) -> tvm.IRModule:
        builder = relax.BlockBuilder()
        x = relax.Var("x", relax.TensorType((3,), "int32"))
        with builder.function("main", [x]):
            zeros = builder.emit(relax.op.subtract(x, x))
            by = builder.emit(relax.op.add(zeros, relax.const(divisor, "int32")))
            builder.emit_func_output(builder.emit(relax.op.floor_divide(x, by)))
        return builder.get()

    return transform


def divides_by_zero() -> tvm.transform.Pass:
    return _divides(0)


def divides_by_one() -> tvm.transform.Pass:
    return _divides(1)


@I.ir_module
class Far:
    @T.prim_func(private=True, s_tir=True)
    def far(A: T.Buffer((3,), "int32"), B: T.Buffer((3,), "int32")):
        for i in range(3):
            with T.sblock("far"):
                v = T.axis.spatial(3, i)
                B[v] = A[T.Cast("int64", v) + T.int64(1 << 42)]

    @R.function
    def main(x: R.Tensor((3,), "int32")) -> R.Tensor((3,), "int32"):
        cls = Far
        with R.dataflow():
            y = R.call_tir(cls.far, (x,), out_ty=R.Tensor((3,), "int32"))
            R.output(y)
        return y


def reads_far_away() -> tvm.transform.Pass:
    """Of no memory of the process."""
    return tvm.transform.module_pass(lambda mod, context: Far, opt_level=0, name="reads_far_away")
