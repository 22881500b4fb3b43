# ConvertLayout: squeeze without an axis, of a symbolic dimension: Cannot convert when exactly one of the layouts is unknown

from tvm.relax.transform import ConvertLayout
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class mod:
    @R.function(private=True)
    def f(x: R.Tensor((2, "n", 2), dtype="float32")) -> R.Tensor(dtype="float32"):
        with R.dataflow():
            gv: R.Tensor(dtype="float32") = R.squeeze(x, axis=None)
            R.output(gv)
        return gv


if __name__ == "__main__":
    ConvertLayout({'relax.nn.conv2d': ['NHWC', 'OHWI', 'NHWC']})(mod)
