# CombineParallelMatmul: two products of a matrix with a symbolic dimension, one of them with a constant: the dimension is taken for the operand that the constant is: 'Cannot treat type `ir.PrimType` as type `relax.TensorType`'

import tvm
from tvm import relax
from tvm.relax.transform import CombineParallelMatmul
from tvm.script import ir as I, relax as R, tirx as T


@I.ir_module
class mod:
    @R.function
    def main(
        x: R.Tensor(("n", 2), "float32"), w: R.Tensor((2, 2), "float32")
    ) -> R.Tuple(R.Tensor(("n", 2), "float32"), R.Tensor(("n", 2), "float32")):
        with R.dataflow():
            p = R.matmul(x, R.const([[1.0, 1.0], [1.0, 1.0]], "float32"))
            q = R.matmul(x, w)
            R.output(p, q)
        return (p, q)


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    CombineParallelMatmul()(mod)
