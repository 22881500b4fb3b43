"""ReorderTakeAfterMatmul multiplies by a table of rank 1 as if it were a matrix.

Of a product with the vector that is taken from the table, it makes a result of another shape.
"""

from tvm.script import ir as I
from tvm.script import relax as R

PASSES = "ReorderTakeAfterMatmul"
NOT = ("reorder-take-after-matmul-out-dtype",)
KIND = "ill-formed"


def module():
    @I.ir_module
    class Module:
        @R.function
        def main(
            x: R.Tensor((2, 5), "float32"),
            table: R.Tensor((5,), "float32"),
            indices: R.Tensor((5,), "int64"),
        ) -> R.Tensor((2,), "float32"):
            with R.dataflow():
                weights = R.take(table, indices, axis=0)
                y = R.matmul(x, weights)
                R.output(y)
            return y

    return Module
