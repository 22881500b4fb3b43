# AdjustMatmulOrder: a matrix product with a 1-d operand is reordered into one that is ill-typed

import tvm
from tvm.relax.transform import AdjustMatmulOrder
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class mod:
    @R.function
    def main(x6: R.Tensor((8, 4, 8), dtype="float64"), x7: R.Tensor((8,), dtype="float64"), x8: R.Tensor((4, 4), dtype="float64")) -> R.Tensor((8, 4), dtype="float64"):
        with R.dataflow():
            lv27: R.Tensor((8, 4), dtype="float64") = R.matmul(x6, x7, out_dtype=None)
            gv28: R.Tensor((4, 4), dtype="float64") = R.permute_dims(x8, axes=None)
            gv29: R.Tensor((8, 4), dtype="float64") = R.matmul(lv27, gv28, out_dtype=None)
            R.output(gv28, gv29)
        return gv29


def apply(mod, p=None):
    with tvm.transform.PassContext(config={}), tvm.target.Target("llvm"):
        return (the_pass if p is None else p)(mod)


if __name__ == "__main__":
    passes = [
        AdjustMatmulOrder(),
    ]
    the_pass = passes[0]

    for p in passes:
        mod = apply(mod, p)
