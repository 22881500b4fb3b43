# ReorderTakeAfterMatmul: a product with a vector that is taken from a table of rank 1: the table is multiplied as if it were a matrix, and matmul refuses it

import tvm
from tvm import relax
from tvm.relax.transform import ReorderTakeAfterMatmul
from tvm.script import ir as I, relax as R, tirx as T


@I.ir_module
class mod:
    @R.function
    def main(
        x: R.Tensor((2, 3), "float32"), table: R.Tensor((5,), "float32"), indices: R.Tensor((3,), "int64")
    ) -> R.Tensor((2,), "float32"):
        with R.dataflow():
            weights = R.take(table, indices, axis=0)
            gv = R.matmul(x, weights)
            R.output(gv)
        return gv


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    ReorderTakeAfterMatmul()(mod)
