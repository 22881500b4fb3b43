# AdjustMatmulOrder: x*(A*B), where A*B has an out_dtype, becomes (x*A)*B of unlike dtypes

from tvm import relax
from tvm.relax.transform import AdjustMatmulOrder
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(
        x: R.Tensor((1, 8), "float32"),
        a: R.Tensor((8, 2), "float16"),
        b: R.Tensor((2, 8), "float16"),
    ) -> R.Tensor((1, 8), "float32"):
        weight = R.matmul(a, b, out_dtype="float32")
        y = R.matmul(x, weight)
        return y


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    AdjustMatmulOrder()(mod)
