# instance_norm with channel_axis -1: Index -1 out of bounds

from tvm.relax.transform import LegalizeOps
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((2, 2, 2), dtype="float32"), y: R.Tensor((2,), dtype="float32")) -> R.Tensor((2, 2, 2), dtype="float32"):
        gv: R.Tensor((2, 2, 2), dtype="float32") = R.nn.instance_norm(x, y, y, channel_axis=-1, axes=[1], epsilon=1.0000000000000001e-05, center=True, scale=True)
        return gv


if __name__ == "__main__":
    LegalizeOps()(mod)
