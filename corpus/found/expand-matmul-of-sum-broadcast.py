# ExpandMatmulOfSum: a sum that broadcasts: each of its terms is multiplied as if it had the shape of the sum, so a bias of lower rank, a number or a row is refused by matmul, and a square one gives other values

import tvm
from tvm import relax
from tvm.relax.transform import ExpandMatmulOfSum
from tvm.script import ir as I, relax as R, tirx as T


@I.ir_module
class mod:
    @R.function
    def main(
        x: R.Tensor((2, 3), "float32"), a: R.Tensor((3, 4), "float32"), b: R.Tensor((4,), "float32")
    ) -> R.Tensor((2, 4), "float32"):
        with R.dataflow():
            total = R.add(a, b)
            gv = R.matmul(x, total)
            R.output(gv)
        return gv


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    ExpandMatmulOfSum()(mod)
