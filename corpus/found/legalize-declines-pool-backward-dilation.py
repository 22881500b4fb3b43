# LegalizeOps: max_pool2d_backward with a dilation is left as it is, and relax.build fails on it

import tvm
from tvm import relax
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(g: R.Tensor((1, 1, 2, 2), "float32"), x: R.Tensor((1, 1, 4, 4), "float32")) -> R.Tensor((1, 1, 4, 4), "float32"):
        y = R.grad.max_pool2d_backward(g, x, pool_size=[2, 2], dilation=[2, 2])
        return y


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    relax.build(mod, tvm.target.Target("llvm"))
