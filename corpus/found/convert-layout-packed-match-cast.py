# ConvertLayout: a match_cast of a conv2d that gets a packed layout (NCHW4c) fails an internal check

from tvm import relax
from tvm.relax.transform import ConvertLayout
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((1, 4, 6, 6), "float32"), w: R.Tensor((4, 4, 3, 3), "float32")) -> R.Tensor((1, 4, 4, 4), "float32"):
        with R.dataflow():
            y = R.nn.conv2d(x, w)
            z = R.match_cast(y, R.Tensor((1, 4, 4, 4), "float32"))
            gv = R.exp(z)
            R.output(gv)
        return gv


def apply(mod):
    return ConvertLayout({"relax.nn.conv2d": ["NCHW4c", "OIHW4o"]})(mod)


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    relax.analysis.well_formed(apply(mod))
