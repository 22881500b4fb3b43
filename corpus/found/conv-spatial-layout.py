# conv2d with the kernel layout IWHO is computed as with IHWO

from tvm import relax
from tvm.relax.transform import LegalizeOps
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((2, 2, 3, 2), dtype="float32"), y: R.Tensor((2, 3, 2, 2), dtype="float32")) -> R.Tensor((2, 2, 2, 0), dtype="float32"):
        gv: R.Tensor((2, 2, 2, 0), dtype="float32") = R.nn.conv2d(x, y, strides=[1, 1], padding=[0, 0, 0, 0], dilation=[1, 1], groups=1, data_layout="NCHW", kernel_layout="IWHO", out_layout="NCHW", out_dtype=None)
        return gv


if __name__ == "__main__":
    before, after = mod['main'], LegalizeOps()(mod)['main']
    known = relax.analysis.type_base_check(before.ret_ty, after.ret_ty)
    assert int(known) == 3, f"returned {before.ret_ty}, returns {after.ret_ty}"
