"""LegalizeOps raises for a slice_scatter along a symbolic axis: "Expect value to be constant int".

topi.slice_scatter makes a Python number of the size of the axis.
"""

from tvm.script import ir as I
from tvm.script import relax as R

PASSES = "LegalizeOps"
NOT = ("legalize-prelu-symbolic",)
KIND = "crash"


def module():
    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor(("n", 4), "float32"), update: R.Tensor((2, 4), "float32")) -> R.Tensor(
            ("n", 4), "float32"
        ):
            with R.dataflow():
                y = R.slice_scatter(x, update, 0, 2, 1, axis=0)
                R.output(y)
            return y

    return Module
