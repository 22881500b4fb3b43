# ConvertLayout: a number as an operand of an elementwise operator ends in a segmentation fault

from tvm.relax.transform import ConvertLayout
from tvm.script import ir as I, relax as R, tirx as T


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((2, 3, 4, 4), "float32")) -> R.Tensor((2, 3, 4, 4), "float32"):
        with R.dataflow():
            y = R.add(x, R.prim_value(T.float32(2)))
            R.output(y)
        return y


if __name__ == "__main__":
    ConvertLayout({"relax.nn.conv2d": ["NHWC", "OHWI"]})(mod)
