"""LegalizeOps raises for a scatter_nd of no updates, which leaves the data as it is.

The kernel counts modulo the extent of the indices, 0, which constant folding refuses.
"""

from tvm.script import ir as I
from tvm.script import relax as R

PASSES = "LegalizeOps"
NOT = (
    "adaptive-pool-to-size-zero",
    "constant-zero-divisor",
    "grid-sample-reflection-unit-axis",
    "index-put-nothing",
    "scatter-elements-nothing",
    "take-backward-nothing",
    "take-wrap-from-nothing",
)
KIND = "crash"


def module():
    @I.ir_module
    class Module:
        @R.function
        def main(
            x: R.Tensor((4, 2), "float32"),
            indices: R.Tensor((0, 1), "int64"),
            updates: R.Tensor((0, 2), "float32"),
        ) -> R.Tensor((4, 2), "float32"):
            with R.dataflow():
                y = R.scatter_nd(x, indices, updates)
                R.output(y)
            return y

    return Module
