# LegalizeOps of avg_pool2d_backward of matrices, which type inference takes: Index 2 out of bounds 2

from tvm.relax.transform import LegalizeOps
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((2, 2), "float32")):
        gv = R.grad.avg_pool2d_backward(x, x)
        return gv


if __name__ == "__main__":
    LegalizeOps()(mod)
