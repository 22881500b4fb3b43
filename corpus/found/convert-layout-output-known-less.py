# ConvertLayout: an output of a dataflow block whose type says less than can be inferred is rewritten: 'DataflowBlock Pass should not rewrite or delete any global-scope Var'

from tvm.relax.transform import ConvertLayout
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((2, 2), "float32")) -> R.Tensor("float32", ndim=2):
        with R.dataflow():
            gv: R.Tensor("float32", ndim=2) = R.negative(x)
            R.output(gv)
        return gv


if __name__ == "__main__":
    ConvertLayout({"relax.nn.conv2d": ["NHWC", "OHWI"]})(mod)
