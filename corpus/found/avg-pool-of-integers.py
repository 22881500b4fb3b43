# LegalizeOps: avg_pool2d of int32 gives int64

import tvm
from tvm.relax.transform import LegalizeOps
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((1, 1, 4, 4), "int32")) -> R.Tensor((1, 1, 2, 2), "int32"):
        gv = R.nn.avg_pool2d(x, pool_size=[2, 2], strides=[2, 2])
        return gv


if __name__ == "__main__":
    before, after = (each["main"].ret_ty for each in (mod, LegalizeOps()(mod)))
    assert before.dtype == after.dtype, f"main gives {before}, after LegalizeOps {after}"
