# adaptive_avg_pool1d to the size 0: Divide by zero

from tvm.relax.transform import LegalizeOps
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((2, 2, 2), dtype="float32")) -> R.Tensor((2, 2, 0), dtype="float32"):
        gv: R.Tensor((2, 2, 0), dtype="float32") = R.nn.adaptive_avg_pool1d(x, output_size=[0], layout="NCW", out_layout="NCW")
        return gv


if __name__ == "__main__":
    LegalizeOps()(mod)
