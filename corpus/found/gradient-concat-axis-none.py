# Gradient: the gradient of a concat with axis None raises an AssertionError without a message

from tvm import relax
from tvm.relax.transform import Gradient
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((3,), "float32"), y: R.Tensor((2,), "float32")) -> R.Tensor((), "float32"):
        with R.dataflow():
            joined = R.concat((x, y), axis=None)
            gv = R.sum(joined)
            R.output(gv)
        return gv


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    Gradient("main")(mod)
