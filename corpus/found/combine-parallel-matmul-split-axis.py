# CombineParallelMatmul: the combined product is split along an axis that is counted from the ranks of the two operands: with a vector on the left, or a bias of higher rank, this is no axis of the product or another one

import tvm
from tvm import relax
from tvm.relax.transform import CombineParallelMatmul
from tvm.script import ir as I, relax as R, tirx as T


@I.ir_module
class mod:
    @R.function
    def main(
        x: R.Tensor((3,), "float32"), a: R.Tensor((3, 4), "float32"), b: R.Tensor((3, 5), "float32")
    ) -> R.Tuple(R.Tensor((4,), "float32"), R.Tensor((5,), "float32")):
        with R.dataflow():
            p = R.matmul(x, a)
            q = R.matmul(x, b)
            R.output(p, q)
        return (p, q)


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    CombineParallelMatmul()(mod)
