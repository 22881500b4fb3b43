# AdjustMatmulOrder: a product of three matrices that is bound to a second variable, with orders of equal cost: the pass ends in a segmentation fault

import tvm
from tvm.relax.transform import AdjustMatmulOrder
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class mod:
    @R.function(pure=False)
    def main(x2: R.Tensor((3, 3), dtype="float32"), x3: R.Tensor((3, 4), dtype="float32"), x4: R.Tensor((4, 4), dtype="float32")) -> R.Tensor((3, 4), dtype="float32"):
        with R.dataflow():
            lv7: R.Tensor((3, 4), dtype="float32") = R.matmul(x2, x3, out_dtype=None)
            lv8: R.Tensor((3, 4), dtype="float32") = R.matmul(lv7, x4, out_dtype=None)
            gv9: R.Tensor((3, 4), dtype="float32") = lv8
            R.output(gv9)
        return gv9


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
