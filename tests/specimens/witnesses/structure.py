"""Modules that passes leave ill-formed or with another interface, and others that they do not."""
# ruff: noqa: F841, RET504

from __future__ import annotations

import numpy as np
import tvm
from tvm import relax, tirx
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from relaxfuzz.generators.stages import Stage

from ..witness import Witness

X = np.array([[1.0, -2.0, 3.0], [4.0, 5.0, -6.0]], "float32")


@I.ir_module
class Simple:
    @R.function
    def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        y = R.add(x, x)
        return y


@I.ir_module
class PublicKernel:
    @T.prim_func(s_tir=True)
    def kernel(x: T.Buffer((2, 3), "float32"), y: T.Buffer((2, 3), "float32")):
        T.func_attr({"tirx.noalias": True})
        for i, j in T.grid(2, 3):
            with T.sblock("copy"):
                a, b = T.axis.remap("SS", [i, j])
                y[a, b] = x[a, b]

    @R.function
    def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        y = R.add(x, x)
        return y


@I.ir_module
class LongKernel:
    @T.prim_func(s_tir=True)
    def kernel(x: T.Buffer((2, 9), "float32"), y: T.Buffer((2, 9), "float32")):
        T.func_attr({"tirx.noalias": True})
        for i, j in T.grid(2, 9):
            with T.sblock("copy"):
                a, b = T.axis.remap("SS", [i, j])
                y[a, b] = x[a, b]

    @R.function
    def main(x: R.Tensor((2, 9), "float32")) -> R.Tensor((2, 9), "float32"):
        cls = LongKernel
        y = R.call_tir(cls.kernel, (x,), out_ty=R.Tensor((2, 9), "float32"))
        return y


@I.ir_module
class Devices:
    I.module_global_infos({"vdevice": [I.vdevice("llvm"), I.vdevice("llvm", 1)]})

    @R.function
    def main(
        x: R.Tensor((2, 3), "float32", "llvm:1"),
    ) -> R.Tensor((2, 3), "float32", "llvm:1"):
        y = R.add(x, x)
        return y


def callers(size: int | str) -> tvm.IRModule:
    """Two public functions that call the same private one, with tensors of shape (size, 3)."""
    builder = relax.BlockBuilder()

    def tensor() -> relax.Var:
        rows = tirx.Var(size, "int64") if isinstance(size, str) else size
        return relax.Var("x", relax.TensorType((rows, 3), "float32"))

    with builder.function("shared", [x := tensor()], private=True):
        builder.emit_func_output(builder.emit(relax.op.exp(x)))
    shared = builder.get().get_global_var("shared")
    for name in ("main", "second"):
        with builder.function(name, [x := tensor()]):
            builder.emit_func_output(builder.emit(relax.Call(shared, [x])))
    return builder.get()


@I.ir_module
class Broadcasts:
    @R.function
    def main(x: R.Tensor((3,), "float32")) -> R.Tensor((2, 3), "float32"):
        y = R.broadcast_to(x, R.shape([2, 3]))
        return y


@I.ir_module
class SymbolicBroadcasts:
    @R.function
    def main(x: R.Tensor((3,), "float32"), s: R.Tensor(("n", 3), "float32")) -> R.Tensor(
        ("n", 3), "float32"
    ):
        n = T.int64()
        y = R.broadcast_to(x, R.shape([n, 3]))
        return y


@I.ir_module
class UnusedValues:
    @R.function
    def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        with R.dataflow():
            a = R.exp(x)
            b = R.add(a, a)
            y = R.sqrt(x)
            R.output(y)
        return y


@I.ir_module
class UnusedCast:
    @R.function
    def main(x: R.Tensor(ndim=2, dtype="float32")) -> R.Tensor(ndim=1, dtype="float32"):
        n = T.int64()
        with R.dataflow():
            a = R.match_cast(x, R.Tensor((n, 3), "float32"))
            y = R.ones(R.shape([n]), "float32")
            R.output(y)
        return y


@I.ir_module
class UnusedParameter:
    @R.function
    def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        y = UnusedParameter.f(x, x)
        return y

    @R.function(private=True)
    def f(x: R.Tensor((2, 3), "float32"), y: R.Tensor((2, 3), "float32")) -> R.Tensor(
        (2, 3), "float32"
    ):
        z = R.exp(y)
        return z


@I.ir_module
class DefiningParameter:
    @R.function
    def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2,), "float32"):
        y = DefiningParameter.f(x, x)
        return y

    @R.function(private=True)
    def f(x: R.Tensor(("n", 3), "float32"), y: R.Tensor((2, 3), "float32")) -> R.Tensor(
        ("n",), "float32"
    ):
        n = T.int64()
        z = R.ones(R.shape([n]), "float32")
        return z


@I.ir_module
class UnusedOutput:
    @R.function
    def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        t = UnusedOutput.f(x)
        y = t[1]
        return y

    @R.function(private=True)
    def f(
        x: R.Tensor((2, 3), "float32"),
    ) -> R.Tuple(R.Tensor((2, 3), "float32"), R.Tensor((2, 3), "float32")):
        y = R.exp(x)
        return (x, y)


@I.ir_module
class OutputsReturned:
    @R.function
    def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        t = OutputsReturned.f(x)
        y = t[1]
        return y

    @R.function
    def other(
        x: R.Tensor((2, 3), "float32"),
    ) -> R.Tuple(R.Tensor((2, 3), "float32"), R.Tensor((2, 3), "float32")):
        t = OutputsReturned.f(x)
        return t

    @R.function(private=True)
    def f(
        x: R.Tensor((2, 3), "float32"),
    ) -> R.Tuple(R.Tensor((2, 3), "float32"), R.Tensor((2, 3), "float32")):
        y = R.exp(x)
        return (x, y)


@I.ir_module
class Likes:
    @R.function
    def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        y = R.ones_like(x)
        return y


@I.ir_module
class LikesOfOtherType:
    @R.function
    def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "int32"):
        y = R.ones_like(x, dtype="int32")
        return y


@I.ir_module
class Sums:
    @R.function
    def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2,), "float32"):
        y = R.sum(x, axis=1)
        return y


WITNESSES = (
    Witness("one_callee_per_caller", "ill-formed", callers("n")),
    Witness("outlines_broadcasts", "ill-formed", SymbolicBroadcasts),
    Witness("removes_unused_values", "ill-formed", UnusedCast),
    Witness("removes_unused_parameters", "ill-formed", DefiningParameter),
    Witness(
        "counts_blocks",
        "interface",
        Simple.with_attr("system_lib_prefix", "x_"),
        stage=Stage.LEGALIZED,
    ),
    Witness("shares_output_shapes", "interface", Devices, stage=Stage.LEGALIZED),
    Witness("removes_unused_outputs", "interface", OutputsReturned),
    Witness("expands_likes", "interface", LikesOfOtherType),
    Witness("marks_reductions", "interface", Sums, stage=Stage.LEGALIZED),
    Witness("unrolls_short_loops", "interface", PublicKernel),
    Witness("counts_blocks", None, Simple, (X,), Stage.LEGALIZED),
    Witness("shares_output_shapes", None, Simple, (X,), Stage.LEGALIZED),
    Witness("one_callee_per_caller", None, callers(2), (X,)),
    Witness("outlines_broadcasts", None, Broadcasts, (X[0],)),
    Witness("removes_unused_values", None, UnusedValues, (X,)),
    Witness("removes_unused_parameters", None, UnusedParameter, (X,)),
    Witness("removes_unused_outputs", None, UnusedOutput, (X,)),
    Witness("expands_likes", None, Likes, (X,)),
    Witness("marks_reductions", None, Simple, (X,), Stage.LEGALIZED),
    Witness(
        "unrolls_short_loops",
        None,
        LongKernel,
        (np.ones((2, 9), "float32"),),
        Stage.LEGALIZED,
    ),
)
