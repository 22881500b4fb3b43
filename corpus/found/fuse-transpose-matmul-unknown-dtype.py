# FuseTransposeMatmul: y: (2, 2) of unknown dtype: Back optional access

from tvm.relax.transform import FuseTransposeMatmul
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((2, 2), dtype="float32"), y: R.Tensor((2, 2))) -> R.Tensor((2, 2)):
        with R.dataflow():
            lv: R.Tensor((2, 2), dtype="float32") = R.permute_dims(x, axes=None)
            gv: R.Tensor((2, 2)) = R.matmul(y, lv, out_dtype=None)
            R.output(gv)
        return gv


if __name__ == "__main__":
    FuseTransposeMatmul()(mod)
