# ConvertLayout: what is added to a packed tensor has an axis of extent 1 where that is packed: 'Cannot broadcast from 5 to 4'

from tvm.relax.transform import ConvertLayout
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(
        x: R.Tensor((1, 4, 8, 8), "float32"),
        w: R.Tensor((4, 4, 3, 3), "float32"),
        b: R.Tensor((1, 1, 1, 1), "float32"),
    ):
        with R.dataflow():
            y = R.nn.conv2d(x, w)
            z = R.add(y, b)
            R.output(z)
        return z


if __name__ == "__main__":
    ConvertLayout({"relax.nn.conv2d": ["NCHW4c", "OIHW4o"]})(mod)
