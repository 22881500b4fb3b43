# LegalizeOps: affine_grid to a grid without elements raises "float division by zero"

from tvm.relax.transform import LegalizeOps
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((2, 3, 4), dtype="float32")) -> R.Tensor((2, 3, 0, 2, 2), dtype="float32"):
        gv: R.Tensor((2, 3, 0, 2, 2), dtype="float32") = R.image.affine_grid(x, R.shape([0, 2, 2]), align_corners=False)
        return gv


if __name__ == "__main__":
    LegalizeOps()(mod)
