"""ToMixedPrecision puts an astype behind a reshape to a shape that is a variable.

No pass lowers an astype of unknown shape, so that a module builds no longer that built before.
"""

from tvm.script import ir as I
from tvm.script import relax as R

PASSES = "ToMixedPrecision --oracle builds"
NOT = ("mixed-precision-cast-across-blocks",)
KIND = "crash"


def module():
    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor((4, 4), "float32"), s: R.Shape(ndim=2)):
            with R.dataflow():
                y = R.matmul(x, x)
                z = R.reshape(y, s)
                R.output(z)
            return z

    return Module
