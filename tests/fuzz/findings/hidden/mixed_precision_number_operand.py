"""ToMixedPrecision casts the tensors of an operator and leaves a float32 number beside them.

The operator then has operands of two types, which type inference refuses.
"""

from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

PASSES = "ToMixedPrecision"
NOT = ("mixed-precision-cast-across-blocks",)
KIND = "crash"


def module():
    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor((4, 4), "float32")) -> R.Tensor((4, 4), "float32"):
            with R.dataflow():
                y = R.matmul(x, x)
                z = R.multiply(y, T.float32(0.5))
                R.output(z)
            return z

    return Module
