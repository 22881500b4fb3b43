# CombineParallelMatmul: products of one matrix with vectors: 'Index 1 out of bounds 1'

import tvm
from tvm.relax.transform import CombineParallelMatmul
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class mod:
    @R.function
    def main(x2: R.Tensor((2,), dtype="float32"), x5: R.Tensor((2, 2, 4), dtype="float32"), x6: R.Tensor((4,), dtype="float32"), x7: R.Tensor((4,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
        with R.dataflow():
            gv56: R.Tensor((2, 2), dtype="float32") = R.matmul(x5, x6, out_dtype=None)
            lv57: R.Tensor((2, 2), dtype="float32") = R.matmul(x5, x7, out_dtype=None)
            R.output(gv56)
        return x2


def apply(mod, p=None):
    with tvm.transform.PassContext(config={}), tvm.target.Target("llvm"):
        return (the_pass if p is None else p)(mod)


if __name__ == "__main__":
    passes = [
        CombineParallelMatmul(),
    ]
    the_pass = passes[0]

    for p in passes:
        mod = apply(mod, p)
