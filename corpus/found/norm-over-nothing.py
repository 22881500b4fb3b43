# LegalizeOps: layer_norm over an axis of extent 0: 'Divide by zero'

from tvm import relax
from tvm.relax.transform import LegalizeOps
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((2, 0), "float32"), w: R.Tensor((0,), "float32")) -> R.Tensor((2, 0), "float32"):
        y = R.nn.layer_norm(x, w, w, axes=[1])
        return y


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    LegalizeOps()(mod)
