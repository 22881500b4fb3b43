# ConvertLayout: group_norm of a tensor in a packed layout (NCHW4c)

from tvm import relax
from tvm.relax.transform import ConvertLayout
from tvm.script import ir as I, relax as R

@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((2, 4, 2, 2), dtype="float32"), y: R.Tensor((2, 2, 2, 4), dtype="float32"), z: R.Tensor((4,), dtype="float32")) -> R.Tensor((2, 4, 1, 1), dtype="float32"):
        with R.dataflow():
            lv: R.Tensor((2, 4, 1, 1), dtype="float32") = R.nn.conv2d(x, y, strides=[1, 1], padding=[0, 0, 0, 0], dilation=[1, 1], groups=2, data_layout="NCHW", kernel_layout="HWIO", out_layout="NCHW", out_dtype=None)
            gv: R.Tensor((2, 4, 1, 1), dtype="float32") = R.nn.group_norm(lv, z, z, num_groups=4, channel_axis=1, axes=[2, 3], epsilon=1.0000000000000001e-05, center=True, scale=True)
            R.output(gv)
        return gv

if __name__ == "__main__":
    ConvertLayout({}, layout_cb=lambda call: {'relax.nn.conv2d': ['NCHW4c', 'OIHW4o']})(mod)
