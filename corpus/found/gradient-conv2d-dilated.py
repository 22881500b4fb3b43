# Gradient: conv2d with a dilated kernel: the output padding of the transposed convolution leaves the dilation out

from tvm.relax.transform import Gradient
from tvm.script import ir as I, relax as R

@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((2, 2, 2, 2), dtype="float32")) -> R.Tensor((), dtype="float32"):
        with R.dataflow():
            lv: R.Tensor((2, 2, 2, 2), dtype="float32") = R.nn.conv2d(x, x, strides=[1, 1], padding=[1, 1, 1, 1], dilation=[2, 2], groups=1, data_layout="NCHW", kernel_layout="OIHW", out_layout="NCHW", out_dtype=None)
            gv: R.Tensor((), dtype="float32") = R.sum(lv, axis=None, keepdims=False)
            R.output(gv)
        return gv

if __name__ == "__main__":
    Gradient('main')(mod)
