# LambdaLift: a private function returns a recursive local function that takes no variable of it

from tvm.relax.transform import LambdaLift
from tvm.script import ir as I, relax as R

@I.ir_module
class mod:
    @R.function(private=True)
    def f() -> R.Callable((R.Tensor((2,), dtype="float32"),), R.Tensor((2,), dtype="float32"), True):
        @R.function
        def gv1(a: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
            gv: R.Tensor((2,), dtype="float32") = gv1(a)
            return gv

        return gv1

if __name__ == "__main__":
    LambdaLift()(mod)
