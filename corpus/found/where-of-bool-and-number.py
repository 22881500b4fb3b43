# LegalizeOps: where(z, bool, float32): x and y must have the same dtype

from tvm.relax.transform import LegalizeOps
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((), dtype="bool"), y: R.Tensor((2, 2), dtype="float32"), z: R.Tensor((2, 2), dtype="bool")) -> R.Tensor((2, 2), dtype="bool"):
        gv: R.Tensor((2, 2), dtype="bool") = R.where(z, x, y)
        return gv


if __name__ == "__main__":
    LegalizeOps()(mod)
