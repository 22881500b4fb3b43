# ConvertLayout: a match_cast that forgets the shape of a converted result: 'DataflowVar is not defined'

from tvm import relax
from tvm.relax.transform import ConvertLayout
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((1, 2, 4, 4), "float32"), w: R.Tensor((1, 2, 1, 1), "float32")) -> R.Tensor(dtype="float32", ndim=4):
        with R.dataflow():
            y = R.nn.conv2d(x, w)
            z = R.match_cast(y, R.Tensor(dtype="float32", ndim=4))
            gv = R.exp(z)
            R.output(gv)
        return gv


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    relax.analysis.well_formed(ConvertLayout({"relax.nn.conv2d": ["NHWC", "OHWI"]})(mod))
