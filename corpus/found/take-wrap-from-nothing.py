# LegalizeOps: take of no elements along an axis of extent 0 in mode wrap: 'Divide by zero'

from tvm import relax
from tvm.relax.transform import LegalizeOps
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((0, 3), "float32"), i: R.Tensor((0,), "int64")) -> R.Tensor((0, 3), "float32"):
        y = R.take(x, i, axis=0, mode="wrap")
        return y


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    LegalizeOps()(mod)
