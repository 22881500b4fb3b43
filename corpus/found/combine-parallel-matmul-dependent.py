# CombineParallelMatmul: two products of the same matrix of which one is the other's operand: 'Bindings contain circular dependency'

import tvm
from tvm import relax
from tvm.relax.transform import CombineParallelMatmul
from tvm.script import ir as I, relax as R, tirx as T


@I.ir_module
class mod:
    @R.function
    def main(
        x: R.Tensor((3, 3), "float32"), a: R.Tensor((3, 3), "float32")
    ) -> R.Tuple(R.Tensor((3, 3), "float32"), R.Tensor((3, 3), "float32")):
        with R.dataflow():
            p = R.matmul(x, a)
            b = R.exp(p)
            q = R.matmul(x, b)
            R.output(p, q)
        return (p, q)


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    CombineParallelMatmul()(mod)
