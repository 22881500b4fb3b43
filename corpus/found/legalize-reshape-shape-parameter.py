# LegalizeOps: reshape to a shape that is a parameter raises an AssertionError

from tvm.relax.transform import LegalizeOps
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class mod:
    @R.function(private=True)
    def f(x: R.Shape([2, 1]), y: R.Tensor((2,), dtype="float32")) -> R.Tensor((2, 1), dtype="float32"):
        gv: R.Tensor((2, 1), dtype="float32") = R.reshape(y, x)
        return gv


if __name__ == "__main__":
    LegalizeOps()(mod)
