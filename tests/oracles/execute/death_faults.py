"""A pass whose result divides by zero, and one whose result divides by one."""

from __future__ import annotations

import tvm
from tvm import relax


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
