# ConvertLayout: a conv2d with a packed out_layout, whose result is added to another tensor: 'not broadcastable'

from tvm import relax
from tvm.relax.transform import ConvertLayout
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(
        x: R.Tensor((2, 4, 5, 6), "float32"),
        y: R.Tensor((4, 4, 2, 2), "float32"),
        z: R.Tensor((2, 1, 4, 5, 4), "float32"),
    ):
        with R.dataflow():
            lv = R.nn.conv2d(x, y, out_layout="NCHW4c")
            gv = R.add(lv, z)
            R.output(gv)
        return gv


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    ConvertLayout({"relax.nn.conv2d": ["NHWC", "OHWI"]})(mod)
