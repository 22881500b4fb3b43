# grid_sample of float16 becomes float32

from tvm import relax
from tvm.relax.transform import LegalizeOps
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((2, 2, 2, 2), dtype="float16")) -> R.Tensor((2, 2, 2, 2), dtype="float16"):
        gv: R.Tensor((2, 2, 2, 2), dtype="float16") = R.image.grid_sample(x, x, method="bilinear", layout="NCHW", padding_mode="zeros", align_corners=False)
        return gv


if __name__ == "__main__":
    before, after = mod['main'], LegalizeOps()(mod)['main']
    known = relax.analysis.type_base_check(before.ret_ty, after.ret_ty)
    assert int(known) == 3, f"returned {before.ret_ty}, returns {after.ret_ty}"
