# KillAfterLastUse: the calls that kill tensors are impure, and stand in a function that is pure

from tvm import relax
from tvm.relax.transform import KillAfterLastUse
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
        gv: R.Tensor((2,), dtype="float32") = R.negative(x)
        gv1: R.Tensor((2,), dtype="float32") = R.negative(gv)
        return gv1


if __name__ == "__main__":
    relax.analysis.well_formed(KillAfterLastUse()(mod))
