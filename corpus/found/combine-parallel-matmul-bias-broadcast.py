# CombineParallelMatmul: biases that are broadcast along the last axis are joined as they are: two of shape (1,) become one of shape (2,), which fits no product

import tvm
from tvm import relax
from tvm.relax.transform import CombineParallelMatmul
from tvm.script import ir as I, relax as R, tirx as T


@I.ir_module
class mod:
    @R.function
    def main(
        x: R.Tensor((2, 3), "float32"),
        a: R.Tensor((3, 4), "float32"),
        b: R.Tensor((3, 4), "float32"),
        s: R.Tensor((1,), "float32"),
        t: R.Tensor((1,), "float32"),
    ) -> R.Tuple(R.Tensor((2, 4), "float32"), R.Tensor((2, 4), "float32")):
        with R.dataflow():
            p = R.matmul(x, a)
            q = R.matmul(x, b)
            ps = R.add(p, s)
            qt = R.add(q, t)
            R.output(ps, qt)
        return (ps, qt)


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    CombineParallelMatmul()(mod)
