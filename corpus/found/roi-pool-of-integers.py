# roi_pool of int32: Cannot convert infinity to BigInt

from tvm.relax.transform import LegalizeOps
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((2, 2, 2, 2), dtype="int64"), y: R.Tensor((2, 5), dtype="int64")) -> R.Tensor((2, 2, 2, 2), dtype="int64"):
        gv: R.Tensor((2, 2, 2, 2), dtype="int64") = R.vision.roi_pool(x, y, pooled_size=[2, 2], spatial_scale=1.0, layout="NCHW")
        return gv


if __name__ == "__main__":
    LegalizeOps()(mod)
