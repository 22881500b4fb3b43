# grid_sample of an axis of size 1 with reflection: Divide by zero

import tvm
from tvm.relax.transform import LegalizeOps
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class mod:
    @R.function
    def main(x0: R.Tensor((1, 1, 1, 2), dtype="float32"), x1: R.Tensor((1, 2, 1, 1), dtype="float32")) -> R.Tensor((1, 1, 1, 1), dtype="float32"):
        with R.dataflow():
            gv: R.Tensor((1, 1, 1, 1), dtype="float32") = R.image.grid_sample(x0, x1, method="bilinear", layout="NCHW", padding_mode="reflection", align_corners=True)
            R.output(gv)
        return gv


def apply(mod, p=None):
    with tvm.transform.PassContext(config={}), tvm.target.Target("llvm"):
        return (the_pass if p is None else p)(mod)


if __name__ == "__main__":
    passes = [
        LegalizeOps(),
    ]
    the_pass = passes[0]

    for p in passes:
        mod = apply(mod, p)
