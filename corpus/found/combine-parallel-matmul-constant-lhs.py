# CombineParallelMatmul: a matmul whose left operand is a constant is taken for a variable

import tvm
from tvm.relax.transform import CombineParallelMatmul
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class mod:
    @R.function
    def func(x1: R.Tensor((4, 2), dtype="float32")) -> R.Tensor((8, 2), dtype="float32"):
        with R.dataflow():
            lv10: R.Tensor((8, 2), dtype="float32") = R.matmul(R.const([[2.0, 2.0, 2.0, 2.0], [2.0, 2.0, 2.0, 2.0], [2.0, 2.0, 2.0, 2.0], [2.0, 2.0, 2.0, 2.0], [2.0, 2.0, 2.0, 2.0], [2.0, 2.0, 2.0, 2.0], [2.0, 2.0, 2.0, 2.0], [2.0, 2.0, 2.0, 2.0]], "float32"), x1, out_dtype=None)
            R.output(lv10)
        return lv10


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
