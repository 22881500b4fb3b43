# Gradient: a permute_dims of a tensor of rank 0 with axes written out: 'Index -2 out of bounds 0'

from tvm.relax.transform import Gradient
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class mod:
    @R.function
    def loss(x: R.Tensor((), "float32")) -> R.Tensor((), "float32"):
        with R.dataflow():
            gv = R.permute_dims(x, axes=[])
            R.output(gv)
        return gv


if __name__ == "__main__":
    Gradient("loss")(mod)
