# LambdaLift: the call of a closure that prints becomes invoke_pure_closure

from tvm.relax.transform import LambdaLift
from tvm.script import ir as I, relax as R

@I.ir_module
class mod:
    @R.function(pure=False)
    def main(x: R.Tensor((), dtype="float32")) -> R.Tensor((), dtype="float32"):
        @R.function(pure=False)
        def print_it(a: R.Tensor((), dtype="float32")) -> R.Tensor((), dtype="float32"):
            R.print(x, format=R.str("{}"))
            return a

        gv: R.Tensor((), dtype="float32") = print_it(x)
        return gv

if __name__ == "__main__":
    result = LambdaLift()(mod)
    assert "invoke_pure_closure" not in result.script(), result.script()
