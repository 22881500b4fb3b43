# ReorderTakeAfterMatmul: the out_dtype of the product is left out: the result has another dtype than its variable

import tvm
from tvm import relax
from tvm.relax.transform import ReorderTakeAfterMatmul
from tvm.script import ir as I, relax as R, tirx as T


@I.ir_module
class mod:
    @R.function
    def main(
        x: R.Tensor((2, 3), "float16"), table: R.Tensor((3, 4), "float16"), indices: R.Tensor((2,), "int64")
    ) -> R.Tensor((2, 2), "float32"):
        with R.dataflow():
            weights = R.take(table, indices, axis=1)
            gv = R.matmul(x, weights, out_dtype="float32")
            R.output(gv)
        return gv


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    relax.analysis.well_formed(ReorderTakeAfterMatmul()(mod))
