# LegalizeOps: median over an axis of extent 0: 'Check failed: indices_dim_i >= 1'

from tvm import relax
from tvm.relax.transform import LegalizeOps
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((2, 0), "float32")):
        y = R.median(x, axis=[1])
        return y


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    LegalizeOps()(mod)
