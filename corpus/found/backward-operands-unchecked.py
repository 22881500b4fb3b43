# LegalizeOps: max_pool2d_backward of a gradient of rank 0, whose type is inferred, raises an InternalError

from tvm.relax.transform import LegalizeOps
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((), dtype="float32")) -> R.Tensor((2, 2, 2, 2), dtype="float32"):
        gv: R.Tensor((2, 2, 2, 2), dtype="float32") = R.grad.max_pool2d_backward(x, R.const([[[[1.0, 1.0], [1.0, 1.0]], [[1.0, 1.0], [1.0, 1.0]]], [[[1.0, 1.0], [1.0, 1.0]], [[1.0, 1.0], [1.0, 1.0]]]], "float32"), pool_size=[1, 1], strides=[1, 1], dilation=[1, 1], padding=[0, 0, 0, 0], ceil_mode=False, count_include_pad=False, layout="NCHW", out_layout="NHWC")
        return gv


if __name__ == "__main__":
    LegalizeOps()(mod)
