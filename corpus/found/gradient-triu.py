# Gradient: the gradient of triu says nothing of its second argument, the diagonal

from tvm.relax.transform import Gradient
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((2, 2), dtype="float32")) -> R.Tensor((), dtype="float32"):
        with R.dataflow():
            lv: R.Tensor((2, 2), dtype="float32") = R.triu(x, 3)
            gv: R.Tensor((), dtype="float32") = R.variance(lv, axis=None, keepdims=False)
            R.output(gv)
        return gv


if __name__ == "__main__":
    Gradient('main')(mod)
