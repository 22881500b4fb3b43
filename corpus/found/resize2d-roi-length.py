# LegalizeOps: resize2d whose roi has no numbers, which type inference takes: 'list index out of range'

from tvm.relax.transform import LegalizeOps
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((1, 1, 2, 2), "float32")):
        y = R.image.resize2d(x, R.shape([3, 3]), roi=[])
        return y


if __name__ == "__main__":
    LegalizeOps()(mod)
