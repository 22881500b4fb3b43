# FoldBatchnormToConv2D: after an If, a shape of the function's symbolic dimensions becomes unknown, and the type inference of eye_like reads it: 'Back optional access'

from tvm.relax.transform import FoldBatchnormToConv2D
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(c: R.Tensor((), "bool"), x: R.Tensor(("n", "n"), "float32")):
        if c:
            lv = R.nn.relu(x)
            y = lv
        else:
            y = x
        z = R.eye_like(y, 0)
        return z


if __name__ == "__main__":
    FoldBatchnormToConv2D()(mod)
