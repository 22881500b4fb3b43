# LegalizeOps: affine_grid of unsigned integers, in whose dtype coordinates from -1 to 1 are computed

from tvm.relax.transform import LegalizeOps
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((2, 2, 3), "uint16")):
        y = R.image.affine_grid(x, R.shape([2, 2]))
        return y


if __name__ == "__main__":
    LegalizeOps()(mod)
