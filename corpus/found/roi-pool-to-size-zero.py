# LegalizeOps: roi_pool to a size of 0: 'Divide by zero'

from tvm import relax
from tvm.relax.transform import LegalizeOps
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((1, 1, 4, 4), "float32"), rois: R.Tensor((1, 5), "float32")) -> R.Tensor((1, 1, 0, 0), "float32"):
        y = R.vision.roi_pool(x, rois, (0, 0), 1.0)
        return y


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    LegalizeOps()(mod)
