# ExpandMatmulOfSum: the out_dtype of the product is left out: the result has another dtype than its variable

import tvm
from tvm import relax
from tvm.relax.transform import ExpandMatmulOfSum
from tvm.script import ir as I, relax as R, tirx as T


@I.ir_module
class mod:
    @R.function
    def main(
        x: R.Tensor((2, 3), "float16"), a: R.Tensor((3, 4), "float16"), b: R.Tensor((3, 4), "float16")
    ) -> R.Tensor((2, 4), "float32"):
        with R.dataflow():
            total = R.add(a, b)
            gv = R.matmul(x, total, out_dtype="float32")
            R.output(gv)
        return gv


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    relax.analysis.well_formed(ExpandMatmulOfSum()(mod))
