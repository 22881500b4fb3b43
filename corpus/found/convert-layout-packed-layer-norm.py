# ConvertLayout: layer_norm over the channels of a tensor in a packed layout (NCHW2c)

from tvm.relax.transform import ConvertLayout
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(
        x: R.Tensor((2, 4, 2, 2), "float32"),
        w: R.Tensor((4, 4, 1, 1), "float32"),
        g: R.Tensor((4,), "float32"),
    ) -> R.Tensor((2, 4, 2, 2), "float32"):
        with R.dataflow():
            lv = R.nn.conv2d(x, w)
            gv = R.nn.layer_norm(lv, g, g, axes=[1])
            R.output(gv)
        return gv


if __name__ == "__main__":
    ConvertLayout({"relax.nn.conv2d": ["NCHW2c", "OIHW2o"]})(mod)
