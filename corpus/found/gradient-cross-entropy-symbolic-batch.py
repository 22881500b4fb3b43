# Gradient: the gradient of cross_entropy_with_logits of a symbolic number of rows raises a TypeError

from tvm import relax
from tvm.relax.transform import Gradient
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor(("n", 2), "float32"), y: R.Tensor(("n", 2), "float32")) -> R.Tensor(
        (), "float32"
    ):
        with R.dataflow():
            gv = R.nn.cross_entropy_with_logits(x, y)
            R.output(gv)
        return gv


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    Gradient("main")(mod)
