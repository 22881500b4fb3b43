# FuseTransposeMatmul: the product with a transposed tensor of unknown shape: 'emit_te now only supports Tensor that has ShapeExpr shape'

from tvm.relax.transform import FuseTransposeMatmul
from tvm.script import ir as I, relax as R

@I.ir_module
class mod:
    @R.function(private=True)
    def f(x: R.Tensor((2, 2, 2, 2), dtype="float32"), y: R.Tensor(dtype="float32", ndim=4)) -> R.Tensor(dtype="float32", ndim=4):
        with R.dataflow():
            lv: R.Tensor(dtype="float32", ndim=4) = R.permute_dims(y, axes=[0, 1, 3, 2])
            gv: R.Tensor(dtype="float32", ndim=4) = R.matmul(x, lv, out_dtype=None)
            R.output(gv)
        return gv

if __name__ == "__main__":
    FuseTransposeMatmul()(mod)
