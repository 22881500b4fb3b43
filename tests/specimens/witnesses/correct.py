"""Modules on which correct passes that look suspicious have something to do, and do no harm."""

from __future__ import annotations

import numpy as np
import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R

from ..modelled import correct
from ..witness import Witness

X = np.array([[1.0, -0.0, np.nan], [np.inf, 5.0, -6.5]], "float32")
N = np.array([[1, -2, 3], [4, 1000, -7000]], "int32")


@I.ir_module
class Floats:
    @R.function(private=True)
    def one(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        return R.multiply(x, R.const(0.5, "float32"))

    @R.function(private=True)
    def two(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        return R.multiply(x, R.const(0.5, "float32"))

    @R.function
    def main(x: R.Tensor((2, 3), "float32"), n: R.Tensor((2, 3), "int32")):
        cls = Floats
        with R.dataflow():
            a = R.multiply(x, R.const(1, "float32"))
            b = R.negative(a)
            c = R.negative(b)
            dead = R.exp(c)  # noqa: F841  # TVMScript is no Python
            d = R.multiply(c, R.const(2, "float32"))
            e = R.reshape(R.sin(x), R.shape([3, 2]))
            f = R.subtract(d, R.const(0, "float32"))
            g = R.reshape(e, R.shape([2, 3]))
            h = R.add(n, R.const(3, "int32"))
            i = R.add(h, R.const(4, "int32"))
            j = R.multiply(i, R.const(2, "int32"))
            k = R.multiply(R.abs(g), R.const(2, "float32"))
            R.output(f, k, j)
        u = cls.one(f)
        v = cls.two(k)
        return (u, v, j)


@I.ir_module
class Hidden:
    """The operand of the first negation is out of sight where the second one stands."""

    @R.function
    def main(x: R.Tensor((2, 3), "float32")):
        with R.dataflow():
            a = R.sin(x)
            b = R.negative(a)
            R.output(b)
        return R.negative(b)


def added(first: int, second: int) -> tvm.IRModule:
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((2, 3), "int32"))
    with builder.function("main", [x]):
        y = builder.emit(relax.op.add(x, relax.const(first, "int32")))
        builder.emit_func_output(relax.op.add(y, relax.const(second, "int32")))
    return builder.get()


def minus_zero() -> tvm.IRModule:
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((2, 3), "float32"))
    with builder.function("main", [x]):
        builder.emit_func_output(relax.op.subtract(x, relax.const(-0.0, "float32")))
    return builder.get()


WITNESSES = (
    *(
        Witness(specimen.name, None, Floats, (X, N), specimen.stages[0])
        for specimen in correct.SPECIMENS
    ),
    Witness("cancels_negations_slowly", None, Hidden, (X,)),
    Witness("reassociates_integers", None, added(2**31 - 1, 1), (N,)),
    Witness("reassociates_integers", None, added(5, -7), (N,)),
    Witness("reassociates_integers", None, added(5, 7), (N,)),
    Witness("drops_exact_identities", None, minus_zero(), (X,)),
)
