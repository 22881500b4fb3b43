# ConvertLayout: to a packed layout, where the shape of an operand is unknown: 'Back optional access'

from tvm.relax.transform import ConvertLayout
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((2, 4, 8, 8), "float32"), w: R.Tensor("float32", ndim=4)):
        with R.dataflow():
            y = R.nn.conv2d(x, w)
            R.output(y)
        return y


if __name__ == "__main__":
    ConvertLayout({"relax.nn.conv2d": ["NCHW4c", "OIHW4o"]})(mod)
