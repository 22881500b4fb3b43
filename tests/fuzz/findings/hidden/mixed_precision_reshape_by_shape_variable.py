"""ToMixedPrecision forgets the type that a reshape to a shape variable of unknown rank is given.

It infers the type anew and knows less then, so that the function that takes the result refuses it.
"""

from tvm.script import ir as I
from tvm.script import relax as R

PASSES = "ToMixedPrecision"
NOT = ("mixed-precision-cast-across-blocks",)
KIND = "crash"


def module():
    @I.ir_module
    class Module:
        @R.function(private=True)
        def double(x: R.Tensor((2, 8), "float32")) -> R.Tensor((2, 8), "float32"):
            return R.add(x, x)

        @R.function
        def main(x: R.Tensor((4, 4), "float32"), s: R.Shape) -> R.Tensor((2, 8), "float32"):
            cls = Module
            with R.dataflow():
                y: R.Tensor((2, 8), "float32") = R.reshape(x, s)
                z = cls.double(y)
                R.output(z)
            return z

    return Module
