# ConvertLayout: a conv2d of data that have a packed layout already (NCHW2c), with one of another factor (NCHW4c) as the desired one

from tvm.relax.transform import ConvertLayout
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(
        x: R.Tensor((2, 2, 2, 2, 2), "float32"), w: R.Tensor((4, 4, 2, 2), "float32")
    ) -> R.Tensor((2, 4, 1, 1), "float32"):
        with R.dataflow():
            gv = R.nn.conv2d(
                x, w, data_layout="NCHW2c", kernel_layout="OIHW", out_layout="NCHW"
            )
            R.output(gv)
        return gv


if __name__ == "__main__":
    ConvertLayout({"relax.nn.conv2d": ["NCHW4c", "OIHW2o"]})(mod)
